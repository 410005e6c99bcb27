import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

/// Data that other programs write into Redis, and operations that Redis refuses.
@Suite struct ForeignInputTests {
  @Test("garbage in a stream is reported and delays nothing") func garbageInAStreamIsHandedOutAndHoldsNothingUp() async throws {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(128)
    let queue = try fixture.fill(entries)
    let connection = try fixture.connection()
    let stream = fixture.keys.stream(QueueStream(priority: .normal, isRetry: false))
    let retries = fixture.keys.stream(QueueStream(priority: .normal, isRetry: true))
    _ = try connection.command(["XADD", stream, "*", "m", "garbage"])
    _ = try connection.command(["XADD", stream, "*", "other", "field", "m2", ""])
    _ = try connection.command(["XADD", stream, "*", "m", RedisArgument([UInt8](repeating: 1, count: 5 << 20))])
    _ = try connection.command(["XADD", retries, "*", "m", "", "d", "-99999999999999999999"])
    let worker = try TestConsumer(queue)
    try await worker.take(1000, messages: 6)
    #expect(worker.messages.filter { $0.error != nil && $0.entries.isEmpty }.count == 4)
    for message in worker.messages { worker.acknowledge(message) }
    try await worker.wait(for: "the end") { $0.condition == .drained }
    let progress = try #require(try QueueFollower(fixture.location).progress())
    #expect(progress.undecodableMessages == 4 && progress.finalEntries == 128)
    #expect(try QueueFollower(fixture.location).resultURLs() == entries.map(\.url))
  }

  @Test("impossible counts of deliveries don't overflow", arguments: [.min, -1, 1 << 62, .max] as [Int64])
  func impossibleDeliveries(count: Int64) throws {
    let fields = RedisReply.array([.bytes(Array("d".utf8)), .integer(.max), .bytes(Array("m".utf8)), .bytes([])])
    let reply = RedisReply.array([.integer(0), .bytes(Array("1-1".utf8)), .integer(count), fields])
    let delivered = try #require(DeliveredMessage(reply))
    // A worker that gives it back in single entries takes one off.
    #expect(delivered.deliveries - 1 >= -1)
    #expect(delivered.read(maximumDeliveries: 10).isGivenUp)
  }

  @Test("all keys share one hash tag") func allKeysHoldOneHashTag() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(10))
    let worker = try TestConsumer(queue)
    try await worker.take(10, messages: 1)
    var settlement = Settlement(of: worker.messages[0], results: [[1]], counts: [1])
    settlement.badURLs = [(Array("u".utf8).withUnsafeBytes { BadURLKey(url: $0, variant: 0) }, [1])]
    worker.consumer.acknowledge(settlement)
    try await worker.wait(for: "the end") { $0.condition == .drained }
    let connection = try fixture.connection()
    let keys = try #require(try connection.command(["KEYS", "*"]).array)
    #expect(keys.count >= 13 && keys.allSatisfy { $0.text?.hasPrefix("{prewarm:test}:") == true })
    try QueueFollower(fixture.location).delete()
    #expect(try connection.command(["DBSIZE"]) == .integer(0))
  }

  @Test("a key of another type changes nothing") func aKeyOfAnotherTypeLeavesEverythingAsItWas() async throws {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(10)))
    try await worker.take(10, messages: 1)
    let connection = try fixture.connection()
    _ = try connection.command(["SET", fixture.keys.blacklist, "something else"])
    var settlement = Settlement(of: worker.messages[0], results: [[1]], counts: [1])
    settlement.goodURLs = [Array("u".utf8).withUnsafeBytes { BadURLKey(url: $0, variant: 0) }]
    worker.consumer.acknowledge(settlement)
    try await worker.wait(for: "the refusal") {
      if case .refused(let why) = $0.condition { why.contains("WRONGTYPE") } else { false }
    }
    #expect(try connection.command(["EXISTS", fixture.keys.totals, fixture.keys.results]) == .integer(0))
    #expect(try fixture.pending(worker.messages[0].id).count == 4)
  }

  @Test("totals that aren't numbers change nothing") func totalsThatAreNoNumbersLeaveEverythingAsItWas() async throws {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(10)))
    try await worker.take(10, messages: 1)
    _ = try fixture.connection().command(["HSET", fixture.keys.totals, "2", "many"])
    worker.acknowledge(worker.messages[0])
    try await worker.wait(for: "the refusal") { if case .refused = $0.condition { true } else { false } }
    #expect(try fixture.connection().command(["EXISTS", fixture.keys.results]) == .integer(0))
    #expect(try fixture.pending(worker.messages[0].id).count == 4)
  }

  @Test("a worker of an earlier filling settles nothing in the next") func aWorkerOfAnEarlierFillingSettlesNothingInTheNext()
    async throws
  {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(64)))
    try await worker.take(64, messages: 1)
    try QueueFollower(fixture.location).delete()
    let other = try TestConsumer(try fixture.fill(TestEntry.many(64)))
    try await other.take(64, messages: 1)
    #expect(other.messages[0].id == worker.messages[0].id)
    worker.acknowledge(worker.messages[0])
    try await worker.wait(for: "its end") { $0.condition == .replaced(isUndone: true) }
    #expect(try fixture.pending(other.messages[0].id).count == 4)
    #expect(try QueueFollower(fixture.location).progress()?.finalEntries == 0)
  }

  @Test("a wrong password and a missing permission are final") func aWrongPasswordAndALackingPermissionAreFinal() async throws {
    let server = try await RedisServer(users: [
      "user default off", "user weak on >secret ~* +@all -xreadgroup", "user strong on >secret ~* &* +@all",
    ])
    let name = QueueName.standard
    let strong = QueueLocation(try RedisAddress("redis://strong:secret@\(server.host)"), name: name)
    let writer = QueueWriter(strong) { _ in true }
    _ = try writer.begin(.test)
    try writer.append(TestEntry(url: "http://h/1"))
    _ = try writer.seal()
    let queue = try #require(try QueueFollower(strong).open())
    for (login, expected) in [("strong:wrong", "password"), ("weak:secret", "ACL")] {
      let location = QueueLocation(try RedisAddress("redis://\(login)@\(server.host)"), name: name)
      let worker = try TestConsumer(OpenQueue(location: location, job: queue.job, filling: queue.filling))
      worker.consumer.take(maximumEntries: 1)
      try await worker.wait(for: "the refusal") {
        if case .refused(let why) = $0.condition {
          why.contains(expected) && !why.contains("secret") && !why.contains("weak")
        } else {
          false
        }
      }
    }
  }

  @Test("a job from another source is unreadable") func aJobOfAnotherMakingIsUnreadable() async throws {
    let fixture = try await QueueFixture()
    #expect(try QueueFollower(fixture.location).open() == nil)
    #expect(try QueueFollower(fixture.location).progress() == nil)
    let connection = try fixture.connection()
    _ = try connection.command(["HSET", fixture.keys.job, "digest", "x", "variants", "100000000"])
    #expect(throws: QueueError.self) { try QueueFollower(fixture.location).open() }
    _ = try connection.command(["DEL", fixture.keys.job])
    _ = try connection.command(["SET", fixture.keys.job, "x"])
    #expect(throws: QueueError.self) { try QueueFollower(fixture.location).open() }
  }

  @Test("a job from another version is unreadable", arguments: ["9007199254740993", "-9223372036854775808", "1e3"])
  func aJobOfAnotherAgeIsUnreadable(created: String) async throws {
    let fixture = try await QueueFixture()
    _ = try fixture.fill(TestEntry.many(1))
    _ = try fixture.connection().command(["HSET", fixture.keys.job, "created", RedisArgument(created)])
    #expect(throws: QueueError.self) { try QueueFollower(fixture.location).open() }
  }

  @Test("huge counts never overflow") func countsBeyondAllBoundsOverflowNowhere() async throws {
    let fixture = try await QueueFixture()
    _ = try fixture.fill(TestEntry.many(1))
    let connection = try fixture.connection()
    _ = try connection.command(["HSET", fixture.keys.job, "entries", "9223372036854775807", "written", "9223372036854775807"])
    _ = try connection.command(["HSET", fixture.keys.totals, "entries", "9223372036854775807", "0", "9223372036854775807"])
    let progress = try #require(try QueueFollower(fixture.location).progress())
    #expect(progress.written == QueueSize(entries: 1 << 40, messages: 1 << 40))
    #expect(progress.finalEntries == 1 << 40 && progress.counts[0] == 1 << 40)
    #expect(throws: QueueError.self) { try fixture.writer().begin(.test) }
  }

  @Test("an unreadable blacklist delays nothing") func aBlacklistThatCannotBeReadHoldsNothingUp() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(128))
    let connection = try fixture.connection()
    _ = try connection.command(["SET", fixture.keys.blacklist, "something else"])
    let worker = try TestConsumer(queue)
    try await worker.take(128, messages: 2)
    #expect(worker.messages.allSatisfy { $0.knownBad.isEmpty && $0.entries.count == 64 })
    try await worker.wait(for: "the end of the turn") { $0.condition == .working }
    _ = try connection.command(["DEL", fixture.keys.blacklist])
    for message in worker.messages { worker.acknowledge(message) }
    try await worker.wait(for: "the end") { $0.condition == .drained }
  }

  @Test("foreign results are shown as such") func resultsOfStrangersAreShownAsSuch() async throws {
    let fixture = try await QueueFixture()
    let worker = try TestConsumer(try fixture.fill(TestEntry.many(64 * 3)))
    _ = try fixture.connection().command(["XADD", fixture.keys.results, "*", "foo", "bar"])
    try await worker.drain()
    let follower = QueueFollower(fixture.location)
    let all = try follower.results()
    #expect(all.map { $0.payload == nil } == [true, false, false, false])
    #expect(try follower.results(after: all[1].id, maximum: 1) == [all[2]])
  }

  @Test("queue names are plain", arguments: ["a", "A-b_c.9", String(repeating: "x", count: 64)])
  func namesArePlain(name: String) { #expect(QueueName(name)?.description == name) }

  @Test("other names are rejected", arguments: ["", "a b", "a:b", "{a}", "ä", String(repeating: "x", count: 65), "a/b", "a\n"])
  func otherNamesAreNone(name: String) { #expect(QueueName(name) == nil) }
}
