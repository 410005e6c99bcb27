import Foundation
import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// Rates and pauses that workers share through a real server.
struct SharedPolitenessTests {
  private func now() -> MonotonicInstant { TimeSource.system.monotonic() }

  @Test("D1: four workers get starts in turn, no two of them closer than an interval by the server's clock, and none twice")
  func sharedRate() async throws {
    let fixture = try await QueueFixture()
    let workers = try (0..<4).map { _ in try PoliteWorker(fixture.place) }
    let begin = now()
    // Asked for far ahead of their time, and no further than two reservations of each.
    let starts = try await withThrowingTaskGroup(of: [ReservedStarts].self) { group in
      for worker in workers {
        group.addTask {
          var starts: [ReservedStarts] = []
          for _ in 0..<2 { starts.append(try await worker.reserve(5, milliseconds: 20)) }
          return starts
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let end = now()
    // What a delay is late by is the way of its reply, which is no longer than all of this has taken.
    let moments = starts.flatMap(\.moments).sorted()
    #expect(moments.count == 40)
    #expect(moments[0] >= begin)
    let span = moments[39].since(moments[0])
    #expect(span >= .milliseconds(39 * 20) - end.since(begin) && span <= .milliseconds(39 * 20) + end.since(begin))
  }

  @Test("D1: the script keeps starts an interval apart, as the server counts them, whoever asks and however many")
  func spacing() async throws {
    let fixture = try await QueueFixture()
    let keys = PolitenessKeys(fixture.place.name)
    let connections = try (0..<3).map { _ in try fixture.connection() }
    var random = SeededRandom(seed: 5)
    /// In microseconds: so long that the next is asked for before it is over, also where nothing moves for a while.
    let interval: Int64 = 10_000_000
    func clock() throws -> Int64 {
      let time = try #require(try connections[0].command(["TIME"]).array)
      return try #require(time[0].integer) * 1_000_000 + (try #require(time[1].integer))
    }
    // Microseconds on the server's clock: no earlier than this, no later than that.
    var previous: (earliest: Int64, latest: Int64, count: Int64)?
    let names: [RedisArgument] = [keys.rate("https://a"), keys.rest("https://a"), keys.workers]
    for round in 0..<300 {
      let count = Int64.random(in: 1...10, using: &random)
      let before = try clock()
      let reply = try connections[round % 3].run(
        PolitenessScripts.reserve,
        keys: names,
        [RedisArgument(count), RedisArgument(interval), 1000]
      )
      let delay = try #require(reply.integer)
      let (earliest, latest) = (before + delay, try clock() + delay)
      if let previous {
        // It follows at once upon the one before, since all is asked for long before its time.
        #expect(latest >= previous.earliest + previous.count * interval)
        #expect(earliest <= previous.latest + previous.count * interval)
      }
      previous = (earliest, latest, count)
    }
  }

  @Test("D1: hosts' rates are apart, one has no part in another's; so are queues")
  func apart() async throws {
    let fixture = try await QueueFixture()
    let other = QueuePlace(fixture.place.address, name: .standard)
    let (worker, stranger) = (try PoliteWorker(fixture.place), try PoliteWorker(other))
    let hour: UInt64 = 3_600_000
    for origin in ["https://a", "https://b", ""] {
      let first = try await worker.reserve(1, at: origin, milliseconds: hour)
      #expect(first.first <= now())
      let second = try await worker.reserve(1, at: origin, milliseconds: hour)
      #expect(second.first > now().advanced(by: .seconds(3000)))
      #expect(try await stranger.reserve(1, at: origin, milliseconds: hour).first <= now())
    }
  }

  @Test("D15: a pause that one worker was asked for is all the others', also that of a worker that comes later, and not its own")
  func rests() async throws {
    let fixture = try await QueueFixture()
    let workers = try (0..<3).map { _ in try PoliteWorker(fixture.place) }
    workers[0].politeness.rest("https://a", for: .seconds(3600), status: 429)
    workers[0].politeness.rest("https://b", for: .seconds(1800), status: 503)
    let late = try PoliteWorker(fixture.place)
    for worker in workers.dropFirst() + [late] {
      try await worker.wait(for: "both pauses") { $0.rests.count == 2 }
      let rests = worker.state.rests.sorted { $0.origin < $1.origin }
      #expect(rests.map(\.origin) == ["https://a", "https://b"] && rests.map(\.status) == [429, 503])
      #expect(rests[0].duration <= .seconds(3600) && rests[0].duration > .seconds(3000))
      #expect(rests[1].duration <= .seconds(1800) && rests[1].duration > .seconds(1200))
    }
    // Others' word has come to all, and so has one's own to oneself.
    workers[1].politeness.rest("https://c", for: .seconds(1000), status: 429)
    try await workers[0].wait(for: "the third pause") { !$0.rests.isEmpty }
    #expect(workers[0].state.rests.map(\.origin) == ["https://c"])
  }

  @Test("D15: of two pauses the longer holds, and the shorter is not told")
  func longerRest() async throws {
    let fixture = try await QueueFixture()
    let (one, other) = (try PoliteWorker(fixture.place), try PoliteWorker(fixture.place))
    one.politeness.rest("https://a", for: .seconds(3600), status: 429)
    try await other.wait(for: "the pause") { $0.rests.count == 1 }
    one.politeness.rest("https://a", for: .seconds(60), status: 503)
    one.politeness.rest("https://b", for: .seconds(60), status: 503)
    try await other.wait(for: "another host's pause") { $0.rests.count == 2 }
    #expect(other.state.rests.map(\.origin) == ["https://a", "https://b"])
    #expect(try fixture.connection().command(["GET", PolitenessKeys(fixture.place.name).rest("https://a")]).text == "429")
  }

  @Test("D1, D15: a host that rests gives no start before its rest is over")
  func restHoldsRate() async throws {
    let fixture = try await QueueFixture()
    let worker = try PoliteWorker(fixture.place)
    let begin = now()
    worker.politeness.rest("https://a", for: .seconds(3600), status: 429)
    let starts = try await worker.reserve(1, milliseconds: 20)
    #expect(starts.first > begin.advanced(by: .seconds(3599)))
    #expect(try await worker.reserve(1, at: "https://b", milliseconds: 20).first <= now())
  }

  @Test("D1: what remains of a clock that was set back, or of workers that are gone, holds nobody up for long")
  func farAhead() async throws {
    let fixture = try await QueueFixture()
    let worker = try PoliteWorker(fixture.place)
    let key = PolitenessKeys(fixture.place.name).rate("https://a")
    for garbage in ["9000000000000000", "no number"] {
      _ = try fixture.connection().command(["SET", key, RedisArgument(garbage)])
      // Two reservations of a tenth of a second each, and a second.
      #expect(try await worker.reserve(1, milliseconds: 20).first <= now().advanced(by: .milliseconds(1200)))
    }
  }

  @Test("D1: where Redis goes away it says so, with the number of workers, anew to who asks, and once it is back answers again")
  func away() async throws {
    let fixture = try await QueueFixture()
    let workers = try (0..<3).map { _ in try PoliteWorker(fixture.place) }
    for worker in workers { _ = try await worker.reserve(1, milliseconds: 20) }
    // Each has heard of all by any answer, since all have said that they are there.
    for worker in workers { _ = try await worker.reserve(1, milliseconds: 20) }
    try await fixture.server.kill()
    for worker in workers {
      try await worker.wait(for: "the loss") { $0.away.count == 1 }
      // It is passed on once that can be done.
      worker.politeness.rest("https://a", for: .seconds(3600), status: 429)
      worker.politeness.reserve([StartReservation(origin: "https://a", count: 1, intervalNanoseconds: 1)])
    }
    for worker in workers { try await worker.wait(for: "the answer") { $0.away == [3, 3] } }
    try await fixture.server.start()
    for worker in workers {
      try await worker.wait(for: "the return") { $0.returns == 1 && $0.away.count == 2 }
      // What was asked for meanwhile is not answered.
      #expect(worker.state.starts.count == 2)
      #expect(try await worker.reserve(1, at: "https://b", milliseconds: 1).count == 1)
    }
    #expect(try fixture.connection().command(["GET", PolitenessKeys(fixture.place.name).rest("https://a")]).text == "429")
  }

  @Test(
    "D1: who is back keeps to a part of one in all that were there, whatever the server has forgotten, until all must be back"
  )
  func returning() async throws {
    let fixture = try await QueueFixture()
    var patient = SharedPoliteness.Options()
    patient.returnInterval = .seconds(3600)
    var hasty = patient
    hasty.returnInterval = .milliseconds(1)
    let workers = [try PoliteWorker(fixture.place, options: patient), try PoliteWorker(fixture.place, options: hasty)]
    let stopped = try PoliteWorker(fixture.place)
    for _ in 0..<2 { for worker in workers + [stopped] { _ = try await worker.reserve(1, milliseconds: 20) } }
    try await fixture.server.kill()
    for worker in workers + [stopped] { try await worker.wait(for: "the loss") { $0.away == [3] } }
    stopped.politeness.stop()
    #expect(stopped.state.away == [3, 1])
    // It has lost all that it knew.
    try FileManager.default.removeItem(atPath: fixture.server.folder.file("appendonlydir"))
    try await fixture.server.start()
    for worker in workers { try await worker.wait(for: "the return") { $0.back == [3] } }
    try await workers[1].wait(for: "the others' return") { $0.othersReturns == 1 }
    // Those that are there now are all that there are: two, and no more than that are told of by the next loss.
    for worker in workers { _ = try await worker.reserve(1, milliseconds: 20) }
    _ = try await workers[1].reserve(1, milliseconds: 20)
    try await fixture.server.kill()
    try await workers[0].wait(for: "the next loss") { $0.away == [3, 3] }
    try await workers[1].wait(for: "the next loss") { $0.away == [3, 2] }
    #expect(workers[0].state.othersReturns == 0)
  }

  @Test("D1: a server that was not there at the start is joined once it is")
  func lateServer() async throws {
    let fixture = try await QueueFixture()
    try await fixture.server.kill()
    let worker = try PoliteWorker(fixture.place)
    worker.politeness.reserve([StartReservation(origin: "https://a", count: 1, intervalNanoseconds: 1)])
    try await worker.wait(for: "the loss") { !$0.away.isEmpty }
    try await fixture.server.start()
    try await worker.wait(for: "the return") { $0.returns == 1 }
    #expect(try await worker.reserve(1, milliseconds: 20).count == 1)
  }

  @Test("a worker that stops is none any more, and passes on what it was told last")
  func stopping() async throws {
    let fixture = try await QueueFixture()
    let keys = PolitenessKeys(fixture.place.name)
    let (one, other) = (try PoliteWorker(fixture.place), try PoliteWorker(fixture.place))
    _ = try await one.reserve(1, milliseconds: 20)
    _ = try await other.reserve(1, milliseconds: 20)
    let connection = try fixture.connection()
    #expect(try connection.command(["ZCARD", keys.workers]) == .integer(2))
    one.politeness.rest("https://a", for: .seconds(3600), status: 429)
    one.politeness.stop()
    one.politeness.stop()
    #expect(try connection.command(["ZCARD", keys.workers]) == .integer(1))
    try await other.wait(for: "the pause") { $0.rests.count == 1 }
  }

  @Test func whoLeavesNeedNotWaitForAServerThatIsSilent() async throws {
    let fixture = try await QueueFixture()
    var options = SharedPoliteness.Options()
    options.timeouts = .init(connect: .seconds(600), answer: .seconds(600))
    let worker = try PoliteWorker(fixture.place, options: options)
    _ = try await worker.reserve(1, milliseconds: 1)
    try await fixture.silence()
    worker.politeness.stop(until: now().advanced(by: .milliseconds(20)))
    #expect(!worker.state.isAway)
    fixture.server.resume()
    try await worker.wait(for: "its end") { $0.away == [1] }
  }

  @Test("what is left in Redis vanishes by itself, but for the workers that say that they are there")
  func expiry() async throws {
    let fixture = try await QueueFixture()
    let worker = try PoliteWorker(fixture.place)
    worker.politeness.rest("https://a", for: .seconds(3600), status: 429)
    _ = try await worker.reserve(1, at: "https://b", milliseconds: 3_600_000)
    let connection = try fixture.connection()
    let keys = try #require(try connection.command(["KEYS", "*"]).array).compactMap(\.text)
    #expect(
      Set(keys) == ["rest:https://a", "rests", "rate:https://b", "polite"].reduce(into: []) { $0.insert("{prewarm:test}:" + $1) }
    )
    for key in keys {
      let left = try #require(try connection.command(["PTTL", RedisArgument(key)]).integer)
      #expect(left > 0 && left <= 3_600_001, "\(key)")
    }
  }

  @Test("what others have written into the keys does no harm")
  func garbage() async throws {
    let fixture = try await QueueFixture()
    let worker = try PoliteWorker(fixture.place, options: .undeterred)
    let rests = PolitenessKeys(fixture.place.name).rests
    let connection = try fixture.connection()
    for fields: [RedisArgument] in [
      ["x", "y"], ["origin", "https://a", "over", "soon", "status", "429", "worker", "1"],
      ["origin", "https://a", "over", "9e99", "status", "9000", "worker", "1"],
      ["origin", RedisArgument(String(repeating: "a", count: 2000)), "over", "9e15", "status", "429", "worker", "1"],
      ["origin", "https://b", "over", "9e15", "status", "429", "worker", "1"],
    ] {
      _ = try connection.command(["XADD", rests, "*"] + fields)
    }
    try await worker.wait(for: "the only good one") { !$0.rests.isEmpty }
    #expect(worker.state.rests.map(\.origin) == ["https://b"])
    #expect(worker.state.rests[0].duration <= .seconds(10 * 365 * 86_400))
    // A key of another kind is as if Redis were away, but that it is told.
    _ = try connection.command(["SADD", PolitenessKeys(fixture.place.name).rate("https://a"), "x"])
    worker.politeness.reserve([StartReservation(origin: "https://a", count: 1, intervalNanoseconds: 1)])
    try await worker.wait(for: "the loss, and the return") { $0.away.count == 1 && $0.returns == 1 }
    #expect(try await worker.reserve(1, at: "https://b", milliseconds: 20).count == 1)
    worker.politeness.reserve([StartReservation(origin: "https://a", count: 1, intervalNanoseconds: 1)])
    try await worker.wait(for: "the next loss, and the return") { $0.away.count == 2 && $0.returns == 2 }
    #expect(worker.state.refusals.count == 1 && worker.state.refusals[0].contains("choose another name"))
  }

  @Test("D1: who asks while Redis is away is told so, whoever was told before")
  func askedWhileAway() async throws {
    let fixture = try await QueueFixture()
    try await fixture.server.kill()
    let worker = try PoliteWorker(fixture.place)
    try await worker.wait(for: "the loss") { $0.away == [1] }
    worker.politeness.reserve([StartReservation(origin: "https://a", count: 1, intervalNanoseconds: 1)])
    try await worker.wait(for: "the answer") { $0.away == [1, 1] }
  }

  @Test("D1: a refusal is told once, with the number of workers, and is over once it is allowed")
  func refusal() async throws {
    let all = "user default on nopass ~* &* +@all"
    // One may not even say that it is there.
    let server = try await RedisServer(users: [
      all, "user weak on >secret ~* +@all -incr -set -zrem", "user weaker on >secret ~* +@all -zadd",
    ])
    let place = QueuePlace(try RedisAddress(server.url), name: .standard)
    let boss = try RedisConnection(place.address)
    let strong = try PoliteWorker(place)
    _ = try await strong.reserve(1, milliseconds: 20)
    for name in ["weak", "weaker"] {
      let address = try RedisAddress("redis://\(name):secret@\(server.host)")
      let worker = try PoliteWorker(QueuePlace(address, name: .standard), options: .undeterred)
      // Asked again and again, and answered each time.
      for count in 1...5 {
        worker.politeness.reserve([StartReservation(origin: "https://a", count: 1, intervalNanoseconds: 1)])
        try await worker.wait(for: "the answer") { $0.away.count >= count }
      }
      try await worker.wait(for: "the refusal") { !$0.refusals.isEmpty }
      #expect(worker.state.refusals.count == 1 && worker.state.workersAtRefusal == [2])
      let why = try #require(worker.state.refusals.first)
      #expect(why.contains("ACL") && !why.contains("secret") && why.contains(server.host), "\(why)")
      #expect(worker.state.away.last == 2)
      #expect(worker.state.starts.isEmpty)
      _ = try boss.command(["ACL", "SETUSER", RedisArgument(name), "+@all"])
      try await worker.wait(for: "the return") { !$0.isAway }
      #expect(try await worker.reserve(1, at: "https://\(name)", milliseconds: 20).count == 1)
      // It is no worker any more, so that the next is counted as well as this one was.
      worker.politeness.stop()
    }
  }

  @Test("D1: where Redis admits no more clients, that is told once")
  func oneClientTooMany() async throws {
    let server = try await RedisServer(settings: ["--maxclients", "1"])
    let place = QueuePlace(try RedisAddress(server.url), name: .standard)
    let other = try RedisConnection(place.address)
    let worker = try PoliteWorker(place)
    try await worker.wait(for: "the refusal") { !$0.refusals.isEmpty }
    #expect(worker.state.refusals[0].contains("raise its maxclients") && worker.state.away == [1])
    for count in 2...4 {
      worker.politeness.reserve([StartReservation(origin: "https://a", count: 1, intervalNanoseconds: 1)])
      try await worker.wait(for: "the answer") { $0.away.count >= count }
    }
    _ = try other.command(["CONFIG", "SET", "maxclients", "10"])
    try await worker.wait(for: "the return") { $0.returns == 1 }
    #expect(worker.state.refusals.count == 1)
  }
}

extension SharedPoliteness.Options {
  /// Asks again at once where Redis refused something.
  fileprivate static var undeterred: SharedPoliteness.Options {
    var options = SharedPoliteness.Options()
    options.refusedInterval = .milliseconds(1)
    return options
  }
}
