import Base
import Foundation
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

/// Each way in which a transfer fails: its kind, whether it is retried, and its message.
struct FailureTests {
  private func failure(_ behaviour: Behaviour, options: DownloadOptions = .forTests()) async throws -> ImageFailure {
    return try #require(try await fetch(behaviour, options).end.failure)
  }

  private static let cut = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n10\r\nmore"
  private static let brief = DownloadOptions.forTests(timeout: .milliseconds(200), maxBytes: 1000)

  @Test(
    arguments: [
      (.stall, .forTests(stallTimeout: .milliseconds(100)), .stalled), (.stall(afterBytes: 100, declared: 999), brief, .timeout),
      (.reset, brief, .reset), (.close, brief, .reset), (.reset(afterBytes: 10, declared: 100), brief, .reset),
      (.raw("SSH-2.0-OpenSSH_9.2\r\n"), brief, .reset), (.cut(afterBytes: 60, declared: 100), brief, .truncated),
      (.raw(cut), brief, .truncated),
      // Before the body is read.
      (.stall(afterBytes: 1, declared: 1001), brief, .tooLarge),
      // A coded body counts by its decoded size.
      (
        .body((try? gzip([UInt8](repeating: 0, count: 1 << 20))) ?? [], headers: ["Content-Encoding": "gzip"]),
        .forTests(maxBytes: 64 << 10), .tooLarge
      ),
      (.body(pattern(999), headers: ["Content-Encoding": "gzip"]), brief, .contentType),
      (.body(pattern(999), headers: ["Content-Encoding": "br"]), brief, .contentType),
      (.body(pattern(999), headers: ["Content-Encoding": "zstd"]), brief, .contentType),
      // A rejected status stays, however its body ends.
      (.raw("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 1000\r\n\r\nhalf"), brief, .httpStatus),
      (.status(503, body: pattern(1 << 20)), brief, .httpStatus),
    ] as [(Behaviour, DownloadOptions, FailureKind)]
  )
  func `a response that breaks off or breaks a rule fails as its kind`(
    behaviour: Behaviour,
    options: DownloadOptions,
    kind: FailureKind
  ) async throws {
    let failure = try await failure(behaviour, options: options)
    #expect(failure.kind == kind && failure.isTransient == (kind != .tooLarge && kind != .contentType))
    if kind == .stalled || kind == .truncated || kind == .tooLarge { expectGolden(failure.message) }
  }

  @Test func `a huge declared length doesn't allocate memory`() async throws {
    let options = DownloadOptions.forTests(maxBytes: .max, streamAbove: .max)
    let failure = try await failure(.cut(afterBytes: 100, declared: 90_000_000_000_000, of: pattern(100)), options: options)
    #expect(failure.kind == .truncated)
  }

  @Test(
    arguments: [
      (302, false), (400, false), (401, false), (403, false), (404, false), (410, false), (451, false), (304, false),
      (206, false),
      (408, true), (425, true), (429, true), (500, true), (502, true), (503, true), (599, true),
    ]
  )
  func `an unaccepted status is http-status; 408, 425, 429 and 5xx are transient`(status: Int, isTransient: Bool) async throws {
    let failure = try await failure(.status(status))
    #expect(failure.kind == .httpStatus && failure.status == status && failure.isTransient == isTransient)
  }

  @Test func `the message names the status`() async throws {
    expectGolden(try await failure(.status(404)).message)
    expectGolden(try await failure(.status(599)).message)
  }

  @Test func `other statuses can be accepted`() async throws {
    let end = try await fetch(.status(404, body: [1, 2, 3]), .forTests(acceptStatus: [200, 404])).end
    #expect(end.image?.status == 404 && end.image?.body == [1, 2, 3])
  }

  @Test func `a refused connection fails as connect`() async throws {
    let refused = RefusedPort()
    let failure = try #require(try await Fetcher().fetch(refused.url("/a")).failure)
    #expect(failure.kind == .connect && failure.isTransient)
    expectGolden(failure.message)
  }

  @Test func `a name that doesn't resolve fails as dns`() async throws {
    let failure = try #require(try await Fetcher().fetch("http://no-such-host.invalid/a").failure)
    #expect(failure.kind == .dns && failure.isTransient && failure.message.contains("no-such-host.invalid"))
  }

  @Test func `a server that doesn't accept within the connect timeout fails as connect`() async throws {
    let hole = BlackHole()
    let options = DownloadOptions.forTests(connectTimeout: .milliseconds(150))
    let failure = try #require(try await Fetcher().fetch(hole.url("/a"), options: options).failure)
    #expect(failure.kind == .connect && failure.isTransient)
    expectGolden(failure.message)
    let brief = DownloadOptions.forTests(timeout: .milliseconds(150), stallTimeout: .milliseconds(20))
    #expect(try await Fetcher().fetch(hole.url("/a"), options: brief).failure?.kind == .connect)
  }

  @Test func `a transfer that libcurl leaves unconnected fails after twice the connect timeout`() async throws {
    let hole = BlackHole()
    let run = try ManualRun()
    // libcurl's own clock, which the test doesn't advance, is far from its limit.
    run.fetcher.submit([hole.url("/a")], options: .forTests(timeout: .seconds(6000), connectTimeout: .seconds(300)))
    try await run.settle(stalling: 1)
    try await run.advance(by: .seconds(599), stalling: 1)
    #expect(run.ends.isEmpty)
    try await run.advance(by: .seconds(1))
    #expect(run.ends.first?.failure?.kind == .connect && run.ends.first?.failure?.isTransient == true)
    expectGolden(run.ends.first?.failure?.message)
  }

  @Test func `a body that stops fails as stalled`() async throws {
    let clock = ManualClock()
    let origin = try Origin(["/a": .stall(afterBytes: 100, declared: 1000)])
    let fetcher = try Fetcher(time: clock.source)
    let options = DownloadOptions.forTests(stallTimeout: .milliseconds(100))
    fetcher.client.submit([Download(1, origin.url("/a"), options: options, wantsProgress: true)])
    try await fetcher.recorder.waitForEvent { if case .progress(_, 100, 1000) = $0 { true } else { false } }
    fetcher.advance(clock, by: .milliseconds(100))
    let failure = try #require(try await fetcher.recorder.waitForEnds(1)[0].failure)
    #expect(failure.kind == .stalled)
    expectGolden(failure.message)
  }

  @Test func `the overall timeout includes redirects`() async throws {
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": .redirect(to: "/c"), "/c": .stall])
    let end = try await Fetcher().fetch(origin.url("/a"), options: .forTests(timeout: .milliseconds(200)))
    #expect(end.failure?.kind == .timeout && end.summary.attempts == 1)
  }

  @Test(arguments: [" ", "\t"])
  func `a first header line that begins with white space fails as reset, also after other responses`(space: String) async throws {
    let head = "HTTP/1.1 200 OK\r\n\(space)X-Content-Type-Options: nosniff\r\nContent-Length: 1\r\n\r\na"
    let origin = try Origin(["/good": .body([1], headers: ["X-Long": String(repeating: "a", count: 500)]), "/bad": .raw(head)])
    let paths = ["/good", "/bad", "/bad", "/good", "/bad"]
    let ends = try await Fetcher().fetchInTurn(paths.map { (origin.url($0), .forTests()) })
    #expect(ends.map(\.failure?.kind) == [nil, .reset, .reset, nil, .reset])
    expectGolden(ends[1].failure?.message)
  }

  @Test(
    arguments: [
      ("Content-Length: 2\r\nContent-Length: 5", FailureKind.reset), ("Content-Length: 5\r\ncontent-length:2", .reset),
      ("Content-Length: 5, 2", .reset), ("Content-Length: 5\r\nContent-Length: 5", nil), ("Content-Length: 5, 5", nil),
      ("Content-Length: 2\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", nil),
    ]
  )
  func `lengths that differ fail as reset, unless the body is chunked; repeated ones don't`(headers: String, kind: FailureKind?)
    async throws
  {
    let body = headers.contains("chunked") ? "5\r\nhello\r\n0\r\n\r\n" : "hello"
    let end = try await fetch(.raw("HTTP/1.1 200 OK\r\n\(headers)\r\n\r\n\(body)")).end
    #expect(end.failure?.kind == kind && end.image?.body == (kind == nil ? Array("hello".utf8) : nil))
    #expect(end.failure?.message.contains("the Content-Length headers differ") != false)
  }

  @Test(arguments: [999, 1000, 1001])
  func `a body without a length stops at the byte that exceeds max-bytes`(count: Int) async throws {
    let end = try await fetch(.chunked([pattern(500), pattern(count - 500)]), .forTests(maxBytes: 1000)).end
    #expect(end.failure?.kind == (count > 1000 ? .tooLarge : nil))
    #expect(end.image?.bodyBytes == (count > 1000 ? nil : count))
  }

  @Test(arguments: ["", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"])
  func `an interrupted TLS handshake fails as tls, transient, and a server without TLS permanently`(answer: String) async throws {
    let listener = ClosingListener(answer: answer)
    let failure = try #require(try await Fetcher().fetch("https://127.0.0.1:\(listener.port)/a").failure)
    #expect(failure.kind == .tls && failure.isTransient == answer.isEmpty)
  }
}

/// Retries: which failures, how often, and how they wait.
struct RetryTests {
  @Test(arguments: [0, 1, 3]) func `a transient failure is retried as often as allowed`(count: Int) async throws {
    let (end, requests) = try await fetch(.status(503), .forTests(retries: count))
    #expect(end.failure?.status == 503 && end.summary.attempts == count + 1 && requests.count == count + 1)
  }

  @Test func `a download succeeds if a retry does`() async throws {
    let responses = Behaviour.sequence([.status(500), .cut(afterBytes: 1, declared: 2), .body([1])])
    let end = try await fetch(responses, .forTests(retries: 2)).end
    #expect(end.image?.body == [1] && end.summary.attempts == 3)
  }

  @Test func `permanent failures are not retried`() async throws {
    let origin = try Origin(["/a": .status(404), "/b": .redirect(to: "/b"), "/c": .body(pattern(100))])
    for path in ["/a", "/b", "/c"] {
      let end = try await Fetcher().fetch(origin.url(path), options: .forTests(retries: 3, maxBytes: 10))
      #expect(end.failure != nil && end.summary.attempts == 1)
    }
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
    #expect(try await fetcher.recorder.waitForEnd(of: 1).failure?.status == 503)
    #expect(origin.requests.count == 1)
  }

  @Test func `a waiting retry holds no transfer slot and waits for its backoff`() async throws {
    let clock = ManualClock()
    let origin = try Origin(["/a": .sequence([.status(500), .body([1])])], fallback: .body([2]))
    let fetcher = try Fetcher(concurrency: 1, time: clock.source)
    fetcher.submit([origin.url("/a"), origin.url("/b")], options: .forTests(retries: 1, backoff: .constant(.seconds(20))))
    try await fetcher.recorder.waitForEnd(of: 2)
    try await fetcher.settle()
    #expect(origin.count(of: "/a") == 1)
    #expect(fetcher.downloader.statistics.waiting == 1)
    fetcher.advance(clock, by: .seconds(20))
    let summary = try await fetcher.recorder.waitForEnd(of: 1).summary
    #expect(summary.attempts == 2 && summary.waitedNanoseconds == 20_000_000_000)
    // The duration excludes waits.
    #expect(summary.durationNanoseconds < 20_000_000_000)
  }

  @Test func `a waiting retry can be cancelled`() async throws {
    let origin = try Origin(["/a": .status(503)])
    let fetcher = try Fetcher(time: ManualClock().source)
    fetcher.submit([origin.url("/a")], options: .forTests(retries: 1, backoff: .constant(.seconds(20))))
    try await origin.waitForRequests(1)
    try await origin.waitForInFlight(0)
    fetcher.downloader.cancelAll(includingRunning: true)
    let end = try await fetcher.recorder.waitForEnds(1)[0]
    #expect(end.isCancelled && end.summary.attempts == 1)
  }

  @Test func `the default jitter draws from zero to the limit`() {
    let draws = (0..<1000).map { _ in ImageDownloader.Configuration().jitter(.seconds(1)) }
    #expect(draws.allSatisfy { $0 >= .zero && $0 <= .seconds(1) })
    #expect(draws.contains { $0 < .milliseconds(100) } && draws.contains { $0 > .milliseconds(900) })
  }
}

/// A TCP listener on loopback.
private func listen(queue: Int32) -> (socket: Int32, port: Int) {
  let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      precondition(bind(listener, address, length) == 0 && listen(listener, queue) == 0)
      getsockname(listener, address, &length)
    }
  }
  return (listener, Int(UInt16(bigEndian: address.sin_port)))
}

/// A listener that responds to the first bytes of each connection with fixed text, possibly empty, and closes it.
final class ClosingListener {
  let port: Int
  private let listener: Int32

  init(answer: String = "") {
    let (listener, port) = listen(queue: 8)
    self.port = port
    self.listener = listener
    // It blocks, so it needs a thread of its own, which ends when the listener is shut down.
    Thread.detachNewThread {
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { break }
        var bytes = [UInt8](repeating: 0, count: 4096)
        _ = read(client, &bytes, bytes.count)
        _ = write(client, answer, answer.utf8.count)
        close(client)
      }
      close(listener)
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
