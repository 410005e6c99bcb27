import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Redirects: which are followed, and what they must not carry along.
struct RedirectTests {
  @Test(arguments: [301, 302, 303, 307, 308])
  func `redirects, even relative ones, are followed within one attempt`(status: Int) async throws {
    let origin = try Origin([
      "/dir/a": .redirect(to: "b?x=1", status: status), "/dir/b?x=1": .redirect(to: "/c", status: status),
      "/c": .body([1, 2, 3], type: "image/png", headers: ["ETag": "\"v1\"", "Last-Modified": "Sat, 21 Nov 2026 10:00:00 GMT"]),
    ])
    let end = try await Fetcher().fetch(origin.url("/dir/a"))
    let image = try #require(end.image)
    #expect(image.body == [1, 2, 3] && image.contentType == "image/png" && image.validators.etag == "\"v1\"")
    #expect(image.validators.lastModified == "Sat, 21 Nov 2026 10:00:00 GMT")
    #expect(image.finalURL == origin.url("/c"))
    #expect(end.summary.attempts == 1)
    #expect(try await Fetcher().fetch(origin.url("/c")).image?.finalURL == nil)
  }

  @Test(arguments: [(0, true), (2, true), (3, false)]) func `more redirects than allowed fail as redirects`(
    limit: Int,
    fails: Bool
  ) async throws {
    let origin = try Origin([
      "/1": .redirect(to: "/2"), "/2": .redirect(to: "/3"), "/3": .redirect(to: "/4"), "/4": .body([1]),
    ])
    let end = try await Fetcher().fetch(origin.url("/1"), options: .forTests(retries: 2, redirects: limit))
    #expect(end.failure?.kind == (fails ? .redirects : nil))
    #expect(origin.requests.count == limit + 1)
  }

  @Test(arguments: [8160, 8170, 8192])
  func `a redirect that fits only without the URL's credentials fails as redirects`(count: Int) async throws {
    let origin = try Origin(["/1": .redirect(to: "/2")], fallback: .body([1]))
    let location = origin.url("/") + String(repeating: "a", count: count - origin.url("/").utf8.count)
    origin.set("/1", .redirect(to: location))
    let end = try await Fetcher().fetch("http://alice:hunter2@127.0.0.1:\(origin.port)/1")
    // "alice:hunter2@" has 14 bytes.
    #expect(end.failure?.kind == (count + 14 > 8192 ? .redirects : nil))
    #expect(origin.requests.count == (count + 14 > 8192 ? 1 : 2))
    if let failure = end.failure { #expect(!failure.message.contains("hunter2")) }
  }

  @Test func `a redirect loop is detected before it repeats`() async throws {
    let origin = try Origin(["/1": .redirect(to: "/2"), "/2": .redirect(to: "/1"), "/self": .redirect(to: "/self")])
    let failure = try #require(try await Fetcher().fetch(origin.url("/1")).failure)
    #expect(failure.kind == .redirects && !failure.isTransient)
    #expect(origin.requests.count == 2)
    #expect(try await Fetcher().fetch(origin.url("/self")).failure?.kind == .redirects)
    #expect(origin.requests.count == 3)
  }

  @Test func `a redirect back that sets a cookie is followed with cookies only, and at most as often as allowed`() async throws {
    let origin = try Origin()
    let wall = Behaviour.computed { request in
      let cookie = request.headers["Cookie"] ?? ""
      if cookie.contains("seen=1") { return .body([1]) }
      return .status(302, headers: ["Location": request.target, "Set-Cookie": "seen=1; Path=/"])
    }
    for path in ["/self", "/%7eself?"] { origin.set(path, wall) }
    origin.set("/login", .status(302, headers: ["Location": "/page", "Set-Cookie": "user=1; Path=/"]))
    origin.set("/page", .computed { ($0.headers["Cookie"] ?? "").contains("user=1") ? .body([2]) : .redirect(to: "/login") })
    origin.set("/endless", .status(302, headers: ["Location": "/endless", "Set-Cookie": "a=1; Path=/"]))
    for path in ["/self", "/%7eself?", "/page"] {
      #expect(try await Fetcher().fetch(origin.url(path), options: .forTests(handlesCookies: true)).image != nil, "\(path)")
      let failure = try #require(try await Fetcher().fetch(origin.url(path)).failure)
      #expect(failure.kind == .redirects && !failure.isTransient)
      expectGolden(failure.message, for: path)
    }
    let before = origin.requests.count
    let endless = try await Fetcher().fetch(origin.url("/endless"), options: .forTests(handlesCookies: true, redirects: 3))
      .failure
    #expect(endless?.kind == .redirects && endless?.message == "more than 3 redirects")
    #expect(origin.requests.count == before + 4)
  }

  @Test(
    arguments: [
      "ftp://127.0.0.1/a", "file:///etc/passwd", "javascript:alert(1)", "data:image/png;base64,AAAA", "http://",
    ]
  )
  func `a redirect to another scheme fails as redirects`(location: String) async throws {
    let origin = try Origin(["/1": .redirect(to: location)])
    let failure = try #require(try await Fetcher().fetch(origin.url("/1")).failure)
    #expect(failure.kind == .redirects && !failure.isTransient)
  }

  @Test func `headers and credentials are sent only to their own origin, even on the way back`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: origin.url("/b", host: 1)))
    origin.set("/b", .redirect(to: origin.url("/c", host: 0)))
    origin.set("/c", .redirect(to: "/d"))
    origin.set("/d", .body([1]))
    let url = origin.url("/a").replacing("http://", with: "http://user:pass@")
    let options = DownloadOptions.forTests(headers: [("X-Token", "secret"), ("Cookie", "id=1")])
    #expect(try await Fetcher().fetch(url, options: options).image != nil)

    let requests = origin.requests
    try #require(requests.map(\.path) == ["/a", "/b", "/c", "/d"])
    for request in requests {
      let isHome = request.path != "/b"
      #expect(request.headers["X-Token"] == (isHome ? "secret" : nil))
      #expect(request.headers["Cookie"] == (isHome ? "id=1" : nil))
      // RFC 7617: base64 of user:pass.
      #expect(request.headers["Authorization"] == (isHome ? "Basic dXNlcjpwYXNz" : nil))
      #expect(request.headers["Accept"] == "image/webp,image/*;q=0.8")
    }
  }

  @Test func `a redirect target's host limit applies`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let urls = (0..<30).map { number in
      origin.set("/from\(number)", .redirect(to: origin.url("/to\(number)", host: 1)))
      return origin.url("/from\(number)")
    }
    let fetcher = try Fetcher(concurrency: 16, perHost: 3)
    #expect(try await fetcher.fetchAll(urls).allSatisfy { $0.image != nil })
    #expect(origin.peakInFlight(host: 0) <= 3 && origin.peakInFlight(host: 1) <= 3)
  }
}
