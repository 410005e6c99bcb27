import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Hosts that ask for a pause by 429 and 503, over real sockets and with a manual clock.
struct PauseTests {
  /// An origin's requests and responses, in order, with the downloader's times.
  private final class Log: Sendable {
    struct Line {
      var port: Int
      var time: MonotonicInstant
      var asksForSeconds: Int?
    }
    let lines = Mutex<[Line]>([])

    /// Requests to a host within a pause that it had requested before.
    var intrusions: Int {
      let lines = lines.withLock { $0 }
      return lines.indices.count { index in
        lines[..<index].contains { earlier in
          guard let seconds = earlier.asksForSeconds, earlier.port == lines[index].port else { return false }
          return lines[index].time > earlier.time && lines[index].time < earlier.time.advanced(by: .seconds(seconds))
        }
      }
    }
  }

  @Test func `if half of the requests get 429 with Retry-After, all succeed, and a paused host gets no request`() async throws {
    let run = try ManualRun(concurrency: 8, perHost: 4)
    let (log, clock) = (Log(), run.clock)
    let origin = try Origin(
      fallback: .computed { request in
        let isRefused = log.lines.withLock { lines in
          let isRefused = lines.count.isMultiple(of: 2)
          let seconds = isRefused ? 1 + lines.count % 7 : nil
          lines.append(.init(port: request.port, time: clock.source.monotonic(), asksForSeconds: seconds))
          return seconds
        }
        return isRefused.map { .status(429, headers: ["Retry-After": "\($0)"]) } ?? .body([1])
      },
      addresses: [.ipv4, .ipv4, .ipv4]
    )
    // No retry is allowed: such waits aren't retries.
    run.fetcher.submit((0..<60).map { origin.url("/\($0)", host: $0 % 3) }, options: .forTests(retries: 0))
    _ = try await run.advance(untilEnds: 60, atMost: 600)
    #expect(run.ends.count { $0.image != nil } == 60)
    #expect(log.intrusions == 0)
    #expect(run.ends.reduce(0) { $0 + $1.summary.attempts } == origin.requests.count)
    #expect(origin.requests.count >= 118)
    // Only downloads that got a 429 have waited.
    #expect(run.ends.allSatisfy { ($0.summary.attempts > 1) == ($0.summary.waitedNanoseconds > 0) })
  }

  @Test func `a date counts from the response's Date, or else from the local clock`() async throws {
    // Our clock: Fri, 15 Jan 2027 08:00:00 GMT.
    let own: HeaderFields = ["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After": "Sun, 06 Nov 1994 08:50:07 GMT"]
    let ours: HeaderFields = ["Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT"]
    for headers in [own, ours] {
      let run = try ManualRun()
      let origin = try Origin(["/a": .sequence([.status(503, headers: headers), .body([1])])], fallback: .body([2]))
      run.fetcher.submit([origin.url("/a")])
      try await run.settle()
      run.fetcher.client.submit([Download(2, origin.url("/b"))])
      try await run.advance(by: .seconds(29))
      #expect(origin.requests.count == 1)
      try await run.advance(by: .seconds(1))
      #expect(run.ends.count == 2)
      #expect(run.ends.first { $0.id == 1 }?.summary.attempts == 2)
      #expect(run.ends.first { $0.id == 1 }?.summary.waitedNanoseconds == 30_000_000_000)
      #expect(run.ends.first { $0.id == 2 }?.summary.waitedNanoseconds == 0)
    }
  }

  @Test func `a wait holds no slot, other hosts use it, and statistics show the paused host`() async throws {
    let run = try ManualRun(concurrency: 1)
    let busy = Behaviour.sequence([.status(429, headers: ["Retry-After": "60"]), .body([1])])
    let origin = try Origin(["/0": busy], fallback: .body([2]), addresses: [.ipv4, .ipv4])
    run.fetcher.submit((0..<20).map { origin.url("/\($0)", host: $0 % 2) })
    try await run.settle()
    #expect(run.ends.count == 10)
    #expect(origin.requests.count { $0.port == origin.ports[0] } == 1)
    let statistics = run.fetcher.downloader.statistics
    #expect(statistics.waiting == 10 && statistics.running == 0)
    #expect(statistics.pausedHosts.map(\.host) == ["127.0.0.1:\(origin.ports[0])"])
    #expect(statistics.pausedHosts.first?.remaining == .seconds(60) && statistics.pausedHosts.first?.status == 429)
    try await run.advance(by: .seconds(60))
    #expect(run.ends.count == 20 && run.fetcher.downloader.statistics.pausedHosts.isEmpty)
    #expect(run.fetcher.downloader.pipeline.times[.pause] == 60_000_000_000)
    // It has kept its position before the others of its host.
    #expect(origin.requests.filter { $0.port == origin.ports[0] }.map(\.path) == ["/0"] + (0..<10).map { "/\($0 * 2)" })
  }

  @Test func `a download that would wait too long fails at once, and later ones in its queue without a request`() async throws {
    let run = try ManualRun(concurrency: 1)
    let origin = try Origin(fallback: .status(429, headers: ["Retry-After": "300"]))
    run.fetcher.submit((0..<10).map { origin.url("/\($0)") }, options: .forTests(retries: 5))
    try await run.settle()
    #expect(origin.requests.count == 1)
    #expect(run.ends.map(\.summary.attempts).sorted() == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    for end in run.ends {
      let failure = try #require(end.failure)
      // The host has responded with nothing else.
      #expect(failure.kind == (end.summary.attempts == 0 ? .hostDown : .httpStatus) && failure.isTransient)
      #expect(failure.message.contains("429"))
      #expect(failure.message.contains("300 s") && failure.message.contains("DownloadOptions.retryAfterMaximum (120 s)"))
      #expect(failure.message.contains("wasn't requested") == (end.summary.attempts == 0))
    }
    // A later one isn't sent either, a more patient one waits, and after the pause the host gets requests again.
    run.fetcher.client.submit([Download(50, origin.url("/50"))])
    let patient = DownloadOptions.forTests(retryAfterMaximum: .seconds(1000))
    run.fetcher.client.submit([Download(51, origin.url("/51"), options: patient)])
    try await run.settle()
    #expect(run.ends.count == 11 && run.ends.last?.id == 50 && run.ends.last?.summary.attempts == 0)
    origin.setFallback(.body([1]))
    try await run.advance(by: .seconds(300))
    #expect(run.ends.last?.id == 51 && run.ends.last?.image != nil)
    #expect(try await run.fetcher.fetch(origin.url("/52"), id: 52).image != nil)
  }

  @Test func `a good response in flight doesn't extend a wait`() async throws {
    let run = try ManualRun(concurrency: 2)
    let busy = Behaviour.status(429, headers: ["Retry-After": "300"])
    let origin = try Origin(["/good": .body([1]), "/busy": busy], fallback: .body([2]))
    let gate = origin.hold("/good")
    run.fetcher.submit([origin.url("/good"), origin.url("/busy")])
    try await gate.waitForWaiting(1)
    _ = try await run.fetcher.recorder.waitForEnd(of: 2)
    gate.open()
    try await run.fetcher.recorder.waitForEnd(of: 1)
    let end = try await run.fetcher.fetch(origin.url("/late"), id: 3)
    #expect(end.failure?.kind == .httpStatus && end.failure?.status == 429 && end.summary.attempts == 0)
    expectGolden(end.failure?.message)
    #expect(run.ends.map { $0.image == nil } == [true, false, true])
    #expect(origin.requests.count == 2)
  }

  @Test func `an entry's waits add up`() async throws {
    let run = try ManualRun(concurrency: 2)
    let origin = try Origin(["/a": .status(429, headers: ["Retry-After": "50"])], fallback: .body([1]))
    run.fetcher.submit([origin.url("/a")])
    try await run.settle()
    for id in [2, 3] as [UInt64] {
      // The host responds well to others, so that it isn't given up.
      run.fetcher.client.submit([Download(id, origin.url("/b"))])
      try await run.advance(by: .seconds(50))
    }
    let end = try #require(run.ends.first { $0.id == 1 })
    #expect(end.summary.attempts == 3 && end.summary.waitedNanoseconds == 100_000_000_000)
    expectGolden(end.failure?.message)
    #expect(run.ends.count { $0.image != nil } == 2)
  }

  @Test(arguments: [true, false])
  func `a host that only responds with 503 for too long fails all waiting downloads`(tellsWhen: Bool) async throws {
    let run = try ManualRun(concurrency: 4)
    let headers: HeaderFields = tellsWhen ? ["Retry-After": "10"] : [:]
    let origin = try Origin(fallback: .status(503, headers: headers))
    run.fetcher.submit((0..<2000).map { origin.url("/\($0)") }, options: .forTests(retries: 2, backoff: .constant(.seconds(10))))
    let seconds = try await run.advance(untilEnds: 2000, atMost: 1000)
    #expect((100...150).contains(seconds))
    #expect(origin.requests.count < 100)
    #expect(run.ends.allSatisfy { $0.failure?.kind == ($0.summary.attempts == 0 ? .hostDown : .httpStatus) })
    #expect(run.ends.count { $0.summary.attempts == 0 } > 1900)
    expectGolden(run.ends.last?.failure?.message)
  }

  @Test func `without Retry-After it is a retry whose backoff pauses the host`() async throws {
    let run = try ManualRun(concurrency: 1)
    let origin = try Origin(["/0": .status(503)], fallback: .body([1]))
    run.fetcher.submit((0..<3).map { origin.url("/\($0)") }, options: .forTests(retries: 1, backoff: .constant(.seconds(20))))
    try await run.settle()
    try await run.advance(by: .seconds(19))
    #expect(origin.requests.count == 1)
    try await run.advance(by: .seconds(1))
    #expect(run.ends.map(\.id) == [1])
    #expect(run.ends.first?.failure?.status == 503 && run.ends.first?.summary.attempts == 2)
    // The last attempt's response pauses the host too.
    try await run.advance(by: .seconds(19))
    #expect(origin.requests.map(\.path) == ["/0", "/0"])
    try await run.advance(by: .seconds(1))
    #expect(origin.requests.map(\.path) == ["/0", "/0", "/1", "/2"])
  }

  @Test func `without Retry-After a host's pauses grow, even without retries`() async throws {
    let run = try ManualRun(concurrency: 4)
    let origin = try Origin(fallback: .status(429))
    let backoff = Backoff(initial: .seconds(1), maximum: .seconds(30))
    run.fetcher.submit((0..<1000).map { origin.url("/\($0)") }, options: .forTests(retries: 0, backoff: backoff))
    // 1, 2, 4, 8, 16, 30, 30 seconds; 30 more would exceed the limit.
    #expect(try await run.advance(untilEnds: 1000, atMost: 1000) == 91)
    #expect(origin.requests.count <= 8 * 4)
    #expect(run.ends.allSatisfy { $0.failure?.kind == ($0.summary.attempts == 0 ? .hostDown : .httpStatus) })
    #expect(run.ends.allSatisfy { $0.summary.attempts <= 1 })
    // A good response ends that.
    try await run.advance(by: .seconds(30))
    origin.setFallback(.sequence([.body([1]), .status(429), .body([1])]))
    for id in [2001, 2002] as [UInt64] {
      _ = try await run.fetcher.fetch(origin.url("/x"), id: id, options: .forTests(backoff: backoff))
    }
    try await run.advance(by: .seconds(1))
    #expect(try await run.fetcher.fetch(origin.url("/x"), id: 2003).image != nil)
  }

  @Test func `a redirect target's host is paused too`() async throws {
    let run = try ManualRun(concurrency: 1)
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    for number in 0..<3 { origin.set("/\(number)", .redirect(to: origin.url("/to/\(number)", host: 1))) }
    origin.setFallback(.body([1]))
    origin.set("/to/0", .sequence([.status(429, headers: ["Retry-After": "60"]), .body([1])]))
    run.fetcher.submit((0..<3).map { origin.url("/\($0)") })
    try await run.settle()
    try await run.advance(by: .seconds(59))
    #expect(origin.requests.count { $0.port == origin.ports[1] } == 1)
    try await run.advance(by: .seconds(1))
    #expect(run.ends.count { $0.image != nil } == 3)
    #expect(run.ends.map(\.summary.attempts).max() == 2)
  }

  @Test func `a download waiting for a pause can be cancelled`() async throws {
    let run = try ManualRun(concurrency: 1)
    let origin = try Origin(fallback: .status(429, headers: ["Retry-After": "60"]))
    run.fetcher.submit((0..<3).map { origin.url("/\($0)") })
    try await run.settle()
    run.fetcher.downloader.cancelAll(includingRunning: true)
    try await run.settle()
    #expect(run.ends.count(where: \.isCancelled) == 3 && run.fetcher.downloader.statistics.waiting == 0)
  }
}

/// Parsing `Retry-After`.
struct RetryAfterTests {
  private func wait(_ value: String, date: String? = nil) -> Duration? {
    // Sun, 06 Nov 1994 08:49:37 GMT
    let now = Timestamp(milliseconds: 784_111_777_000)
    return RetryAfter.wait(Array(value.utf8)[...], date: date.map { Array($0.utf8)[...] }, now: now)
  }

  @Test(
    arguments: [
      ("1", 1), ("120", 120), ("0", nil), ("", nil), ("-5", nil), ("soon", nil), ("1s", nil), (".5", nil), ("1.5.2", nil),
      ("1.5", 2), ("0.129", 1), ("3.000", 3), ("0.0", nil), ("99999999999999999999", 315_360_000),
    ]
  )
  func `seconds are read up to a limit, decimals rounded up`(value: String, seconds: Int?) {
    #expect(wait(value) == seconds.map { .seconds($0) })
  }

  @Test func `a date is measured against the response's Date, or else the local clock`() {
    #expect(wait("Sun, 06 Nov 1994 08:50:07 GMT") == .seconds(30))
    #expect(wait("Sunday, 06-Nov-94 08:50:07 GMT") == .seconds(30))
    #expect(wait("Sun, 06 Nov 1994 08:49:37 GMT") == nil)
    #expect(wait("Sun, 06 Nov 1994 08:00:00 GMT") == nil)
    #expect(wait("Fri, 01 Jan 2100 00:00:10 GMT", date: "Fri, 01 Jan 2100 00:00:00 GMT") == .seconds(10))
    #expect(wait("Sun, 06 Nov 1994 08:50:07 GMT", date: "nonsense") == .seconds(30))
    #expect(wait("Fri, 31 Dec 9999 23:59:59 GMT") == .seconds(315_360_000))
  }
}
