import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Images that are requested by HEAD.
struct HeadTests {
  /// Supports GET but not HEAD.
  private func withoutHead(_ body: [UInt8], status: Int = 405) -> Behaviour {
    .computed { $0.method == "HEAD" ? .status(status) : .ranged(body, type: "image/png") }
  }

  @Test func `HEAD reports the response's fields and returns no body`() async throws {
    let (end, requests) = try await fetch(
      .body(pattern(5000), type: "image/png", headers: ["ETag": "\"1\""]),
      .forTests(method: .head)
    )
    let image = try #require(end.image)
    #expect(image.status == 200 && image.contentType == "image/png" && image.validators.etag == "\"1\"")
    #expect(image.totalBytes == 5000 && image.isPrefix && image.body.isEmpty && image.bodyBytes == 0)
    #expect(requests.map(\.method) == ["HEAD"])
    #expect(end.summary.receivedBytes == 0 && end.summary.attempts == 1)
  }

  @Test func `HEAD reports no length if the server sends none or encodes the body`() async throws {
    let origin = try Origin(["/a": .chunked([[1]]), "/b": .body([1, 2], headers: ["Content-Encoding": "gzip"])])
    for path in ["/a", "/b"] {
      let image = try #require(try await Fetcher().fetch(origin.url(path), options: .forTests(method: .head)).image)
      #expect(image.totalBytes == nil && image.isPrefix)
    }
  }

  @Test func `redirects of HEAD are followed by HEAD`() async throws {
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": .body([1, 2, 3])])
    let image = try await Fetcher().fetch(origin.url("/a"), options: .forTests(method: .head)).image
    #expect(image?.totalBytes == 3 && image?.finalURL == origin.url("/b"))
    #expect(origin.requests.map(\.method) == ["HEAD", "HEAD"])
  }

  @Test func `HEAD fails like GET: by status, type and declared length`() async throws {
    let origin = try Origin([
      "/gone": .status(404), "/large": .body(pattern(2000)), "/busy": .sequence([.status(503), .body([1])]),
    ])
    let options = DownloadOptions.forTests(method: .head, retries: 1, maxBytes: 1000)
    #expect(try await Fetcher().fetch(origin.url("/gone"), options: options).failure?.status == 404)
    #expect(try await Fetcher().fetch(origin.url("/large"), options: options).failure?.kind == .tooLarge)
    let end = try await Fetcher().fetch(origin.url("/busy"), options: options)
    #expect(end.image?.totalBytes == 1 && end.summary.attempts == 1)
    let typed = DownloadOptions.forTests(method: .head).with { $0.acceptContentTypes = ["image/*"] }
    #expect(try await Fetcher().fetch(origin.url("/busy"), options: typed).failure?.kind == .contentType)
  }

  @Test func `validators make HEAD conditional like GET`() async throws {
    let origin = try Origin(["/a": .status(304)])
    let validators = Validators(etag: "\"1\"")
    #expect(try await Fetcher().fetch(origin.url("/a"), options: .forTests(method: .head), validators: validators).isNotModified)
    #expect(origin.requests.map { "\($0.method) \($0.headers["If-None-Match"] ?? "")" } == ["HEAD \"1\""])
  }

  @Test(arguments: [405, 501])
  func `a server that doesn't support HEAD is probed in the same attempt`(status: Int) async throws {
    let body = pattern(200_000)
    let (end, requests) = try await fetch(withoutHead(body, status: status), .forTests(method: .head))
    let image = try #require(end.image)
    #expect(image.status == 206 && image.totalBytes == 200_000 && image.isPrefix)
    #expect(image.body == Array(body.prefix(64 << 10)))
    #expect(end.summary.attempts == 1)
    #expect(requests.map(\.method) == ["HEAD", "GET"])
    #expect(requests.map { $0.headers["Range"] } == [nil, "bytes=0-65535"])
  }

  @Test func `other URLs of a server without HEAD are probed directly, those of other servers aren't`() async throws {
    let origin = try Origin(fallback: withoutHead([1, 2, 3]), addresses: [.ipv4, .ipv4])
    let fetcher = try Fetcher(concurrency: 1)
    fetcher.submit([origin.url("/a"), origin.url("/b"), origin.url("/c", host: 1)], options: .forTests(method: .head))
    #expect(try await fetcher.recorder.waitForEnds(3).allSatisfy { $0.image?.totalBytes == 3 })
    #expect(origin.requests.map { "\($0.method) \($0.path)" } == ["HEAD /a", "GET /a", "GET /b", "HEAD /c", "GET /c"])
  }

  @Test(
    arguments: [
      .body([]), .close, .reset, .redirect(to: "/a"),
    ] + [204, 206, 400, 401, 403, 404, 410, 416, 451, 500].map { Behaviour.status($0) }
  )
  func `a plain GET decides after a failed HEAD, and other URLs of its server are probed`(refusal: Behaviour) async throws {
    let origin = try Origin(fallback: .computed { $0.method == "HEAD" ? refusal : .body([1, 2]) })
    let fetcher = try Fetcher(concurrency: 1)
    for end in try await fetcher.fetchAll([origin.url("/a"), origin.url("/b")], options: .forTests(method: .head)) {
      #expect(end.image?.body == [1, 2] && end.summary.attempts == 1, "\(end)")
    }
    let others = origin.requests.drop { $0.method == "HEAD" }
    #expect(others.map { "\($0.method) \($0.path) \($0.headers["Range"] ?? "")" } == ["GET /a ", "GET /b bytes=0-65535"])
  }

  @Test func `a 429 to HEAD isn't confirmed and names it`() async throws {
    let origin = try Origin(["/a": .status(429)])
    let failure = try #require(try await Fetcher().fetch(origin.url("/a"), options: .forTests(method: .head)).failure)
    #expect(failure.status == 429 && origin.requests.map(\.method) == ["HEAD"])
    expectGolden(failure.message)
  }

  @Test func `a failed probe after the fallback is confirmed from the start`() async throws {
    // The first origin isn't known yet to lack HEAD.
    let origin = try Origin(["/b": .sequence([.status(501), .status(503)])], addresses: [.ipv4, .ipv4])
    origin.set("/a", .sequence([.redirect(to: origin.url("/b", host: 1)), .body([1])]))
    let end = try await Fetcher().fetch(origin.url("/a"), options: .forTests(method: .head))
    #expect(end.image?.body == [1] && end.summary.attempts == 1)
    #expect(origin.requests.map { "\($0.method) \($0.path)" } == ["HEAD /a", "HEAD /b", "GET /b", "GET /a"])
  }

  @Test func `an accepted 405 triggers no fallback`() async throws {
    let (end, requests) = try await fetch(.status(405, body: [1]), .forTests(method: .head, acceptStatus: [405]))
    #expect(end.image?.status == 405 && requests.count == 1)
  }

  @Test func `a handle that sent HEAD fetches bodies again`() async throws {
    let origin = try Origin(fallback: .body([1, 2, 3]))
    let methods: [DownloadOptions.Method] = [.head, .get, .head, .probe]
    let ends = try await Fetcher().fetchInTurn(methods.map { (origin.url("/\($0)"), .forTests(method: $0)) })
    #expect(ends.map { $0.image?.body } == [[], [1, 2, 3], [], [1, 2, 3]])
    #expect(origin.requests.map(\.method) == ["HEAD", "GET", "HEAD", "GET"])
    #expect(origin.requests.map { $0.headers["Range"] != nil } == [false, false, false, true])
  }
}
