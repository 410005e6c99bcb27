import DequeModule
import Glibc
import ImagePrimitives
import RedisClient

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
  func look(_ connection: RedisConnection) throws(End) {
    let isNeeded = try run(ConsumerScripts.look, keys: [], [consumer], on: connection) == .integer(1)
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
