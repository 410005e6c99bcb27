import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Pauses from outside, and the observer of pauses, over real sockets and with a manual clock.
struct OutsidePauseTests {
  /// A downloader's run with the pauses that its observer was notified of.
  private func observedRun() throws -> (run: ManualRun, pauses: Watched<[HostPauseRequest]>) {
    let (run, pauses) = (try ManualRun(), Watched<[HostPauseRequest]>([]))
    run.fetcher.downloader.observePauses { pause in pauses.withLock { $0.append(pause) } }
    return (run, pauses)
  }

  @Test func `the observer is notified of a pause that a host requests, but not of one from outside`() async throws {
    let (run, pauses) = try observedRun()
    let origin = try Origin(
      ["/0": .sequence([.status(429, headers: ["Retry-After": "7"]), .body([1])])],
      fallback: .body([1]),
      addresses: [.ipv4, .ipv4]
    )
    let (one, other) = (origin.url("", host: 0), origin.url("", host: 1))
    run.fetcher.downloader.pause(other, for: .seconds(9), status: 503)
    run.fetcher.downloader.pause("no origin", for: .seconds(9), status: 503)
    run.fetcher.submit([origin.url("/0"), origin.url("/1", host: 1)])
    try await run.settle()
    #expect(pauses.value == [HostPauseRequest(origin: one, duration: .seconds(7), status: 429)])
    #expect(origin.requests.count == 1)
    #expect(Set(run.fetcher.downloader.statistics.pausedHosts.map(\.status)) == [429, 503])
    try await run.advance(by: .seconds(7))
    #expect(run.ends.map(\.id) == [1])
    try await run.advance(by: .milliseconds(1_999))
    #expect(run.ends.count == 1)
    try await run.advance(by: .milliseconds(1))
    #expect(run.ends.count == 2)
    #expect(pauses.value.count == 1)
  }

  @Test func `pauses from outside count for the wait limits of waiting and later downloads, like the host's own`() async throws {
    let (run, pauses) = try observedRun()
    let origin = try Origin(fallback: .body([1]))
    run.fetcher.downloader.setLimits(DownloadLimits(perHostRate: 0.001))
    run.fetcher.submit((0..<2).map { origin.url("/\($0)") }, options: .forTests(retryAfterMaximum: .seconds(10)))
    try await run.settle()
    #expect(run.ends.count == 1)
    run.fetcher.downloader.pause(origin.base, for: .seconds(11), status: 429)
    try await run.settle()
    run.fetcher.client.submit([
      Download(id: 3, requestURL: Array(origin.url("/3").utf8), options: .forTests(retryAfterMaximum: .seconds(10)))
    ])
    try await run.settle()
    #expect(run.ends.dropFirst().map(\.failure?.status) == [429, 429])
    for end in run.ends.dropFirst() { expectGolden(end.failure?.message) }
    #expect(origin.requests.count == 1 && pauses.value.isEmpty)
  }

  @Test func `an observer is released when another is set, and with the downloader`() async throws {
    final class Observer: Sendable {}
    let run = try ManualRun()
    weak var first: Observer?
    weak var second: Observer?
    do {
      let (one, other) = (Observer(), Observer())
      (first, second) = (one, other)
      run.fetcher.downloader.observePauses { _ in _ = one }
      run.fetcher.downloader.observePauses { _ in _ = other }
    }
    try await run.settle()
    #expect(first == nil && second != nil)
    await run.fetcher.downloader.shutDown()
    #expect(second == nil)
  }
}
