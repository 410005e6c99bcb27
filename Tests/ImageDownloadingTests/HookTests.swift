import ImageDownloading
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// Hooks for requests and responses.
struct HookTests {
  @Test func `a request modifier sets the headers of each URL, only on hops of its own origin`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: "/b?x"))
    origin.set("/b?x", .redirect(to: origin.url("/c", host: 1)))
    origin.set("/c", .body([1]))
    let modifier = RequestModifier(name: "paths") { request in
      let kept = request.headers.filter { $0.name != "User-Agent" && $0.name != "X-A" }
      let path = HeaderField("X-Path", String(request.url.split(separator: "/").last!))
      return DownloadRequest(url: request.url, headers: kept + [path])
    }
    let options = DownloadOptions.forTests(headers: [("X-A", "1")]).with { $0.requestModifier = modifier }
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options).image != nil)
    let headers = origin.requests.map(\.headers)
    #expect(headers.map { $0["X-Path"] } == ["a", "b?x", nil])
    #expect(headers.map { $0["User-Agent"] } == [nil, nil, "prewarm"])
    #expect(headers.map { $0["X-A"] } == [nil, nil, nil])
    #expect(headers.map { $0["Accept"] } == Array(repeating: "image/webp,image/*;q=0.8", count: 3))
  }

  @Test func `an invalid header from a hook fails the download without a request`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let modifier = RequestModifier(name: "bad") { DownloadRequest(url: $0.url, headers: [HeaderField("X-A", "1\r\nX-B: 2")]) }
    let options = DownloadOptions { $0.requestModifier = modifier }
    let failure = try #require(try await Fetcher().fetch(origin.url("/a"), options: options).failure)
    #expect(failure.kind == .internal && !failure.isTransient)
    expectGolden(failure.message)
    #expect(origin.requests.isEmpty)
  }

  @Test func `a request modifier changes path, query and headers of each attempt`() async throws {
    let origin = try Origin(fallback: .sequence([.status(503), .body([1])]))
    let count = Mutex(0)
    let sign = RequestModifier(name: "sign") { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      var request = request
      request.url += "?signature=\(number)&text=ä"
      request.headers.append(HeaderField("X-Number", "\(number)"))
      return request
    }
    let end = try await Fetcher().fetch(origin.url("/a"), options: .forTests(retries: 1).with { $0.requestModifier = sign })
    #expect(end.summary.attempts == 2)
    #expect(origin.requests.map(\.target) == ["/a?signature=1&text=%C3%A4", "/a?signature=2&text=%C3%A4"])
    #expect(origin.requests.map { $0.headers["X-Number"] } == ["1", "2"])
  }

  @Test(
    arguments: [
      (nil, "the request modifier no rejected the request"),
      ("http://127.0.0.2/a", "the request modifier no returned a URL with another scheme, host or port"),
      ("", "the request modifier no returned an invalid URL: the URL is empty"),
    ]
  )
  func `a request modifier rejects a request with nil and cannot redirect it elsewhere`(url: String?, message: String)
    async throws
  {
    let origin = try Origin(fallback: .body([1]))
    let modifier = RequestModifier(name: "no") { request in url.map { DownloadRequest(url: $0, headers: request.headers) } }
    let end = try await Fetcher().fetch(origin.url("/a"), options: DownloadOptions { $0.requestModifier = modifier })
    #expect(end.failure == ImageFailure(.internal, message: message) && end.summary.attempts == 0)
    #expect(origin.requests.isEmpty)
  }

  @Test func `rejected requests free their slots`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let modifier = RequestModifier(name: "even") { $0.url.hasSuffix("0") ? $0 : nil }
    let fetcher = try Fetcher(concurrency: 2, perHost: 1)
    fetcher.submit((1...100).map { origin.url("/\($0)") }, options: DownloadOptions { $0.requestModifier = modifier })
    let ends = try await fetcher.recorder.waitForEnds(100)
    #expect(ends.count { $0.image != nil } == 10)
    try await fetcher.settle()
    #expect(fetcher.downloader.statistics.running == 0)
  }

  @Test(arguments: [true, false])
  func `a response modifier sees the final status and headers, and changes or rejects them`(refuses: Bool) async throws {
    let body = Behaviour.body([1, 2], type: "text/plain", status: 206, headers: ["X-Kind": "png", "ETag": "\"1\""])
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": body])
    let seen = Mutex<[ResponseHead]>([])
    let modifier = ResponseModifier(name: "kinds") { head in
      seen.withLock { $0.append(head) }
      guard !refuses, let kind = head.headers.value(of: "x-kind") else { return nil }
      return ResponseHead(
        status: 200,
        headers: [HeaderField("Content-Type", "image/\(kind)"), HeaderField("Cache-Control", "no-store")]
      )
    }
    let end = try await Fetcher().fetch(origin.url("/a"), options: DownloadOptions { $0.responseModifier = modifier })
    #expect(seen.withLock { $0.map(\.status) } == [206])
    if refuses {
      #expect(end.failure?.kind == .contentType)
      expectGolden(end.failure?.message)
    } else {
      let image = try #require(end.image)
      #expect(
        image.status == 200 && image.contentType == "image/png" && image.validators.etag == nil && !image.freshness.isStorable
      )
      #expect(image.body == [1, 2])
    }
  }

  @Test func `a response modifier judges responses without a body too`() async throws {
    let modifier = ResponseModifier(name: "m") { ResponseHead(status: 200, headers: $0.headers) }
    #expect(try await fetch(.status(204), DownloadOptions { $0.responseModifier = modifier }).end.image?.status == 200)
  }

  @Test func `a decryptor gets the whole body, however large, and its result is returned`() async throws {
    let body = pattern(500_000)
    let origin = try Origin(["/a": .body(body.map { $0 ^ 0x55 })])
    let xor = Decryptor(name: "xor") { $0.map { $0 ^ 0x55 } }
    let fetcher = try Fetcher()
    let end = try await fetcher.fetch(origin.url("/a"), options: .forTests(streamAbove: 1000).with { $0.decryptor = xor })
    #expect(end.image?.body == body && end.image?.wasStreamed == false)
    #expect(fetcher.recorder.events.count == 1)
  }

  @Test func `a body that a decryptor cannot read fails as content-type, and maxBytes applies before it`() async throws {
    let body = Behaviour.chunked([pattern(900), pattern(900)])
    let options = DownloadOptions { $0.decryptor = Decryptor(name: "none") { _ in nil } }
    let failure = ImageFailure(.contentType, message: "the decryptor none can't read the body")
    #expect(try await fetch(body, options).end.failure == failure)
    #expect(try await fetch(body, options.with { $0.maxBytes = 1000 }).end.failure?.kind == .tooLarge)
  }

  @Test(
    arguments: [
      ("image/png", true), ("Image/PNG; charset=x", true), ("image/webp", false), ("video/mp4", true), ("VIDEO/ogg", true),
      ("text/html", false), ("", false), (nil, false),
    ]
  )
  func `only accepted content types pass, in any case and with any parameters`(type: String?, isAccepted: Bool) async throws {
    let origin = try Origin(["/a": .body([1], type: type, headers: ["X-A": "1"])])
    let options = DownloadOptions { $0.acceptContentTypes = ["image/PNG", "video/*"] }
    let end = try await Fetcher().fetch(origin.url("/a"), options: options, wantsDetails: true)
    #expect((end.image != nil) == isAccepted)
    guard !isAccepted else { return }
    #expect(end.failure?.kind == .contentType && end.summary.response?.status == 200)
    #expect(end.summary.response?.headers.value(of: "x-a") == "1")
  }
}
