#if Queue
import DequeModule
import Glibc
import ImagePrimitives
import RedisClient

/// Delivery of messages.
extension QueueLink {
  /// A script never delivers more than this.
  private static let maximumEntriesAtOnce = 1 << 20
  /// How often it announces that it needs work; an announcement is valid for a second.
  private static let needInterval = Duration.milliseconds(500)

  private func wanted(_ entries: Int) -> RedisArgument { RedisArgument(max(0, min(entries, Self.maximumEntriesAtOnce))) }

  /// Reads new messages, higher priorities first, or messages that others gave back; returns true if none were new.
  func read(_ connection: RedisConnection, _ now: MonotonicInstant) throws(End) -> Bool {
    let needsWork = credits > 0 && inbox.needsWork
    let notifies = needsWork && nextNeedNotice <= now
    let arguments = [consumer, wanted(credits), notifies ? 2 : needsWork ? 1 : 0, isHoldingLoneRetry ? 1 : 0]
    let reply = try run(ConsumerScripts.read, keys: [keys.blacklist] + keys.streams, arguments, on: connection)
    guard let parts = reply.array, parts.count == 4, let taken = parts[2].array else { return true }
    if notifies, taken.isEmpty { nextNeedNotice = now.advanced(by: Self.needInterval) }
    isDrained = parts[0] == .integer(1)
    if isDrained || parts[0] == .integer(2) { mayBeDone = true }
    try receive(taken.compactMap(DeliveredMessage.init), hasBlacklist: parts[1] == .integer(1), connection)
    return parts[3] == .integer(0)
  }

  /// Takes over messages that weren't renewed, with at most that many entries plus the rest of a message; returns the
  /// next cursors.
  func takeOver(_ entries: Int, from cursors: [RedisArgument], _ connection: RedisConnection) throws(End) -> [RedisArgument] {
    let idle = RedisArgument(max(1, options.takeOverAfter.wholeMilliseconds))
    let arguments = [consumer, idle, wanted(entries)] + cursors
    let reply = try run(ConsumerScripts.takeOver, keys: keys.streams, arguments, on: connection)
    guard let parts = reply.array, parts.count == 2, let taken = parts[1].array else { return [] }
    try receive(taken.compactMap(DeliveredMessage.init), hasBlacklist: true, connection)
    return (parts[0].array ?? []).compactMap { $0.bytes.map { RedisArgument($0) } }
  }

  /// Passes messages on, except batches that were delivered before. Their entries are put back one by one, so that an
  /// entry that crashes workers doesn't affect the others.
  func receive(_ delivered: [DeliveredMessage], hasBlacklist: Bool, _ connection: RedisConnection) throws(End) {
    var messages: [QueuedMessage] = []
    var batches: [DividedMessage] = []
    if !delivered.isEmpty { mayBeDone = true }
    for delivery in delivered where held[delivery.id] == nil {
      guard stopDeadline == nil else {
        // It is given back with the rest.
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
    // This delivery attempted none of the entries.
    try divide(batches, connection)
  }

  private func handOut(_ messages: [QueuedMessage], hasBlacklist: Bool, _ connection: RedisConnection) throws(End) {
    guard !messages.isEmpty else { return }
    credits -= messages.reduce(0) { $0 + max(1, $1.entries.count) }
    guard hasBlacklist else { return inbox.add(messages) }
    do throws(RedisError) {
      inbox.add(try withKnownBad(messages, connection))
    } catch {
      // They are held now, even if the connection is lost.
      inbox.add(messages)
      throw .redis(error)
    }
  }

  /// Returns the messages with what the blacklist says about their URLs.
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
      // Ignore errors of the server here: knowing bad URLs helps, but isn't required.
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

/// A message whose entries are put back one by one, and its number of deliveries.
struct DividedMessage {
  let message: QueuedMessage
  let deliveries: Int
}

/// Renewing and settling of held messages.
extension QueueLink {
  private static let settlementsAtOnce = 64
  private static let pauseMicroseconds: UInt32 = 50_000

  /// Creates missing groups.
  func join(_ connection: RedisConnection) throws(End) {
    _ = try run(ConsumerScripts.join, keys: keys.streams, [], on: connection)
  }

  /// Writes the next settlements, and forgets those that were confirmed.
  func settle(_ connection: RedisConnection) throws(End) {
    let calls = settlements.prefix(Self.settlementsAtOnce).map { $0.call(keys, filling: queue.filling) }
    for reply in try replies(to: calls, connection) {
      try check(reply, connection)
      if let settled = settlements.popFirst() { held[settled.message] = nil }
    }
  }

  /// Writes all settlements; those that a reachable server doesn't accept until `deadline` are left to other workers.
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

  /// Renews held messages, shows that this consumer is alive, and reports messages that were taken over.
  func renew(_ connection: RedisConnection) throws(End) {
    let messages = Array(held.keys)
    let kept = try run(ConsumerScripts.renew, keys: [keys.workers] + keys.streams, [consumer] + named(messages), on: connection)
    guard let kept = kept.array, kept.count == messages.count else { return }
    let lost = zip(messages, kept).filter { $0.1 == .integer(0) }.map(\.0)
    for message in lost { held[message] = nil }
    inbox.add(lost: lost.filter { !given.contains($0) })
  }

  /// Passes on messages that the server has delivered but that got lost; returns false if there are none.
  func recover(_ connection: RedisConnection) throws(End) -> Bool {
    let found = try run(ConsumerScripts.recover, keys: keys.streams, [consumer] + named(held.keys), on: connection).array ?? []
    try receive(found.compactMap(DeliveredMessage.init), hasBlacklist: true, connection)
    return !found.isEmpty
  }

  /// Gives back, for idle workers, the messages that the caller has released.
  func giveBack(_ connection: RedisConnection) throws(End) {
    let arguments = given.flatMap { message in held[message].map { named([message]) + [RedisArgument($0)] } ?? [] }
    _ = try run(ConsumerScripts.giveBack, keys: keys.streams, [consumer] + arguments, on: connection)
    for message in given { held[message] = nil }
    given = []
  }

  /// Notifies the caller if another worker needs work, and checks that the queue is still the same.
  func checkNeed(_ connection: RedisConnection) throws(End) {
    let isNeeded = try run(ConsumerScripts.checkNeed, keys: [], [consumer], on: connection) == .integer(1)
    if isNeeded, !held.isEmpty { inbox.noteNeed() }
  }

  /// Gives back held messages, so that this delivery doesn't count.
  func leave(_ connection: RedisConnection) throws(End) {
    do throws(End) {
      let begun = divided.compactMap { message in
        held[message.id].map { DividedMessage(message: message, deliveries: $0) }
      }
      try divide(begun, connection)
    } catch {
      // If the server has no memory for single entries, it keeps the batch.
      guard error.isRefusalForNow else { throw error }
    }
    let arguments = held.flatMap { message, deliveries in named([message]) + [RedisArgument(deliveries)] }
    _ = try run(ConsumerScripts.leave, keys: [keys.workers] + keys.streams, [consumer] + arguments, on: connection)
  }

  /// Moves the entries of messages to the retry streams, where each is tried alone; the last delivery of each doesn't
  /// count.
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

  /// Runs a script of ``ConsumerScripts`` with its first key and first argument.
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
    if reply == .bytes(Array("REPLACED".utf8)) { throw .final(.replaced(isUndone: !held.isEmpty || !mayBeDone)) }
    return reply
  }

  private func replies(to calls: [ScriptCall], _ connection: RedisConnection) throws(End) -> [RedisReply] {
    guard !calls.isEmpty else { return [] }
    let replies: [RedisReply]
    do throws(RedisError) { replies = try connection.command(run: calls) } catch { throw .redis(error) }
    inbox.noteAnswer()
    return replies
  }

  /// Throws if a step that returns a number returned anything else.
  private func check(_ reply: RedisReply, _ connection: RedisConnection) throws(End) {
    switch reply {
    case .error(let text): throw .redis(RedisError(answer: text, from: connection.address))
    case .integer: break
    default: throw .final(.replaced(isUndone: !held.isEmpty || !mayBeDone))
    }
  }

  private func named(_ messages: some Sequence<QueuedMessage.ID>) -> [RedisArgument] {
    messages.flatMap { [RedisArgument($0.stream.index), RedisArgument($0.text)] }
  }
}
#endif
