import ImagePrimitives
import RedisClient

/// How messages come to a link.
extension QueueLink {
  /// More than this comes of no script, whatever is asked for.
  private static let maximumEntriesAtOnce = 1 << 20
  /// How often it says that it needs work; what is said counts for a second.
  private static let needInterval = Duration.milliseconds(500)

  private func wanted(_ entries: Int) -> RedisArgument { RedisArgument(max(0, min(entries, Self.maximumEntriesAtOnce))) }

  /// Reads new messages, of higher classes first, or those that others gave back; true where none were new.
  func read(_ connection: RedisConnection, _ now: MonotonicInstant) throws(End) -> Bool {
    let needsWork = credits > 0 && inbox.needsWork
    let tells = needsWork && nextWordOfNeed <= now
    let arguments = [consumer, wanted(credits), tells ? 2 : needsWork ? 1 : 0, isHoldingLoneRetry ? 1 : 0]
    let reply = try run(ConsumerScripts.read, keys: [keys.blacklist] + keys.streams, arguments, on: connection)
    guard let parts = reply.array, parts.count == 4, let taken = parts[2].array else { return true }
    if tells, taken.isEmpty { nextWordOfNeed = now.advanced(by: Self.needInterval) }
    isDrained = parts[0] == .integer(1)
    try receive(taken.compactMap(DeliveredMessage.init), hasBlacklist: parts[1] == .integer(1), connection)
    return parts[3] == .integer(0)
  }

  /// Takes over messages that were not renewed, of at most so many entries and the rest of a message; returns where to go on.
  func takeOver(_ entries: Int, from cursors: [RedisArgument], _ connection: RedisConnection) throws(End) -> [RedisArgument] {
    let idle = RedisArgument(max(1, options.takeOverAfter.wholeMilliseconds))
    let arguments = [consumer, idle, wanted(entries)] + cursors
    let reply = try run(ConsumerScripts.takeOver, keys: keys.streams, arguments, on: connection)
    guard let parts = reply.array, parts.count == 2, let taken = parts[1].array else { return [] }
    try receive(taken.compactMap(DeliveredMessage.init), hasBlacklist: true, connection)
    return (parts[0].array ?? []).compactMap { $0.bytes.map { RedisArgument($0) } }
  }

  /// Hands out messages, but batches that were delivered before: their entries go back one by one, so that an entry that makes
  /// workers fail does not take others with it.
  func receive(_ delivered: [DeliveredMessage], hasBlacklist: Bool, _ connection: RedisConnection) throws(End) {
    var messages: [QueuedMessage] = []
    var batches: [DividedMessage] = []
    for delivery in delivered where held[delivery.id] == nil {
      guard stopDeadline == nil else {
        // It goes back with the rest.
        held[delivery.id] = delivery.deliveries
        continue
      }
      let message = delivery.read(maximumDeliveries: options.maximumDeliveries)
      if delivery.deliveries > 1, !message.id.stream.isRetry, !message.entries.isEmpty {
        batches.append(DividedMessage(message: message, deliveries: delivery.deliveries))
      } else {
        held[delivery.id] = delivery.deliveries
        messages.append(message)
      }
    }
    try handOut(messages, hasBlacklist: hasBlacklist, connection)
    // Nobody has tried the entries in this delivery.
    try divide(batches, connection)
  }

  private func handOut(_ messages: [QueuedMessage], hasBlacklist: Bool, _ connection: RedisConnection) throws(End) {
    guard !messages.isEmpty else { return }
    credits -= messages.reduce(0) { $0 + max(1, $1.entries.count) }
    guard hasBlacklist else { return inbox.add(messages) }
    do throws(RedisError) {
      inbox.add(try withKnownBad(messages, connection))
    } catch {
      // They are held now, though the connection is lost.
      inbox.add(messages)
      throw .redis(error)
    }
  }

  /// The messages with what the blacklist tells of their URLs.
  private func withKnownBad(_ messages: [QueuedMessage], _ connection: RedisConnection) throws(RedisError) -> [QueuedMessage] {
    let variants = queue.job.variantCount
    var messages = messages
    for message in messages where !message.entries.isEmpty {
      let fields = message.bytes.withUnsafeBytes { bytes in
        message.entries.flatMap { entry in
          (0..<variants).map {
            RedisArgument(BadURLKey(url: UnsafeRawBufferPointer(rebasing: bytes[entry.url]), variant: $0).field)
          }
        }
      }
      connection.append(["HMGET", keys.blacklist] + fields)
    }
    for index in messages.indices where !messages[index].entries.isEmpty {
      // An error of the server is none of ours: what is known of a URL is a help, no condition.
      for (place, value) in (try connection.reply().array ?? []).enumerated() {
        guard let value = value.bytes else { continue }
        messages[index].knownBad.append(QueuedMessage.KnownBad(entry: place / variants, variant: place % variants, value: value))
      }
    }
    return messages
  }
}
