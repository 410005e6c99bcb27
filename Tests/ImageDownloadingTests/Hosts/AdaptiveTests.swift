import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// The adaptive limit over real sockets.
struct AdaptiveTests {
  @Test func `with an origin that allows three at once, nearly all requests fit, and the host limit is never exceeded`()
    async throws
  {
    let gate = Gate()
    let origin = try Origin(fallback: .computed { _ in gate.waiting >= 3 ? .status(503) : .held(gate, then: .body([1])) })
    let fetcher = try Fetcher(concurrency: 64, perHost: 64)
    fetcher.downloader.setLimits(DownloadLimits(concurrency: 64, perHost: 12, isAdaptive: true))
    fetcher.submit((0..<300).map { origin.url("/\($0)") }, options: .forTests(retries: 100_000))
    for _ in 0..<300 {
      try await gate.waitForWaiting(1)
      gate.step()
    }
    let ends = try await fetcher.recorder.waitForEnds(300)
    #expect(ends.allSatisfy { $0.image != nil })
    // With a limit of 12 the origin would reject nine at a time, permanently.
    #expect(origin.requests.count < 600)
    #expect(origin.peakInFlight <= 12)
  }
}
