import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// The adaptive limit, with simulated responses.
struct AdaptiveLimitTests {
  /// Simulates rounds of as many requests as are allowed, each with the latency for that many at once; as one ends, the next begins.
  private func run(_ limit: inout AdaptiveLimit, rounds: Int, upTo maximum: Int = 64, latency: (Int) -> Double) -> [Int] {
    (0..<rounds).map { _ in
      let running = limit.transfers
      for _ in 0..<running {
        limit.succeed(latencyNanoseconds: UInt64(latency(running) * 1e6), running: limit.transfers, upTo: maximum)
      }
      return limit.transfers
    }
  }

  @Test func `a host that responds well gets more, up to its limit`() {
    var limit = AdaptiveLimit()
    let found = run(&limit, rounds: 20, upTo: 24) { _ in 20 }
    #expect(found[0] == 4 && found.last == 24 && found == found.sorted())
  }

  @Test func `an unused limit doesn't grow`() {
    var limit = AdaptiveLimit()
    for _ in 0..<100 { limit.succeed(latencyNanoseconds: 1_000_000, running: 1, upTo: 64) }
    #expect(limit.transfers == 2)
  }

  @Test func `a failure halves the limit once for all running requests, and it then grows by one per round`() {
    var limit = AdaptiveLimit()
    _ = run(&limit, rounds: 3) { _ in 20 }
    #expect(limit.transfers == 16)
    for _ in 0..<16 { limit.fail(running: 16) }
    #expect(limit.transfers == 8)
    #expect(run(&limit, rounds: 3) { _ in 20 } == [8, 9, 10])
  }

  @Test func `the limit never falls below one and recovers from temporary failures`() {
    var limit = AdaptiveLimit()
    for _ in 0..<10 { limit.fail(running: 1) }
    #expect(limit.transfers == 1)
    #expect(run(&limit, rounds: 10) { _ in 20 }.last! > 3)
  }

  @Test func `if latency rises with concurrency, the limit stays near the host's capacity`() {
    // Eight at once take 20 ms; more of them queue.
    var limit = AdaptiveLimit()
    let found = run(&limit, rounds: 400) { 20 * max(1, Double($0) / 8) }
    #expect(found.dropFirst(10).allSatisfy { (6...30).contains($0) })
  }

  @Test func `a host that is slow by itself isn't treated as overloaded forever`() {
    var limit = AdaptiveLimit()
    _ = run(&limit, rounds: 10, upTo: 8) { _ in 20 }
    let found = run(&limit, rounds: 200, upTo: 8) { _ in 500 }
    #expect(found.contains(1) && found.last == 8)
  }
}

/// The adaptive limit over real sockets.
struct AdaptiveTests {
  @Test func `with an origin that allows three at once, nearly all requests fit, and the host limit is never exceeded`()
    async throws
  {
    let gate = Gate()
    let origin = try Origin(fallback: .computed { _ in gate.waiting >= 3 ? .status(503) : .held(gate, then: .body([1])) })
    let fetcher = try Fetcher(concurrency: 64, perHost: 64)
    try fetcher.downloader.setLimits(DownloadLimits(concurrency: 64, perHost: 12, isAdaptive: true))
    fetcher.submit((0..<300).map { origin.url("/\($0)") }, options: .forTests(retries: 100_000))
    for _ in 0..<300 {
      try await gate.waitForWaiting(1)
      gate.step()
    }
    let ends = try await fetcher.recorder.waitForEnds(300)
    #expect(ends.allSatisfy { $0.image != nil })
    // With a limit of 12 the origin would reject nine at a time, permanently.
    #expect(origin.requests.count < 600 && origin.peakInFlight <= 12)
  }
}
