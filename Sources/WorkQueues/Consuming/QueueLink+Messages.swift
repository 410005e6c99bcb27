#if Queue
import DequeModule
import Glibc
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
    let notifies = needsWork && nextNeedNotice <= now
    let arguments = [consumer, wanted(credits), notifies ? 2 : needsWork ? 1 : 0, isHoldingLoneRetry ? 1 : 0]
    let reply = try run(ConsumerScripts.read, keys: [keys.blacklist] + keys.streams, arguments, on: connection)
    guard let parts = reply.array, parts.count == 4, let taken = parts[2].array else { return true }
    if notifies, taken.isEmpty { nextNeedNotice = now.advanced(by: Self.needInterval) }
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
      for (position, value) in (try connection.reply().array ?? []).enumerated() {
        guard let value = value.bytes else { continue }
        messages[index].knownBad.append(
          QueuedMessage.KnownBad(entry: position / variants, variant: position % variants, value: value)
        )
      }
    }
    return messages
  }
}

/// A message whose entries go back one by one, with how often it was delivered.
struct DividedMessage {
  let message: QueuedMessage
  let deliveries: Int
}

/// What a link says of the messages that it holds.
extension QueueLink {
  private static let settlementsAtOnce = 64
  private static let pauseMicroseconds: UInt32 = 50_000

  /// Makes the groups that are missing.
  func join(_ connection: RedisConnection) throws(End) {
    _ = try run(ConsumerScripts.join, keys: keys.streams, [], on: connection)
  }

  /// Says the next settlements; those that were answered are forgotten.
  func settle(_ connection: RedisConnection) throws(End) {
    let calls = settlements.prefix(Self.settlementsAtOnce).map { $0.call(keys, filling: queue.filling) }
    for reply in try replies(to: calls, connection) {
      try check(reply, connection)
      if let settled = settlements.popFirst() { held[settled.message] = nil }
    }
  }

  /// Says all settlements; what a server that is there refuses to take until `deadline`, others are to do again.
  func settle(_ connection: RedisConnection, until deadline: MonotonicInstant) throws(End) {
    while !settlements.isEmpty {
      do throws(End) {
        try settle(connection)
      } catch {
        guard error.isRefusalForNow else { throw error }
        if TimeSource.system.monotonic() >= deadline { return }
        usleep(Self.pauseMicroseconds)
      }
    }
  }

  /// Renews what is held, and shows that this consumer is alive; tells of what has become another's.
  func renew(_ connection: RedisConnection) throws(End) {
    let messages = Array(held.keys)
    let kept = try run(ConsumerScripts.renew, keys: [keys.workers] + keys.streams, [consumer] + named(messages), on: connection)
    guard let kept = kept.array, kept.count == messages.count else { return }
    let lost = zip(messages, kept).filter { $0.1 == .integer(0) }.map(\.0)
    for message in lost { held[message] = nil }
    inbox.add(lost: lost.filter { !given.contains($0) })
  }

  /// Hands out what the server believes to be held and is not; false where there was nothing.
  func recover(_ connection: RedisConnection) throws(End) -> Bool {
    let found = try run(ConsumerScripts.recover, keys: keys.streams, [consumer] + named(held.keys), on: connection).array ?? []
    try receive(found.compactMap(DeliveredMessage.init), hasBlacklist: true, connection)
    return !found.isEmpty
  }

  /// Gives back to who has nothing to do what the caller has let go of.
  func giveBack(_ connection: RedisConnection) throws(End) {
    let arguments = given.flatMap { message in held[message].map { named([message]) + [RedisArgument($0)] } ?? [] }
    _ = try run(ConsumerScripts.giveBack, keys: keys.streams, [consumer] + arguments, on: connection)
    for message in given { held[message] = nil }
    given = []
  }

  /// Tells the caller where another worker needs work, and learns whether this is still the queue.
  func checkNeed(_ connection: RedisConnection) throws(End) {
    let isNeeded = try run(ConsumerScripts.checkNeed, keys: [], [consumer], on: connection) == .integer(1)
    if isNeeded, !held.isEmpty { inbox.noteNeed() }
  }

  /// Gives back what is held, so that this delivery does not count.
  func leave(_ connection: RedisConnection) throws(End) {
    do throws(End) {
      let begun = divided.compactMap { message in
        held[message.id].map { DividedMessage(message: message, deliveries: $0) }
      }
      try divide(begun, connection)
    } catch {
      // What a server has no room for in pieces it keeps as it is.
      guard error.isRefusalForNow else { throw error }
    }
    let arguments = held.flatMap { message, deliveries in named([message]) + [RedisArgument(deliveries)] }
    _ = try run(ConsumerScripts.leave, keys: [keys.workers] + keys.streams, [consumer] + arguments, on: connection)
  }

  /// Puts the entries of messages into the streams of those that are tried alone; the last delivery of each does not count.
  func divide(_ messages: [DividedMessage], _ connection: RedisConnection) throws(End) {
    let calls = messages.map { divided in
      let id = divided.message.id
      let retries = QueueStream(priority: id.stream.priority, isRetry: true)
      let about = [RedisArgument(queue.filling), consumer, RedisArgument(id.text), RedisArgument(divided.deliveries - 1)]
      return ScriptCall(
        ConsumerScripts.split,
        keys: [keys.job, keys.stream(id.stream), keys.stream(retries)],
        about + divided.message.singles.map { RedisArgument($0) }
      )
    }
    for (divided, reply) in zip(messages, try replies(to: calls, connection)) {
      try check(reply, connection)
      held[divided.message.id] = nil
    }
  }

  /// Runs a script of ``ConsumerScripts``, whose first key and first argument are added.
  func run(
    _ script: RedisScript,
    keys rest: [RedisArgument],
    _ arguments: [RedisArgument],
    on connection: RedisConnection
  ) throws(End) -> RedisReply {
    let reply: RedisReply
    do throws(RedisError) {
      reply = try connection.run(script, keys: [keys.job] + rest, [RedisArgument(queue.filling)] + arguments)
    } catch {
      throw .redis(error)
    }
    inbox.noteAnswer()
    if reply == .bytes(Array("REPLACED".utf8)) { throw .final(.replaced(isHolding: !held.isEmpty)) }
    return reply
  }

  private func replies(to calls: [ScriptCall], _ connection: RedisConnection) throws(End) -> [RedisReply] {
    guard !calls.isEmpty else { return [] }
    let replies: [RedisReply]
    do throws(RedisError) { replies = try connection.command(run: calls) } catch { throw .redis(error) }
    inbox.noteAnswer()
    return replies
  }

  /// Throws what a step that answers with a number answers else.
  private func check(_ reply: RedisReply, _ connection: RedisConnection) throws(End) {
    switch reply {
    case .error(let text): throw .redis(RedisError(answer: text, from: connection.address))
    case .integer: break
    default: throw .final(.replaced(isHolding: !held.isEmpty))
    }
  }

  private func named(_ messages: some Sequence<QueuedMessage.ID>) -> [RedisArgument] {
    messages.flatMap { [RedisArgument($0.stream.index), RedisArgument($0.text)] }
  }
}
#endif
