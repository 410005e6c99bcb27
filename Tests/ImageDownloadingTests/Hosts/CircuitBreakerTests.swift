import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Hosts that only fail, over real sockets and with a manual clock.
struct CircuitBreakerTests {
  private static let breaker = CircuitBreaker(failures: 5, batchPause: .seconds(30), batchTries: 3)

  @Test func `a host that only fails is paused, tried three times, and then its other URLs fail without a request`() async throws
  {
    let run = try ManualRun(concurrency: 1, circuitBreaker: Self.breaker)
    let origin = try Origin(fallback: .computed { $0.path == "/good" ? .body([1]) : .reset }, addresses: [.ipv4, .ipv4])
    run.fetcher.submit((0..<40).map { origin.url("/\($0)") })
    try await run.settle()
    for requests in 5..<8 {
      #expect(origin.requests.count { $0.port == origin.ports[0] } == requests)
      #expect(run.fetcher.downloader.statistics.pausedHosts.first?.remaining == .seconds(30))
      #expect(run.fetcher.downloader.statistics.pausedHosts.first?.status == nil)
      // Other hosts continue meanwhile.
      let other = UInt64(100 + requests)
      #expect(try await run.fetcher.fetch(origin.url("/good", host: 1), id: other).image != nil)
      try await run.advance(by: .seconds(29))
      #expect(origin.requests.count { $0.port == origin.ports[0] } == requests)
      try await run.advance(by: .seconds(1))
      #expect(origin.requests.count { $0.port == origin.ports[0] } == requests + 1)
    }
    let down = run.ends.filter { $0.failure?.kind == .hostDown }
    #expect(down.count == 32)
    #expect(down.allSatisfy { $0.summary.attempts == 0 && $0.failure?.isTransient == true })
    let message = try #require(down.first?.failure?.message)
    expectGolden(message.replacing("127.0.0.1:\(origin.ports[0])", with: "HOST"))
    guard case .hostDown(let failures, let last)? = down.first?.failure?.reason else {
      Issue.record("the failure has no reason")
      return
    }
    #expect(failures == 8 && last.kind == .reset)
    #expect(run.ends.count { $0.failure?.kind == .reset } == 8)
    // Later downloads too; but after the time one request tries the host again.
    try await run.advance(by: .seconds(299))
    #expect(try await run.fetcher.fetch(origin.url("/good"), id: 90).failure?.kind == .hostDown)
    try await run.advance(by: .seconds(1))
    #expect(origin.requests.count { $0.port == origin.ports[0] } == 8)
    #expect(try await run.fetcher.fetch(origin.url("/bad"), id: 91).failure?.kind == .reset)
    #expect(try await run.fetcher.fetch(origin.url("/good"), id: 92).failure?.kind == .hostDown)
    try await run.advance(by: .seconds(300))
    #expect(try await run.fetcher.fetch(origin.url("/good"), id: 93).image != nil)
    #expect(origin.requests.count { $0.port == origin.ports[0] } == 10)
  }

  @Test func `failures can be forgotten, and requested pauses cannot`() async throws {
    let run = try ManualRun(concurrency: 1, circuitBreaker: CircuitBreaker(failures: 1, batchTries: 1))
    let busy = Behaviour.status(429, headers: ["Retry-After": "60"])
    let origin = try Origin(addresses: [.ipv4, .ipv4, .ipv4])
    let (down, paused) = (origin.ports[0], origin.ports[2])
    origin.setFallback { $0.path == "/good" ? .body([1]) : $0.port == paused ? busy : .reset }
    // The first host is down, the second paused after failures, and the third asked for a pause.
    run.fetcher.submit((0..<2).map { origin.url("/\($0)") })
    try await run.settle()
    try await run.advance(by: .seconds(30))
    let patience = DownloadOptions.forTests(retryAfterMaximum: .seconds(1))
    for (id, host) in [(11, 1), (12, 2)] as [(UInt64, Int)] {
      _ = try await run.fetcher.fetch(origin.url("/x", host: host), id: id, options: patience)
    }
    #expect(origin.requests.count { $0.port == down } == 2)
    #expect(run.fetcher.downloader.statistics.pausedHosts.count == 3)
    run.fetcher.downloader.forgetFailures()
    for (id, host) in [(21, 0), (22, 1)] as [(UInt64, Int)] {
      #expect(try await run.fetcher.fetch(origin.url("/good", host: host), id: id).image != nil)
    }
    #expect(try await run.fetcher.fetch(origin.url("/good", host: 2), id: 23, options: patience).failure?.kind == .hostDown)
    #expect(run.fetcher.downloader.statistics.pausedHosts.map(\.host) == ["127.0.0.1:\(paused)"])
  }

  @Test func `after a response to the try, even a 404, all requests resume`() async throws {
    let run = try ManualRun(concurrency: 4, circuitBreaker: Self.breaker)
    let origin = try Origin(fallback: .reset)
    run.fetcher.submit((0..<40).map { origin.url("/\($0)") }, options: .forTests(retries: 20))
    try await run.settle()
    origin.setFallback(.status(404))
    try await run.advance(by: .seconds(30))
    #expect(run.ends.count { $0.failure?.status == 404 } == 40)
    #expect(run.fetcher.downloader.statistics.pausedHosts.isEmpty)
  }

  @Test func `a server that cuts long bodies gets requests for its short ones`() async throws {
    let run = try ManualRun(concurrency: 1, circuitBreaker: Self.breaker)
    let origin = try Origin(
      fallback: .computed { $0.path.hasPrefix("/long") ? .cut(afterBytes: 3, declared: 9, of: [1, 2, 3]) : .body([1]) }
    )
    run.fetcher.submit((0..<40).map { origin.url($0 < 30 ? "/long\($0)" : "/short\($0)") })
    try await run.settle()
    #expect(run.ends.count { $0.failure?.kind == .truncated } == 30)
    #expect(run.ends.count { $0.image != nil } == 10)
    #expect(run.fetcher.downloader.statistics.pausedHosts.isEmpty)
  }

  @Test func `a closed port gets its retries, and then its other URLs fail at once with the cause`() async throws {
    let run = try ManualRun(concurrency: 4, circuitBreaker: Self.breaker)
    let port = RefusedPort()
    run.fetcher.submit((0..<60).map { port.url("/\($0)") }, options: .forTests(retries: 2))
    try await run.settle()
    #expect(run.fetcher.downloader.statistics.pausedHosts.first?.failure?.kind == .connect)
    // Both retries, after at most 0.5 s and 1 s.
    for _ in 0..<2 { try await run.advance(by: .seconds(1)) }
    #expect(run.ends.count == 60)
    let down = run.ends.compactMap(\.failure).filter { $0.kind == .hostDown }
    #expect(down.count >= 50 && down.allSatisfy { $0.unreachableReason != nil && $0.cause == down[0].cause })
    #expect(run.fetcher.downloader.statistics.pausedHosts.first?.isDown == true)
    withExtendedLifetime(port) {}
  }

  @Test func `failures interrupted by responses don't count`() async throws {
    let run = try ManualRun(concurrency: 1, circuitBreaker: Self.breaker)
    let origin = try Origin(fallback: .computed { Int($0.path.dropFirst())! % 5 == 4 ? .status(404) : .status(500) })
    run.fetcher.submit((0..<50).map { origin.url("/\($0)") })
    try await run.settle()
    #expect(origin.requests.count == 50)
  }
}

/// The states of the circuit breaker, with simulated times.
struct BreakerStateTests {
  private let rules = CircuitBreaker(failures: 3, batchTries: 2)
  private let start = MonotonicInstant(nanoseconds: 1_000)

  private func open() -> BreakerState {
    var breaker = BreakerState()
    for _ in 0..<9 { _ = breaker.fail(.ofBatch(), by: rules, now: start) }
    return breaker
  }

  @Test func `a request begun before the pause isn't the try, and an inconclusive one allows another`() {
    var breaker = open()
    #expect(breaker.earliestStart(isAwaited: false) == start.advanced(by: .seconds(30)))
    breaker.start(isAwaited: false)
    breaker.endTry(isAwaited: false)
    #expect(breaker.earliestStart(isAwaited: false) <= start && !breaker.isClosed)
    breaker.start(isAwaited: false)
    #expect(breaker.fail(.ofBatch(isTry: true), by: rules, now: start) == .paused)
  }

  @Test func `downloads that someone waits for have pauses of their own, from 0.5 s to 5 s`() {
    var (breaker, now) = (open(), start)
    for pause in [500, 1000, 2000, 4000, 5000, 5000] {
      let next = now.advanced(by: .milliseconds(pause))
      #expect(breaker.earliestStart(isAwaited: true) == next && breaker.refuses(isAwaited: true, at: now))
      now = next
      #expect(!breaker.refuses(isAwaited: true, at: now))
      breaker.start(isAwaited: true)
      // Only one tries the host.
      #expect(breaker.refuses(isAwaited: true, at: now) && !breaker.refuses(isAwaited: false, at: now))
      // A request of before the pause says nothing.
      #expect(breaker.fail(.awaited(), by: rules, now: now) == .none && breaker.isTriedForWaiting)
      #expect(breaker.fail(.awaited(isTry: true), by: rules, now: now) == .paused)
    }
    // Batches wait as before, and the first response lets all resume.
    #expect(breaker.earliestStart(isAwaited: false) == start.advanced(by: .seconds(30)) && !breaker.isDown)
    #expect(breaker.recover() == .recovered && breaker.isCalm)
  }

  @Test func `without a circuit breaker requests never stop`() {
    var policy = HostPolicy()
    let failure = ImageFailure(.reset, isTransient: true, message: "")
    for response in [HostResponse.failed(failure), .unreachable(failure)] {
      for _ in 0..<1000 {
        #expect(policy.record(response, to: .awaited(), running: 1, HostRules(perHost: 8), now: start) == .none)
      }
    }
    #expect(policy.breaker.isCalm)
  }
}
