import ImagePrimitives
import RedisClient

/// How messages come to a link.
extension QueueLink {
  private static let maximumMessagesAtOnce = 64

  /// How many messages the credits are.
  private var wantedMessages: RedisArgument {
    RedisArgument(credits > 0 ? min(Self.maximumMessagesAtOnce, (credits + entriesPerMessage - 1) / entriesPerMessage) : 0)
  }

  /// Reads new messages, of higher classes first; true where there were none.
  func read(_ connection: RedisConnection) throws(End) -> Bool {
    let reply = try run(ConsumerScripts.read, keys: [keys.blacklist] + keys.streams, [consumer, wantedMessages], on: connection)
    guard let parts = reply.array, parts.count == 3, let taken = parts[2].array else { return true }
    isDrained = parts[0] == .integer(1)
    try receive(taken.compactMap(DeliveredMessage.init), hasBlacklist: parts[1] == .integer(1), connection)
    return taken.isEmpty
  }

  /// Takes over messages that were not renewed.
  func takeOver(_ connection: RedisConnection) throws(End) {
    let idle = RedisArgument(max(1, options.takeOverAfter.wholeMilliseconds))
    let reply = try run(
      ConsumerScripts.takeOver,
      keys: keys.streams,
      [consumer, idle, wantedMessages] + cursors,
      on: connection
    )
    guard let parts = reply.array, parts.count == 2, let taken = parts[1].array else { return }
    let next = (parts[0].array ?? []).compactMap { $0.bytes.map { RedisArgument($0) } }
    if next.count == cursors.count { cursors = next }
    try receive(taken.compactMap(DeliveredMessage.init), hasBlacklist: true, connection)
  }

  /// Hands out messages, but batches that were delivered before: their entries go back one by one, so that an entry that makes
  /// workers fail meets only itself.
  func receive(_ delivered: [DeliveredMessage], hasBlacklist: Bool, _ connection: RedisConnection) throws(End) {
    var messages: [QueuedMessage] = []
    var batches: [(DeliveredMessage, QueuedMessage)] = []
    for delivery in delivered where held[delivery.id] == nil {
      let message = delivery.read(maximumDeliveries: options.maximumDeliveries)
      if delivery.deliveries > 1, message.entries.count > 1 {
        batches.append((delivery, message))
      } else {
        held[delivery.id] = delivery.deliveries
        messages.append(message)
      }
    }
    try handOut(messages, hasBlacklist: hasBlacklist, connection)
    for (delivery, message) in batches {
      let retries = QueueStream(priority: message.priority, isRetry: true)
      _ = try run(
        ConsumerScripts.split,
        keys: [keys.stream(message.id.stream), keys.stream(retries)],
        // This delivery is not counted: nobody has tried them.
        [consumer, RedisArgument(message.id.text), RedisArgument(delivery.deliveries - 1)]
          + message.singles.map { RedisArgument($0) },
        on: connection
      )
    }
  }

  private func handOut(_ messages: [QueuedMessage], hasBlacklist: Bool, _ connection: RedisConnection) throws(End) {
    guard !messages.isEmpty else { return }
    let entries = messages.reduce(0) { $0 + max(1, $1.entries.count) }
    credits -= entries
    entriesPerMessage = max(1, entries / messages.count)
    guard hasBlacklist else { return inbox.add(messages) }
    do throws(RedisError) {
      inbox.add(try withKnownBad(messages, connection))
    } catch {
      // They are held now, and what is known of them is a help, no condition.
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
      let reply = try connection.reply()
      if case .error(let text) = reply { throw RedisError(answer: text, from: connection.address) }
      for (place, value) in (reply.array ?? []).enumerated() {
        guard let value = value.bytes else { continue }
        messages[index].knownBad.append(QueuedMessage.KnownBad(entry: place / variants, variant: place % variants, value: value))
      }
    }
    return messages
  }
}
