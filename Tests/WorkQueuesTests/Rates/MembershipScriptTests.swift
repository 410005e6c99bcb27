import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// The parts that Redis grants to workers whose heartbeats come in any order, on a real server.
struct MembershipScriptTests {
  private let whole = WorkerMembership.whole

  /// Makes Redis believe that it heard from no worker for an hour, as when it was away with its data kept.
  private func letTimePass(_ fixture: QueueFixture) throws {
    let (connection, key) = (try fixture.connection(), RateKeys(fixture.location.name).members)
    let now = try #require(try connection.command(["TIME"]).array?[0].integer) * 1000
    _ = try connection.command(["HSET", key, "seen", RedisArgument(now - 3_600_000)])
    let fields = try #require(try connection.command(["HGETALL", key]).array).compactMap(\.text)
    for index in stride(from: 0, to: fields.count, by: 2) where fields[index + 1].contains(" ") {
      let rest = fields[index + 1].split(separator: " ").dropFirst().joined(separator: " ")
      _ = try connection.command(["HSET", key, RedisArgument(fields[index]), RedisArgument("\(now - 1_800_000) \(rest)")])
    }
  }

  @Test("new workers get even parts after the earlier ones have shrunk theirs")
  func joining() async throws {
    let fixture = try await QueueFixture()
    var workers = try ["a", "b", "c"].map { try ScriptedWorker($0, fixture) }
    try workers[0].beat()
    #expect(workers[0].part == whole)
    // Both come at once.
    try workers[1].beat()
    try workers[2].beat()
    #expect(workers.map(\.part) == [whole, 0, 0])
    let answer = try #require(try workers[0].beat())
    #expect(answer.part == whole / 3 && answer.workers == 3 && answer.workersWithWork == 3)
    // It may still use the whole until it has the reply.
    try workers[1].beat()
    #expect(workers[1].part == 0)
    try workers[0].beat()
    for index in [2, 1] { try workers[index].beat() }
    #expect(workers.map(\.part) == [whole / 3, whole / 3, whole / 3])
  }

  @Test("a worker without work counts as a worker, but others get its part")
  func idle() async throws {
    let fixture = try await QueueFixture()
    var workers = try ["a", "b"].map { try ScriptedWorker($0, fixture) }
    for index in [0, 1, 0, 0, 1] { try workers[index].beat() }
    #expect(workers.map(\.part) == [whole / 2, whole / 2])
    workers[1].part = 0
    let answer = try #require(try workers[1].beat(hasWork: false))
    #expect(answer.part == 0 && answer.workers == 2 && answer.workersWithWork == 1)
    try workers[0].beat()
    #expect(workers[0].part == whole)
    // A worker that leaves doesn't count.
    _ = try workers[1].connection.command(["HDEL", workers[1].keys.members, "b"])
    #expect(try workers[0].beat()?.workers == 1)
  }

  @Test("a crashed worker's part goes to the others after its lease, and it has none when it comes back")
  func expired() async throws {
    let fixture = try await QueueFixture()
    var workers = try ["a", "b"].map { try ScriptedWorker($0, fixture) }
    for index in [0, 1, 0, 0, 1] { try workers[index].beat() }
    try workers[0].beat()
    #expect(workers[0].part == whole / 2)
    let now = try #require(try workers[0].connection.command(["TIME"]).array?[0].integer) * 1000
    _ = try workers[0].connection.command(["HSET", workers[0].keys.members, "b", RedisArgument("\(now - 1000) 1 500000")])
    try workers[0].beat()
    #expect(workers[0].part == whole)
    // It was stopped, and starts nothing since it woke.
    workers[1].part = 0
    try workers[1].beat()
    #expect(workers[1].part == 0)
    for index in [0, 0, 1] { try workers[index].beat() }
    #expect(workers.map(\.part) == [whole / 2, whole / 2])
  }

  @Test("after an outage of Redis that kept its data, no part grows before all must be back")
  func returned() async throws {
    let fixture = try await QueueFixture()
    var workers = try ["a", "b"].map { try ScriptedWorker($0, fixture) }
    for index in [0, 1, 0, 0, 1] { try workers[index].beat() }
    try letTimePass(fixture)
    for _ in 0..<3 { try workers[0].beat() }
    var newcomer = try ScriptedWorker("c", fixture)
    try newcomer.beat()
    #expect(workers[0].part <= whole / 2 && newcomer.part <= whole / 2 - workers[0].part)
    // The other never returns, and the time is over.
    try letTimePass(fixture)
    for _ in 0..<10_000 where workers[0].part < whole { try workers[0].beat(returning: 0) }
    #expect(workers[0].part == whole)
  }

  @Test("after Redis has lost its data, no part grows before all must be back")
  func forgotten() async throws {
    let fixture = try await QueueFixture()
    var workers = try ["a", "b", "c"].map { try ScriptedWorker($0, fixture) }
    for index in [0, 1, 2, 0, 0, 1, 2] { try workers[index].beat() }
    _ = try workers[0].connection.command(["FLUSHALL"])
    var newcomer = try ScriptedWorker("d", fixture)
    for _ in 0..<2 { try workers[0].beat() }
    for _ in 0..<2 { try newcomer.beat() }
    #expect(workers[0].part == whole / 3 && newcomer.part == 0)
    for index in [1, 2, 0, 1, 2] { try workers[index].beat() }
    try newcomer.beat()
    #expect(workers.allSatisfy { $0.part == whole / 4 } && newcomer.part == 0)
    for index in workers.indices { try workers[index].beat(returning: 0) }
    try newcomer.beat(returning: 0)
    #expect(newcomer.part == whole / 4)
  }

  @Test("parts never add up to more than the whole, and add up to the whole once workers settle", arguments: 0..<4)
  func random(seed: Int) async throws {
    let fixture = try await QueueFixture()
    var random = SeededRandom(seed: UInt64(seed))
    var workers = try (0..<5).map { try ScriptedWorker("\($0)", fixture) }
    for _ in 0..<400 {
      let index = Int.random(in: 0..<5, using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        workers[index].part = 0
        try workers[index].beat(hasWork: false)
      case 1:
        // The reply is lost.
        let part = workers[index].part
        try workers[index].beat()
        workers[index].part = min(part, workers[index].part)
      case 2:
        workers[index].part = 0
        _ = try workers[index].connection.command(["HDEL", workers[index].keys.members, RedisArgument(workers[index].name)])
      default: try workers[index].beat()
      }
      #expect(workers.reduce(0) { $0 + $1.part } <= whole)
    }
    for _ in 0..<3 { for index in workers.indices { try workers[index].beat() } }
    #expect(workers.allSatisfy { $0.part == whole / 5 })
  }

  @Test("after a clock was set back, a crashed worker's part is kept no longer than its lease")
  func clockSetBack() async throws {
    let fixture = try await QueueFixture()
    var worker = try ScriptedWorker("a", fixture)
    try worker.beat(lease: 1000, returning: 1000)
    _ = try worker.connection.command(["HSET", worker.keys.members, "dead", "99999999999999 1 1000000"])
    try worker.beat(lease: 1000, returning: 1000)
    let value = try #require(try worker.connection.command(["HGET", worker.keys.members, "dead"]).text)
    let now = try #require(try worker.connection.command(["TIME"]).array?[0].integer) * 1000
    #expect(try #require(Int64(value.prefix { $0 != " " })) <= now + 2000)
  }
}
