import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

@Suite struct QueueFollowerTests {
  @Test("a reported queue has no results") func aReportedQueueHoldsNoResults() async throws {
    let fixture = try await QueueFixture()
    try await TestConsumer(try fixture.fill(TestEntry.many(192))).drain()
    let follower = QueueFollower(fixture.location)
    #expect(try follower.results().count == 3 && follower.progress()?.isReported == false)
    // It hasn't opened a filling yet.
    try follower.markReported()
    #expect(try follower.results().count == 3 && follower.progress()?.isReported == false)
    _ = try follower.open()
    try follower.markReported()
    #expect(try follower.results().isEmpty && follower.progress()?.isReported == true)
    #expect(try follower.progress()?.finalEntries == 192)
  }

  @Test("a report on an earlier filling leaves the next alone") func aReportOnAnEarlierFillingLeavesTheNextAlone() async throws {
    let fixture = try await QueueFixture()
    let first = try fixture.fill(TestEntry.many(64))
    let follower = QueueFollower(fixture.location)
    #expect(try follower.open() == first)
    try QueueFollower(fixture.location).delete()
    try follower.markReported()
    #expect(try fixture.connection().command(["DBSIZE"]) == .integer(0))
    try await TestConsumer(try fixture.fill(TestEntry.many(128))).drain()
    try follower.markReported()
    #expect(try follower.results().count == 2 && follower.progress()?.isReported == false)
  }

  @Test("the status counts waiting, held and finished entries, by worker") func statusCountsEntries() async throws {
    let fixture = try await QueueFixture()
    #expect(try QueueFollower(fixture.location).status() == nil)
    let queue = try fixture.fill(TestEntry.many(192))
    let consumer = try TestConsumer(queue)
    try await consumer.take(64, messages: 1)
    let held = try #require(try QueueFollower(fixture.location).status())
    #expect(held.progress.written.entries == 192 && held.progress.finalEntries == 0)
    #expect(held.heldEntries == 64 && held.waitingEntries == 128)
    #expect(held.workers.count == 1 && held.workers[0].heldEntries == 64)
    try await consumer.drain()
    let keys = RateKeys(fixture.location.name)
    let connection = try fixture.connection()
    var worker = try ScriptedWorker("worker", fixture)
    try worker.beat(lease: 6000, returning: 6000)
    for milliseconds in [1, 60_000] {
      _ = try connection.run(
        MembershipScripts.pause,
        keys: [keys.pause("https://a\(milliseconds)"), keys.pauses],
        [RedisArgument(milliseconds), 429, "worker", RedisArgument("https://a\(milliseconds)")]
      )
    }
    let done = try #require(try QueueFollower(fixture.location).status())
    #expect(done.progress.isDrained && done.heldEntries == 0 && done.waitingEntries == 0 && done.progress.finalEntries == 192)
    #expect(done.pauses.last?.origin == "https://a60000" && done.pauses.last?.status == 429)
    #expect((.zero...Duration.seconds(60)).contains(done.pauses.last?.left ?? .zero))
  }

  @Test("the queues of a server are listed by name") func queuesAreListed() async throws {
    let fixture = try await QueueFixture()
    #expect(try QueueFollower.names(at: fixture.location.address).isEmpty)
    _ = try fixture.fill(TestEntry.many(1))
    let other = QueueLocation(fixture.location.address, name: .standard)
    _ = try QueueWriter(other) { _ in true }.begin(.test)
    _ = try fixture.connection().command(["SET", "{prewarm:no name}:job", "x"])
    #expect(try QueueFollower.names(at: fixture.location.address).map(\.description) == ["default", "test"])
  }

  @Test("only the given filling is deleted") func onlyTheFillingThatIsMeantIsDeleted() async throws {
    let fixture = try await QueueFixture()
    let first = try fixture.fill(TestEntry.many(64))
    let follower = QueueFollower(fixture.location)
    try follower.delete(first)
    #expect(try fixture.connection().command(["DBSIZE"]) == .integer(0))
    let second = try fixture.fill(TestEntry.many(128))
    try follower.delete(first)
    #expect(try follower.open() == second && follower.progress()?.openMessages == 2)
    try follower.delete()
    #expect(try follower.open() == nil)
  }

  @Test("shared rates outlive the queue")
  func ratesOutlastTheQueue() async throws {
    let fixture = try await QueueFixture()
    let queue = try fixture.fill(TestEntry.many(64))
    let keys = RateKeys(fixture.location.name)
    let connection = try fixture.connection()
    var worker = try ScriptedWorker("worker", fixture)
    try worker.beat(lease: 6000, returning: 6000)
    _ = try connection.run(
      MembershipScripts.pause,
      keys: [keys.pause("https://a"), keys.pauses],
      [60_000, 429, "worker", "https://a"]
    )
    try QueueFollower(fixture.location).delete(queue)
    try QueueFollower(fixture.location).delete()
    #expect(try connection.command(["DBSIZE"]) == .integer(3))
    for (key, milliseconds) in [(keys.members, 3_600_000 as Int64), (keys.pauses, 60_000), (keys.pause("https://a"), 60_000)] {
      #expect((1...milliseconds).contains(try connection.command(["PTTL", key]).integer ?? 0))
    }
  }
}
