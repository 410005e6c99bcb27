import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Retries: which failures, how often, and how they wait.
struct RetryTests {
  @Test(arguments: [0, 1, 3]) func `a transient failure is retried as often as allowed`(count: Int) async throws {
    let (end, requests) = try await fetch(.status(503), .forTests(retries: count))
    #expect(end.failure?.status == 503)
    #expect(end.summary.attempts == count + 1)
    #expect(requests.count == count + 1)
  }

  @Test func `a download succeeds if a retry does`() async throws {
    let end = try await fetch(.sequence([.status(500), .cut(afterBytes: 1, declared: 2), .body([1])]), .forTests(retries: 2)).end
    #expect(end.image?.body == [1])
    #expect(end.summary.attempts == 3)
  }

  @Test func `permanent failures are not retried`() async throws {
    let origin = try Origin(["/a": .status(404), "/b": .redirect(to: "/b"), "/c": .body(pattern(100))])
    for path in ["/a", "/b", "/c"] {
      let end = try await Fetcher().fetch(origin.url(path), options: .forTests(retries: 3, maxBytes: 10))
      #expect(end.failure != nil)
      #expect(end.summary.attempts == 1)
    }
  }

  @Test func `a retry after a redirect starts from the original URL`() async throws {
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": .sequence([.status(503), .body([1])])])
    let end = try await Fetcher().fetch(origin.url("/a"), options: .forTests(retries: 1))
    #expect(end.image != nil)
    #expect(origin.requests.map(\.path) == ["/a", "/b", "/a", "/b"])
  }

  @Test func `a stopped run finishes transfers and retries nothing`() async throws {
    let origin = try Origin(["/a": .status(503)])
    let gate = origin.holdAll()
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/a")], options: .forTests(retries: 5))
    try await gate.waitForWaiting(1)
    fetcher.client.cancel([1, 1], includingRunning: false)
    try await fetcher.settle()
    gate.open()
    try await fetcher.recorder.waitForEnd(of: 1)
    #expect(fetcher.recorder.ends.last?.failure?.status == 503)
    #expect(origin.requests.count == 1)
  }

  @Test func `a waiting retry holds no transfer slot and waits for its backoff`() async throws {
    let clock = ManualClock()
    let origin = try Origin(["/a": .sequence([.status(500), .body([1])])], fallback: .body([2]))
    let fetcher = try Fetcher(concurrency: 1, time: clock.source)
    let backoff = Backoff(initial: .seconds(20), maximum: .seconds(20))
    fetcher.submit([origin.url("/a"), origin.url("/b")], options: .forTests(retries: 1, backoff: backoff))
    try await fetcher.recorder.waitForEnd(of: 2)
    try await fetcher.settle()
    #expect(origin.count(of: "/a") == 1)
    #expect(fetcher.downloader.statistics.waiting == 1)
    clock.advance(by: .seconds(20))
    fetcher.client.capacityChanged()
    try await fetcher.recorder.waitForEnd(of: 1)
    let summary = fetcher.recorder.ends.last?.summary
    #expect(summary?.attempts == 2)
    #expect(summary?.waitedNanoseconds == 20_000_000_000)
    // The duration excludes waits.
    #expect((summary?.durationNanoseconds ?? .max) < 20_000_000_000)
  }

  @Test func `a waiting retry can be cancelled`() async throws {
    let origin = try Origin(["/a": .status(503)])
    let fetcher = try Fetcher(time: ManualClock().source)
    let backoff = Backoff(initial: .seconds(20), maximum: .seconds(20))
    fetcher.submit([origin.url("/a")], options: .forTests(retries: 1, backoff: backoff))
    try await origin.waitForRequests(1)
    try await origin.waitForInFlight(0)
    fetcher.downloader.cancelAll(includingRunning: true)
    let end = try await fetcher.recorder.waitForEnds(1)[0]
    #expect(end.isCancelled)
    #expect(end.summary.attempts == 1)
  }

  @Test func `the default jitter draws from zero to the limit`() {
    let draws = (0..<1000).map { _ in ImageDownloader.Configuration().jitter(.seconds(1)) }
    #expect(draws.allSatisfy { $0 >= .zero && $0 <= .seconds(1) })
    #expect(draws.contains { $0 < .milliseconds(100) } && draws.contains { $0 > .milliseconds(900) })
  }
}
