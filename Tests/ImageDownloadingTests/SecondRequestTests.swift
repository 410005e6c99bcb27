import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Second requests for accepted images, to read the status of caches on the way.
struct SecondRequestTests {
  private let body = pattern(5000)

  private func options(_ method: DownloadOptions.Method = .get, retries: Int = 0) -> DownloadOptions {
    let patience = Duration.seconds(600)
    let options = DownloadOptions.forTests(method: method, headers: [("X-Own", "1")], timeout: patience, stallTimeout: patience)
    return options.with { ($0.retries, $0.purpose.checksRemoteCache) = (retries, true) }
  }

  /// An origin with a first and a second response.
  private func origin(_ first: Behaviour, then second: Behaviour) throws -> Origin {
    try Origin(["/a": .sequence([first, second])])
  }

  private func plain(_ headers: HeaderFields = [:], _ bytes: [UInt8]? = nil) -> Behaviour {
    .body(bytes ?? body, headers: headers)
  }

  @Test func `the second of two equal requests shows the cache status, and the first fetches the image`() async throws {
    let origin = try origin(
      plain(["X-Cache": "MISS", "ETag": "\"1\""]),
      then: plain(["X-Cache": "HIT", "ETag": "\"2\""], [1, 2])
    )
    let end = try await Fetcher().fetch(origin.url("/a"), options: options())
    let image = try #require(end.image)
    #expect(image.remoteCache == RemoteCacheResponse(.hit, evidence: "X-Cache: HIT"))
    #expect(image.body == body && image.validators.etag == "\"1\"" && end.summary.attempts == 1)
    #expect(end.summary.receivedBytes == UInt64(body.count + 2))
    let requests = origin.requests
    try #require(requests.count == 2)
    #expect(
      requests[0].headers.fields.map { "\($0.name): \($0.value)" } == requests[1].headers.fields.map { "\($0.name): \($0.value)" }
    )
    // Since the body was read to its end, one connection serves both requests.
    #expect(requests.map(\.connection) == [1, 1])
  }

  @Test func `by default nothing is requested twice`() async throws {
    let origin = try origin(plain(["X-Cache": "MISS"]), then: plain(["X-Cache": "HIT"]))
    #expect(try #require(try await Fetcher().fetch(origin.url("/a")).image).remoteCache == nil)
    #expect(origin.requests.count == 1)
  }

  @Test func `a rejected image isn't requested again`() async throws {
    let origin = try origin(.status(404), then: plain())
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options()).failure?.status == 404)
    #expect(origin.requests.count == 1)
  }

  @Test(arguments: [DownloadOptions.Method.head, .probe])
  func `HEAD and probes are repeated as they were`(method: DownloadOptions.Method) async throws {
    let origin = try Origin(["/a": .ranged(pattern(300_000), headers: ["CF-Cache-Status": "HIT"])])
    let image = try #require(try await Fetcher().fetch(origin.url("/a"), options: options(method)).image)
    #expect(image.remoteCache?.status == .hit && image.isPrefix)
    #expect(origin.requests.map(\.method) == (method == .head ? ["HEAD", "HEAD"] : ["GET", "GET"]))
    #expect(origin.requests.map { $0.headers["Range"] } == (method == .head ? [nil, nil] : ["bytes=0-65535", "bytes=0-65535"]))
  }

  @Test func `a probe of several parts repeats only the first`() async throws {
    let origin = try Origin(["/a": .ranged(pattern(300_000), headers: ["ETag": "\"1\"", "Age": "3"])])
    let options = options(.probe).with { $0.purpose.prefixJudge = JudgeLog().wanting(100_000) }
    let image = try #require(try await Fetcher().fetch(origin.url("/a"), options: options).image)
    #expect(image.remoteCache?.status == .hit && image.body.count > 65_536)
    let ranges = origin.requests.map { $0.headers["Range"] }
    #expect(ranges.count == 3 && ranges.first == ranges.last && ranges.last == "bytes=0-65535")
    #expect(origin.requests.last?.headers["If-Range"] == nil)
  }

  @Test(arguments: [true, false]) func `a large second body is cut off`(hasLength: Bool) async throws {
    let large = pattern(4 << 20)
    let behaviour = hasLength ? Behaviour.body(large, headers: ["Age": "9"]) : .chunked([large], headers: ["Age": "9"])
    let origin = try Origin(["/a": behaviour])
    let fetcher = try Fetcher()
    let end = try await fetcher.fetch(origin.url("/a"), options: options())
    let image = try #require(end.image)
    #expect(image.remoteCache?.status == .hit && image.bodyBytes == large.count && image.wasStreamed)
    #expect(end.summary.receivedBytes < UInt64(large.count + (1 << 20)))
    #expect(fetcher.recorder.body(of: end) == large)
  }

  @Test func `a failed second request leaves the image good, reports why, and isn't retried`() async throws {
    for (second, text) in [(Behaviour.status(503), "503"), (.reset, "connection"), (.redirect(to: "/b"), "redirects")] {
      let origin = try origin(plain(), then: second)
      let end = try await Fetcher().fetch(origin.url("/a"), options: options(retries: 3))
      let answer = try #require(end.image?.remoteCache)
      #expect(answer.status == .unknown && answer.evidence == nil && answer.failure?.message.contains(text) == true, "\(answer)")
      #expect(end.image?.body == body && end.summary.attempts == 1)
      // libcurl itself repeats a request that fails on a reused connection before the first byte.
      #expect(origin.count(of: "/a") == (text == "connection" ? 3 : 2) && origin.count(of: "/b") == 0)
    }
  }

  @Test func `retries come before the second request`() async throws {
    let (end, requests) = try await fetch(.sequence([.status(500), plain(), plain(["Age": "1"])]), options(retries: 2))
    #expect(end.image?.remoteCache?.status == .hit && end.summary.attempts == 2)
    #expect(requests.count == 3)
  }

  @Test func `after redirects the last server gets the second request`() async throws {
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": plain(["X-Cache": "HIT"])])
    let image = try #require(try await Fetcher().fetch(origin.url("/a"), options: options()).image)
    #expect(image.remoteCache?.status == .hit && image.finalURL == origin.url("/b"))
    #expect(origin.requests.map(\.path) == ["/a", "/b", "/b"])
  }

  @Test func `the second request is never conditional, and revalidated images are checked too`() async throws {
    let origin = try Origin([
      "/a": .computed { $0.headers["If-None-Match"] == nil ? .body([1], headers: ["Age": "5"]) : .status(304) }
    ])
    let end = try await Fetcher().fetch(origin.url("/a"), options: options(), validators: Validators(etag: "\"1\""))
    #expect(end.isNotModified && end.image?.remoteCache?.status == .hit)
    #expect(origin.requests.map { $0.headers["If-None-Match"] } == ["\"1\"", nil])
  }

  @Test func `a waiter that joins during the second request of a streamed image gets it whole`() async throws {
    let large = pattern(300_000)
    let gate = Gate()
    let origin = try Origin(["/a": .sequence([.body(large), .held(gate, then: .body(large)), .body(large)])])
    let fetcher = try Fetcher()
    let download = { Download($0, origin.url("/a"), options: options()) }
    fetcher.client.submit([download(1)])
    try await gate.waitForWaiting(1)
    fetcher.client.submit([download(2)])
    try await fetcher.settle()
    gate.open()
    for end in try await fetcher.recorder.waitForEnds(4) where end.id != .max {
      #expect(fetcher.recorder.body(of: end) == large, "download \(end.id)")
    }
    #expect(origin.requests.count == 4)
  }

  @Test func `a host pause before the second request leaves the image good`() async throws {
    let origin = try Origin(["/a": plain(), "/b": .status(429, headers: ["Retry-After": "99999"])])
    let gate = origin.hold("/a")
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/a"), origin.url("/b")], options: options())
    try await gate.waitForWaiting(1)
    #expect(try await fetcher.recorder.waitForEnds(1)[0].failure?.status == 429)
    gate.open()
    let end = try #require(try await fetcher.recorder.waitForEnds(2).last)
    #expect(end.image?.body == body && end.image?.remoteCache?.status == .unknown)
    #expect(end.image?.remoteCache?.failure != nil && origin.count(of: "/a") == 1)
  }

  @Test func `cancelling ends the second request too`() async throws {
    let gate = Gate()
    let origin = try origin(plain(), then: .held(gate, then: plain()))
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/a")], options: options())
    try await gate.waitForWaiting(1)
    fetcher.client.cancel([1], includingRunning: true)
    #expect(try await fetcher.recorder.waitForEnds(1)[0].isCancelled)
    gate.open()
  }

  @Test func `a response rejected by a modifier the second time reports nothing`() async throws {
    let count = Watched(0)
    let modifier = RequestModifier(name: "once") { request in
      count.withLock { count in
        count += 1
        return count == 1 ? request : nil
      }
    }
    let origin = try origin(plain(), then: plain(["Age": "1"]))
    let end = try await Fetcher().fetch(origin.url("/a"), options: options().with { $0.requestModifier = modifier })
    #expect(end.image?.body == body && end.image?.remoteCache?.status == .unknown)
    #expect(end.image?.remoteCache?.failure?.message.contains("once") == true && origin.requests.count == 1)
  }
}
