import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Rates over real sockets, with a manual clock.
struct RateTests {
  @Test func `a rate counts every request, including retries and redirect hops`() async throws {
    let run = try ManualRun()
    let origin = try Origin(["/0": .redirect(to: "/hop"), "/1": .sequence([.status(500), .body([1])])], fallback: .body([1]))
    run.fetcher.downloader.setLimits(DownloadLimits(rate: 10))
    run.fetcher.submit((0..<3).map { origin.url("/\($0)") }, options: .forTests(retries: 1))
    try await run.settle()
    for count in 1..<5 {
      #expect(origin.requests.count == count)
      try await run.advance(by: .milliseconds(99))
      #expect(origin.requests.count == count)
      try await run.advance(by: .milliseconds(1))
    }
    #expect(origin.requests.map(\.path) == ["/0", "/hop", "/1", "/1", "/2"])
    #expect(run.ends.count { $0.image != nil } == 3)
    let times = run.fetcher.downloader.pipeline.times
    #expect(times[.rate] == 400_000_000 && times[.pause] == 0 && times[.hosts] == 0)
  }

  @Test func `each host keeps its per-host rate, even after idle time`() async throws {
    let run = try ManualRun()
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    run.fetcher.downloader.setLimits(DownloadLimits(perHostRate: 1))
    run.fetcher.submit((0..<4).map { origin.url("/\($0)", host: $0 % 2) })
    try await run.settle()
    #expect(origin.requests.count == 2)
    try await run.advance(by: .seconds(1))
    #expect(run.ends.count == 4)
    // All hosts have used their start; the next requests must wait nevertheless.
    run.fetcher.client.submit([Download(9, origin.url("/9"))])
    try await run.advance(by: .milliseconds(999))
    #expect(run.ends.count == 4)
    try await run.advance(by: .milliseconds(1))
    #expect(run.ends.count == 5)
  }

  @Test func `a rate can be removed while downloads wait for it`() async throws {
    let run = try ManualRun()
    let origin = try Origin(fallback: .body([1]))
    run.fetcher.downloader.setLimits(DownloadLimits(rate: 0.001, perHostRate: 0.001))
    run.fetcher.submit((0..<5).map { origin.url("/\($0)") })
    try await run.settle()
    #expect(origin.requests.count == 1)
    run.fetcher.downloader.setLimits(DownloadLimits())
    try await run.settle()
    #expect(run.ends.count == 5)
  }

  @Test func `a rate is never exceeded on the system clock`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher()
    fetcher.downloader.setLimits(DownloadLimits(rate: 200))
    // Taken before the first start, so that a busy machine can only measure more than the actual time.
    let begin = ContinuousClock.now
    fetcher.submit((0..<41).map { origin.url("/\($0)") })
    _ = try await fetcher.recorder.waitForEnds(41)
    // Forty intervals minus one tolerance.
    #expect(ContinuousClock.now - begin >= .milliseconds(195))
  }

  @Test(arguments: [0, -1, Double.nan]) func `a rate that isn't above zero traps`(rate: Double) async {
    switch rate {
    case 0: await #expect(processExitsWith: .failure) { try ImageDownloader().setLimits(DownloadLimits(rate: 0)) }
    case -1: await #expect(processExitsWith: .failure) { try ImageDownloader().setLimits(DownloadLimits(perHostRate: -1)) }
    default: await #expect(processExitsWith: .failure) { try ImageDownloader().setLimits(DownloadLimits(rate: .nan)) }
    }
  }
}
