import ImagePrimitives
import RedisClient
import TestSupport
import Testing

@testable import WorkQueues

@Suite struct QueueRunTests {
  @Test("all entries are delivered once, and the queue is drained") func allEntriesComeOutOnceAndTheQueueIsDrained() async throws
  {
    let fixture = try await QueueFixture()
    let entries = TestEntry.many(1000, hosts: 7)
    let queue = try fixture.fill(entries)
    #expect(queue.job == .test)
    try await TestConsumer(queue).drain()
    let follower = QueueFollower(fixture.location)
    #expect(try follower.resultURLs().sorted() == entries.map(\.url).sorted())
    let progress = try #require(try follower.progress())
    #expect(progress.isDrained && progress.finalEntries == 1000 && progress.written.entries == 1000)
    #expect(progress.counts[Int(LoadOutcome.downloaded.rawValue)] == 1000 && progress.counts.reduce(0, +) == 1000)
    #expect(progress.openMessages == 0 && progress.heldMessages == 0)
  }
}
