import Foundation
import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Attacks by URLs and servers, and leaks of secrets.
struct SecurityTests {
  @Test(
    arguments: [
      "http://127.0.0.1/a\r\nX-Injected: 1", "http://127.0.0.1/a\nb", "http://127.0.0.1/\u{0}", "http://127.0.0.1/\u{7F}",
      "http://127.0.0.1\r\n/", "http://u\r\nX: 1@127.0.0.1/", "http://127.0.0.1/a b", "http://127.0.0.1/ü",
      "http://bücher.example/",
      "http://127.0.0.1:80\t/", "\u{1}http://127.0.0.1/", "http://127.0.0.1\\@evil.test/", "http://a@b@127.0.0.1/",
    ]
  )
  func `a URL with control characters, spaces or raw non-ASCII letters is rejected before libcurl sees it`(url: String)
    async throws
  {
    let end = try await Fetcher().fetch(url)
    #expect(end.failure?.kind == .invalidURL && end.summary.attempts == 0)
  }

  @Test(arguments: ["/b\u{1}c", "http://127.0.0.1\u{8}/", "/b%0d%0aX-Injected:%201"])
  func `control characters in a redirect inject nothing`(location: String) async throws {
    let origin = try Origin(["/a": .redirect(to: location)], fallback: .body([1]))
    let end = try await Fetcher().fetch(origin.url("/a"))
    #expect(end.image != nil || end.failure?.kind == .redirects)
    #expect(origin.requests.allSatisfy { $0.headers["X-Injected"] == nil && $0.target.utf8.allSatisfy { $0 > 32 && $0 < 127 } })
  }

  @Test func `endless trailers are cut off, however small the body`() async throws {
    let trailers = (0..<20_000).map { "X-Trailer-\($0): aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" }.joined()
    let head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n"
    let end = try await fetch(.raw(head + "1\r\n\u{1}\r\n0\r\n" + trailers + "\r\n")).end
    #expect(end.failure?.kind == .tooLarge)
    expectGolden(end.failure?.message)
  }

  @Test func `cookies are sent only to the download's own origin and to hosts that set them`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .status(302, headers: ["Location": origin.url("/b", host: 1), "Set-Cookie": "id=7; Path=/"]))
    origin.set("/b", .status(302, headers: ["Location": origin.url("/c", host: 0), "Set-Cookie": "other=8; Path=/"]))
    origin.setFallback(.body([1]))
    let targets = ["a.test", "b.test"].map {
      DownloadOptions.ConnectTarget(host: $0, targetHost: "127.0.0.1", targetPort: origin.port)
    }
    let options = DownloadOptions.forTests(handlesCookies: true, connection: .with(connectTo: targets))
    let fetcher = try Fetcher()
    _ = try await fetcher.fetchInTurn([(origin.url("/a"), options)])
    #expect(origin.requests.map { $0.headers["Cookie"] } == [nil, nil, "id=7"])
    origin.set("/set", .body([1], headers: ["Set-Cookie": "a=1; Path=/"]))
    origin.set("/wide", .body([1], headers: ["Set-Cookie": "wide=1; Path=/; Domain=test"]))
    let urls = ["http://a.test/set", "http://a.test/wide", "http://a.test/1", "http://b.test/2"]
    _ = try await fetcher.fetchInTurn(urls.map { ($0, options) })
    #expect(origin.requests.suffix(4).map { $0.headers["Cookie"] } == [nil, "a=1", "a=1", nil])
  }

  @Test func `a different scheme, host or port is another origin`() throws {
    let own = try #require(URLOrigin(Array("https://h/".utf8)))
    for other in ["http://h/", "https://i/", "https://h:444/", "http://h:443/"] {
      #expect(URLOrigin(Array(other.utf8)) != own)
    }
    #expect(URLOrigin(Array("https://user@h/x".utf8)) == own)
  }

  @Test func `no message contains a URL's user or password, whatever fails`() async throws {
    let refused = RefusedPort()
    let listener = ClosingListener(answer: "SSH-2.0-OpenSSH_9.2\r\n")
    let origin = try Origin([
      "/reset": .reset, "/cut": .cut(afterBytes: 1, declared: 2), "/404": .status(404), "/large": .body(pattern(100)),
      "/far": .redirect(to: "ftp://alice:hunter2@h/"), "/circle": .redirect(to: "/circle"), "/stall": .stall,
      "/next": .redirect(to: "http://alice:hunter2@no-such-host.invalid/"),
      "/coded": .body(pattern(1000), headers: ["Content-Encoding": "gzip"]),
    ])
    let hosts = ["127.0.0.1:\(refused.port)", "127.0.0.1:\(listener.port)", "no-such-host.invalid"]
    let paths = ["reset", "cut", "404", "large", "far", "circle", "stall", "next", "coded"].map {
      "127.0.0.1:\(origin.port)/\($0)"
    }
    let urls = (hosts.map { "\($0)/" } + paths).flatMap { ["http://alice:hunter2@\($0)", "https://alice:hunter2@\($0)"] }
    for addresses in [DownloadOptions.AddressRule.any, .publicOnly] {
      let options = DownloadOptions.forTests(
        connection: .with(addresses: addresses),
        stallTimeout: .milliseconds(100),
        maxBytes: 10
      )
      let fetcher = try Fetcher()
      fetcher.submit(urls, options: options)
      for end in try await fetcher.recorder.waitForEnds(urls.count) {
        let failure = try #require(end.failure)
        #expect(!failure.message.contains("alice") && !failure.message.contains("hunter2"))
      }
    }
  }

  @Test(arguments: [1, 2])
  func `an encoded body that inflates more than an image would fails as too-large, whatever the limit`(layers: Int) async throws {
    var bytes = [UInt8](repeating: 0, count: 16 << 20)
    for _ in 0..<layers { bytes = try gzip(bytes) }
    let coding = Array(repeating: "gzip", count: layers).joined(separator: ", ")
    let origin = try Origin(["/a": .body(bytes, headers: ["Content-Encoding": coding])])
    let failure = try #require(try await Fetcher().fetch(origin.url("/a"), options: .forTests(retries: 3)).failure)
    #expect(failure.kind == .tooLarge && !failure.isTransient)
    expectGolden(failure.message)
    #expect(origin.requests.count == 1)
  }

  @Test func `bodies that inflate like images and texts are accepted`() async throws {
    let body = pattern(5 << 20) + [UInt8](repeating: 0, count: 3 << 20)
    #expect(try await fetch(.body(try gzip(body), headers: ["Content-Encoding": "gzip"])).end.image?.bodyBytes == body.count)
  }

  @Test func `the environment's proxy is used only on request, except for its excluded hosts`() async {
    await #expect(processExitsWith: .success) {
      let origin = try Origin(fallback: .body([1]))
      let proxy = TestProxy()
      setenv("http_proxy", "http://bob:y@127.0.0.1:\(proxy.port)", 1)
      setenv("no_proxy", "direct.test", 1)
      let environment = DownloadOptions.forTests(
        connection: .with(
          connectTo: [.init(host: "direct.test", targetHost: "127.0.0.1", targetPort: origin.port)],
          proxy: .environment
        )
      )
      let fetches = [
        ("http://image.test:\(origin.port)/a", environment), ("http://direct.test:\(origin.port)/b", environment),
        (origin.url("/c"), .forTests()),
      ]
      let ends = try await Fetcher().fetchInTurn(fetches)
      #expect(ends.allSatisfy { $0.image != nil })
      #expect(proxy.log == ["GET http://image.test:\(origin.port)/a bob:y"])
    }
  }
}
