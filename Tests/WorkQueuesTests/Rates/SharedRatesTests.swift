import Foundation
import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// Parts and pauses that workers share through a real server, each with its thread.
struct SharedRatesTests {
  private let whole = WorkerMembership.whole

  private func now() -> MonotonicInstant { TimeSource.system.monotonic() }

  @Test("workers with work have even parts when others come, become idle, or leave")
  func parts() async throws {
    let fixture = try await QueueFixture()
    let workers = try (0..<3).map { _ in try RateWorker(fixture.location) }
    for worker in workers { try await worker.wait(forPart: whole / 3) }
    workers[0].rates.setHasWork(false)
    try await workers[0].wait(forPart: 0)
    for worker in workers.dropFirst() { try await worker.wait(forPart: whole / 2) }
    workers[0].rates.setHasWork(true)
    for worker in workers { try await worker.wait(forPart: whole / 3) }
    workers[1].rates.stop()
    for worker in [workers[0], workers[2]] { try await worker.wait(forPart: whole / 2) }
    let stranger = try RateWorker(QueueLocation(fixture.location.address, name: .standard))
    try await stranger.wait(forPart: whole)
  }

  @Test("a crashed worker loses its part after its lease")
  func gone() async throws {
    let fixture = try await QueueFixture()
    let worker = try RateWorker(fixture.location)
    try await worker.wait(forPart: whole)
    var dead = try ScriptedWorker("dead", fixture)
    try dead.beat(lease: 2000, returning: 2000)
    try await worker.wait(forPart: whole / 2)
    try await worker.wait(forPart: whole)
  }

  @Test("each worker keeps its part during an outage of Redis, and when Redis returns, even without its data")
  func awayAndBack() async throws {
    let fixture = try await QueueFixture()
    var options = SharedRates.Options()
    options.returnInterval = .seconds(1)
    let workers = try (0..<2).map { _ in try RateWorker(fixture.location, options: options) }
    for worker in workers { try await worker.wait(forPart: whole / 2) }
    for losesData in [false, true] {
      try await fixture.server.kill()
      let newcomer = try RateWorker(fixture.location, options: options)
      workers[0].rates.pause("https://a", for: .seconds(3600), status: losesData ? 429 : 503)
      if losesData { try FileManager.default.removeItem(atPath: fixture.server.folder.file("appendonlydir")) }
      try await fixture.server.start()
      // It shows that both are back; the third has no part before the others have shrunk theirs.
      try await newcomer.wait(for: "the pause") { !$0.pauses.isEmpty }
      for worker in workers + [newcomer] { try await worker.wait(forPart: whole / 3) }
      newcomer.rates.stop()
      for worker in workers { try await worker.wait(forPart: whole / 2) }
    }
  }

  @Test("a pause requested from one worker is reported to all others, even later ones, but not to itself")
  func pauses() async throws {
    let fixture = try await QueueFixture()
    let workers = try (0..<3).map { _ in try RateWorker(fixture.location) }
    workers[0].rates.pause("https://a", for: .seconds(3600), status: 429)
    workers[0].rates.pause("https://b", for: .seconds(1800), status: 503)
    let late = try RateWorker(fixture.location)
    for worker in workers.dropFirst() + [late] {
      try await worker.wait(for: "both pauses") { $0.pauses.count == 2 }
      let pauses = worker.state.pauses.sorted { $0.origin < $1.origin }
      #expect(pauses.map(\.origin) == ["https://a", "https://b"] && pauses.map(\.status) == [429, 503])
      #expect(pauses[0].duration <= .seconds(3600) && pauses[0].duration > .seconds(3000))
      #expect(pauses[1].duration <= .seconds(1800) && pauses[1].duration > .seconds(1200))
    }
    // All have the others' pauses, and would have their own by now.
    workers[1].rates.pause("https://c", for: .seconds(1000), status: 429)
    try await workers[0].wait(for: "the third pause") { !$0.pauses.isEmpty }
    #expect(workers[0].state.pauses.map(\.origin) == ["https://c"])
  }

  @Test("of two pauses the longer one applies, and the shorter isn't reported")
  func longerPause() async throws {
    let fixture = try await QueueFixture()
    let (one, other) = (try RateWorker(fixture.location), try RateWorker(fixture.location))
    one.rates.pause("https://a", for: .seconds(3600), status: 429)
    try await other.wait(for: "the pause") { $0.pauses.count == 1 }
    one.rates.pause("https://a", for: .seconds(60), status: 503)
    one.rates.pause("https://b", for: .seconds(60), status: 503)
    try await other.wait(for: "another host's pause") { $0.pauses.count == 2 }
    #expect(other.state.pauses.map(\.origin) == ["https://a", "https://b"])
    #expect(try fixture.connection().command(["GET", RateKeys(fixture.location.name).pause("https://a")]).text == "429")
  }

  @Test("a server that is unreachable at the start is joined when it returns")
  func lateServer() async throws {
    let fixture = try await QueueFixture()
    try await fixture.server.kill()
    let worker = try RateWorker(fixture.location)
    try await fixture.server.start()
    try await worker.wait(forPart: whole)
  }

  @Test("a stopped worker doesn't count any more, and shares its last pauses")
  func stopping() async throws {
    let fixture = try await QueueFixture()
    let (one, other) = (try RateWorker(fixture.location), try RateWorker(fixture.location))
    for worker in [one, other] { try await worker.wait(forPart: whole / 2) }
    one.rates.pause("https://a", for: .seconds(3600), status: 429)
    one.rates.stop()
    one.rates.stop()
    try await other.wait(forPart: whole)
    try await other.wait(for: "the pause") { $0.pauses.count == 1 }
  }

  @Test("a leaving worker doesn't wait for a silent server")
  func leavesSilentServer() async throws {
    let fixture = try await QueueFixture()
    var options = SharedRates.Options()
    options.timeouts = .init(connect: .seconds(600), answer: .seconds(600))
    let worker = try RateWorker(fixture.location, options: options)
    try await worker.wait(forPart: whole)
    try await fixture.silence()
    worker.rates.stop(until: now().advanced(by: .milliseconds(20)))
    #expect(worker.state.part == 1)
    fixture.server.resume()
  }

  @Test("the remaining keys expire by themselves")
  func expiry() async throws {
    let fixture = try await QueueFixture()
    let worker = try RateWorker(fixture.location)
    worker.rates.pause("https://a", for: .seconds(3600), status: 429)
    try await worker.wait(forPart: whole)
    let connection = try fixture.connection()
    try await poll("the pause") { try connection.command(["EXISTS", RateKeys(fixture.location.name).pauses]).integer == 1 }
    let keys = try #require(try connection.command(["KEYS", "*"]).array).compactMap(\.text)
    #expect(Set(keys) == Set(["pause:https://a", "pauses", "members"].map { "{prewarm:test}:" + $0 }))
    for key in keys {
      let left = try #require(try connection.command(["PTTL", RedisArgument(key)]).integer)
      #expect(left > 0 && left <= 3_600_001, "\(key)")
    }
    let members = RateKeys(fixture.location.name).members
    let kept = try #require(try connection.command(["PTTL", members]).integer)
    #expect(kept > 3_500_000, "memberships outlast an outage of Redis")
  }

  @Test("foreign data in the keys does no harm")
  func garbage() async throws {
    let fixture = try await QueueFixture()
    let keys = RateKeys(fixture.location.name)
    let connection = try fixture.connection()
    for fields: [RedisArgument] in [["x", "y"], ["seen", "soon"], ["frozen", "9e99"], ["b", "1 2"], ["c", "-1 1 1"]] {
      _ = try connection.command(["HSET", keys.members] + fields)
    }
    var options = SharedRates.Options()
    (options.refusedInterval, options.returnInterval) = (.milliseconds(1), .milliseconds(100))
    let worker = try RateWorker(fixture.location, options: options)
    try await worker.wait(forPart: whole)
    for fields: [RedisArgument] in [
      ["x", "y"], ["origin", "https://a", "over", "soon", "status", "429", "worker", "1"],
      ["origin", "https://a", "over", "9e99", "status", "9000", "worker", "1"],
      ["origin", RedisArgument(String(repeating: "a", count: 2000)), "over", "9e15", "status", "429", "worker", "1"],
      ["origin", "https://b", "over", "9e15", "status", "429", "worker", "1"],
    ] {
      _ = try connection.command(["XADD", keys.pauses, "*"] + fields)
    }
    try await worker.wait(for: "the only good one") { !$0.pauses.isEmpty }
    #expect(worker.state.pauses.map(\.origin) == ["https://b"])
    #expect(worker.state.pauses[0].duration <= .seconds(10 * 365 * 86_400))
    // A key of another type counts as an outage, but is reported.
    _ = try connection.command(["DEL", keys.pauses])
    _ = try connection.command(["SET", keys.pauses, "x"])
    try await worker.wait(for: "the refusal") { !$0.refusals.isEmpty }
    #expect(worker.state.refusals.count == 1)
    expectGolden(worker.state.refusals[0])
    #expect(worker.state.part == 1)
  }

  @Test("a refusal is reported once, with the number of workers, and ends when access is granted")
  func refusal() async throws {
    let all = "user default on nopass ~* &* +@all"
    let server = try await RedisServer(users: [
      all, "user weak on >secret ~* +@all -hset", "user weaker on >secret ~* +@all -time",
    ])
    let location = QueueLocation(try RedisAddress(server.url), name: .standard)
    let boss = try RedisConnection(location.address)
    let strong = try RateWorker(location)
    try await strong.wait(forPart: whole)
    var options = SharedRates.Options()
    options.refusedInterval = .milliseconds(1)
    // One may not write; the other may not even read the time, and so doesn't know of other workers.
    for (name, workers) in [("weak", 2), ("weaker", 1)] {
      let address = try RedisAddress("redis://\(name):secret@\(server.host)")
      let worker = try RateWorker(QueueLocation(address, name: .standard), options: options)
      try await worker.wait(for: "the refusal") { !$0.refusals.isEmpty }
      try await worker.wait(forPart: whole / workers)
      #expect(worker.state.refusals.count == 1 && worker.state.workersAtRefusal == [workers])
      let why = try #require(worker.state.refusals.first)
      #expect(why.contains("ACL") && !why.contains("secret") && why.contains(server.host), "\(why)")
      _ = try boss.command(["ACL", "SETUSER", RedisArgument(name), "+@all"])
      for worker in [strong, worker] { try await worker.wait(forPart: whole / 2) }
      worker.rates.stop()
      try await strong.wait(forPart: whole)
    }
  }

  @Test("a full Redis is reported once")
  func oneClientTooMany() async throws {
    let server = try await RedisServer(settings: ["--maxclients", "1"])
    let location = QueueLocation(try RedisAddress(server.url), name: .standard)
    let other = try RedisConnection(location.address)
    let worker = try RateWorker(location, hasWork: false)
    try await worker.wait(for: "the refusal") { !$0.refusals.isEmpty }
    expectGolden(worker.state.refusals[0])
    try await worker.wait(forPart: whole)
    _ = try other.command(["CONFIG", "SET", "maxclients", "10"])
    try await worker.wait(forPart: 0)
    #expect(worker.state.refusals.count == 1)
  }
}
