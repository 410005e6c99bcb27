import DequeModule
import RedisClient

/// What a link says of the messages that it holds.
extension QueueLink {
  private static let settlementsAtOnce = 64

  /// Makes the groups that are missing.
  func join(_ connection: RedisConnection) throws(End) {
    _ = try run(ConsumerScripts.join, keys: keys.streams, [], on: connection)
  }

  /// Says the next settlements; those that were answered are forgotten.
  func settle(_ connection: RedisConnection) throws(End) {
    let calls = settlements.prefix(Self.settlementsAtOnce).map { $0.call(keys, filling: queue.filling) }
    let replies: [RedisReply]
    do throws(RedisError) { replies = try connection.command(run: calls) } catch { throw .redis(error) }
    for reply in replies {
      switch reply {
      case .error(let text): throw .redis(RedisError(answer: text, from: connection.address))
      case .integer: if let settled = settlements.popFirst() { held[settled.message] = nil }
      default: throw .final(.replaced(isHolding: !held.isEmpty))
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
    inbox.add(lost: lost)
  }

  /// Hands out what the server believes to be held and is not; false where there was nothing.
  func recover(_ connection: RedisConnection) throws(End) -> Bool {
    let found = try run(ConsumerScripts.recover, keys: keys.streams, [consumer] + named(held.keys), on: connection).array ?? []
    try receive(found.compactMap(DeliveredMessage.init), hasBlacklist: true, connection)
    return !found.isEmpty
  }

  /// Gives back what is held.
  func leave(_ connection: RedisConnection) throws(End) {
    let arguments = held.flatMap { message, deliveries in named([message]) + [RedisArgument(deliveries)] }
    _ = try run(ConsumerScripts.leave, keys: [keys.workers] + keys.streams, [consumer] + arguments, on: connection)
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
    if reply == .bytes(Array("REPLACED".utf8)) { throw .final(.replaced(isHolding: !held.isEmpty)) }
    return reply
  }

  private func named(_ messages: some Sequence<QueuedMessage.ID>) -> [RedisArgument] {
    messages.flatMap { [RedisArgument($0.stream.index), RedisArgument($0.text)] }
  }
}
