import ImageDownloading
import ImagePrimitives
import TestOrigin
import TestSupport
import Testing

/// Downloaders whose starts are granted from outside, over real sockets and by a manual clock.
struct GrantTests {
  /// An authority that does what a test tells it.
  private final class Authority: StartGranting {
    struct Rest: Hashable {
      var origin: String
      var duration: Duration
      var status: Int
    }
    struct State {
      var requests: [StartRequest] = []
      var rests: [Rest] = []
    }
    let state = Watched(State())

    func requestStarts(_ requests: [StartRequest]) { state.withLock { $0.requests += requests } }

    func noteRest(of origin: String, for duration: Duration, status: Int) {
      state.withLock { $0.rests.append(Rest(origin: origin, duration: duration, status: status)) }
    }

    /// Takes what was asked for.
    func takeRequests() -> [StartRequest] {
      state.withLock { state in
        defer { state.requests = [] }
        return state.requests
      }
    }
  }

  private func request(_ origin: String, _ count: Int = 1, milliseconds: UInt64) -> StartRequest {
    StartRequest(origin: origin, count: count, intervalNanoseconds: milliseconds * 1_000_000)
  }

  /// Grants what was asked for, from now on.
  private func answer(_ authority: Authority, _ run: ManualRun) async throws {
    let now = run.clock.source.monotonic()
    run.fetcher.downloader.grantStarts(
      authority.takeRequests().map {
        StartGrant(origin: $0.origin, count: $0.count, first: now, intervalNanoseconds: $0.intervalNanoseconds)
      }
    )
    try await run.settle()
  }

  @Test("D1: every request needs a grant: retries, redirect hops and robots.txt too")
  func everyRequest() async throws {
    let (run, authority) = (try ManualRun(), Authority())
    let origin = try Origin(["/0": .redirect(to: "/hop"), "/1": .sequence([.status(500), .body([1])])], fallback: .body([1]))
    origin.set("/robots.txt", .status(404))
    run.fetcher.downloader.setLimits(DownloadLimits(perHostRate: 10), grantedBy: authority)
    run.fetcher.submit((0..<2).map { origin.url("/\($0)") }, options: .forTests(retries: 1, respectsRobots: true))
    try await run.settle()
    for count in 0..<5 {
      #expect(origin.requests.count == count)
      #expect(authority.state.value.requests == [request(origin.base, milliseconds: 100)])
      try await run.advance(by: .milliseconds(100))
      #expect(origin.requests.count == count)
      try await answer(authority, run)
    }
    #expect(origin.requests.map(\.path) == ["/robots.txt", "/0", "/hop", "/1", "/1"])
    #expect(run.ends.count { $0.image != nil } == 2)
    #expect(authority.takeRequests() == [])
  }

  @Test("D1: each host and the rate over all are asked for apart; a grant begins at its moment")
  func moments() async throws {
    let (run, authority) = (try ManualRun(), Authority())
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    run.fetcher.downloader.setLimits(DownloadLimits(rate: 100), grantedBy: authority)
    run.fetcher.submit((0..<4).map { origin.url("/\($0)", host: $0 % 2) })
    try await run.settle()
    #expect(authority.takeRequests() == [request("", 4, milliseconds: 10)])
    let first = run.clock.source.monotonic().advanced(by: .seconds(5))
    let downloader = run.fetcher.downloader
    downloader.grantStarts([StartGrant(origin: "", count: 1, first: first, intervalNanoseconds: 0)])
    try await run.advance(by: .milliseconds(4_999))
    #expect(origin.requests.count == 0)
    try await run.advance(by: .milliseconds(1))
    #expect(origin.requests.count == 1)
    _ = authority.takeRequests()
    downloader.setLimits(DownloadLimits(perHostRate: 1), grantedBy: authority)
    try await run.settle()
    let bases = (0...1).map { origin.url("", host: $0) }
    #expect(Set(authority.state.value.requests) == Set(bases.map { request($0, milliseconds: 1000) }))
    try await answer(authority, run)
    #expect(run.ends.count == 3)
    try await run.advance(by: .seconds(1))
    try await answer(authority, run)
    #expect(run.ends.count == 4)
  }

  @Test("D15: the authority hears of a host's pause, and not of one that has come from others")
  func pauses() async throws {
    let (run, authority) = (try ManualRun(), Authority())
    let origin = try Origin(
      ["/0": .sequence([.status(429, headers: ["Retry-After": "7"]), .body([1])])],
      fallback: .body([1]),
      addresses: [.ipv4, .ipv4]
    )
    let (one, other) = (origin.url("", host: 0), origin.url("", host: 1))
    run.fetcher.downloader.setLimits(DownloadLimits(), grantedBy: authority)
    run.fetcher.downloader.rest(other, for: .seconds(9), status: 503)
    run.fetcher.downloader.rest("no origin", for: .seconds(9), status: 503)
    run.fetcher.submit([origin.url("/0"), origin.url("/1", host: 1)])
    try await run.settle()
    #expect(authority.state.value.rests == [.init(origin: one, duration: .seconds(7), status: 429)])
    #expect(origin.requests.count == 1)
    #expect(Set(run.fetcher.downloader.statistics.pausedHosts.map(\.status)) == [429, 503])
    try await run.advance(by: .seconds(7))
    #expect(run.ends.map(\.id) == [1])
    try await run.advance(by: .milliseconds(1_999))
    #expect(run.ends.count == 1)
    try await run.advance(by: .milliseconds(1))
    #expect(run.ends.count == 2)
    #expect(authority.state.value.rests.count == 1 && authority.state.value.requests == [])
  }

  @Test("D15: others' pauses try the patience of what waits, and of what comes, as one's own do")
  func patience() async throws {
    let (run, authority) = (try ManualRun(), Authority())
    let origin = try Origin(fallback: .body([1]))
    run.fetcher.downloader.setLimits(DownloadLimits(perHostRate: 1), grantedBy: authority)
    run.fetcher.submit([origin.url("/0")], options: .forTests(retryAfterMaximum: .seconds(10)))
    try await run.settle()
    #expect(run.ends.count == 0)
    run.fetcher.downloader.rest(origin.base, for: .seconds(11), status: 429)
    try await run.settle()
    run.fetcher.client.submit([
      Download(id: 2, url: Array(origin.url("/1").utf8), options: .forTests(retryAfterMaximum: .seconds(10)))
    ])
    try await run.settle()
    #expect(run.ends.map(\.failure?.status) == [429, 429])
    #expect(run.ends.allSatisfy { $0.failure?.message.contains("asks to wait 11 s") == true })
    #expect(origin.requests.count == 0)
  }

  @Test("D1: while the authority is away a part of the rate is one's own; what is asked for then is asked again once it is back")
  func away() async throws {
    let (run, authority) = (try ManualRun(), Authority())
    let origin = try Origin(fallback: .body([1]))
    run.fetcher.downloader.setLimits(DownloadLimits(perHostRate: 1), grantedBy: authority)
    run.fetcher.submit((0..<4).map { origin.url("/\($0)") })
    try await run.settle()
    #expect(authority.takeRequests() == [request(origin.base, milliseconds: 1000)])
    run.fetcher.downloader.authorityIsAway(workers: 3)
    try await run.settle()
    #expect(origin.requests.count == 1)
    try await run.advance(by: .milliseconds(2_999))
    #expect(origin.requests.count == 1)
    try await run.advance(by: .milliseconds(1))
    #expect(origin.requests.count == 2)
    #expect(authority.takeRequests() == [])
    run.fetcher.downloader.authorityIsBack()
    try await run.advance(by: .seconds(10))
    #expect(origin.requests.count == 2)
    #expect(authority.state.value.requests == [request(origin.base, milliseconds: 1000)])
    try await answer(authority, run)
    #expect(origin.requests.count == 3)
    // While others may miss it, each keeps to its part besides.
    try await run.advance(by: .seconds(1))
    _ = authority.takeRequests()
    run.fetcher.downloader.authorityIsAway(workers: 3, phase: 0.5)
    run.fetcher.downloader.authorityIsBack(workers: 3)
    try await run.advance(by: .milliseconds(1999))
    #expect(authority.takeRequests() == [])
    try await run.advance(by: .milliseconds(1))
    #expect(authority.state.value.requests == [request(origin.base, milliseconds: 1000)])
    #expect(origin.requests.count == 3)
    // Without an authority the rates are one's own again.
    run.fetcher.downloader.setLimits(DownloadLimits(), grantedBy: nil)
    try await run.settle()
    #expect(run.ends.count == 4)
  }

  @Test("D1: an authority that was away before any limits were set, and says so to who asks, holds nothing up")
  func awayBefore() async throws {
    let (run, authority) = (try ManualRun(), Authority())
    let origin = try Origin(fallback: .body([1]))
    run.fetcher.downloader.authorityIsAway(workers: 2)
    run.fetcher.downloader.setLimits(DownloadLimits(rate: 1), grantedBy: authority)
    run.fetcher.submit((0..<2).map { origin.url("/\($0)") })
    try await run.settle()
    #expect(authority.takeRequests() == [request("", milliseconds: 1000)] && origin.requests.isEmpty)
    run.fetcher.downloader.authorityIsAway(workers: 2)
    try await run.settle()
    #expect(origin.requests.count == 1)
    try await run.advance(by: .seconds(2))
    #expect(run.ends.count == 2)
  }

  @Test("an authority is let go of with the limits that it came with, and with the downloader")
  func letGo() async throws {
    let run = try ManualRun()
    weak var first: Authority?
    weak var second: Authority?
    do {
      let (one, other) = (Authority(), Authority())
      (first, second) = (one, other)
      run.fetcher.downloader.setLimits(DownloadLimits(), grantedBy: one)
      run.fetcher.downloader.setLimits(DownloadLimits(), grantedBy: other)
    }
    try await run.settle()
    #expect(first == nil && second != nil)
    run.fetcher.downloader.shutDown()
    #expect(second == nil)
  }

  @Test("a grant of no start, no worker, and a phase that is none are a programmer's error", arguments: 0...3)
  func misuse(number: Int) async {
    switch number {
    case 0:
      await #expect(processExitsWith: .failure) {
        let none = StartGrant(origin: "", count: 0, first: MonotonicInstant(nanoseconds: 0), intervalNanoseconds: 0)
        try ImageDownloader().grantStarts([none])
      }
    case 1: await #expect(processExitsWith: .failure) { try ImageDownloader().authorityIsAway(workers: 0) }
    case 2: await #expect(processExitsWith: .failure) { try ImageDownloader().authorityIsAway(workers: 1, phase: 1) }
    default: await #expect(processExitsWith: .failure) { try ImageDownloader().authorityIsBack(workers: 0) }
    }
  }
}
