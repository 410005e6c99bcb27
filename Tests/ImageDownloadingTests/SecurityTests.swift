import Base
import Foundation
import Synchronization
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
      "ftp://127.0.0.1/a", "file:///etc/passwd", "HTTP://127.0.0.1/a", "", "http:///a", "http://127.0.0.1",
    ]
  )
  func `a URL that isn't normalised, or neither http nor https, is rejected before libcurl sees it`(url: String)
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

/// Credentials, cookies and certificates.
struct SecretTests {
  /// RFC 7617: base64 of the two with a colon between them.
  private func basic(_ user: String, _ password: String) -> String {
    "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
  }

  @Test func `user and password are sent only to the download's own origin, and a URL's own take precedence`() async throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: origin.url("/b", host: 1)))
    origin.set("/b", .redirect(to: origin.url("/c", host: 0)))
    origin.set("/c", .body([1]))
    let options = DownloadOptions.forTests(credentials: .fixed(Credential(user: "us er", password: "p:ä@/")))
    #expect(try await Fetcher().fetch(origin.url("/a"), options: options).image != nil)
    let sent = basic("us er", "p:ä@/")
    #expect(origin.requests.map { $0.headers["Authorization"] } == [sent, nil, sent])

    let own = origin.url("/a").replacing("http://", with: "http://own:pw@")
    #expect(try await Fetcher().fetch(own, options: options).image != nil)
    let ownSent = basic("own", "pw")
    #expect(origin.requests.dropFirst(3).map { $0.headers["Authorization"] } == [ownSent, nil, ownSent])
  }

  @Test func `options for another origin send no headers of the job and ignore its cookies`() async throws {
    let origin = try Origin(fallback: .body([1], headers: ["Set-Cookie": "id=7; Path=/"]))
    let defaults = [HeaderField("X-Default", "1"), HeaderField("User-Agent", "default")]
    let fetcher = try Fetcher(headers: defaults)
    let own = DownloadOptions {
      $0.headers = [.init("X-Own", "1"), .init("Accept", "own/*")]
      $0.removedHeaders = ["Accept-Encoding"]
      $0.credentials = .fixed(Credential(user: "alice", password: "hunter2"))
      $0.handlesCookies = true
      $0.retries = 0
      $0.requestModifier = RequestModifier(name: "modifier") { request in
        var request = request
        request.headers.append(HeaderField("X-Modifier", "1"))
        return request
      }
    }
    let other = own.forOtherOrigin
    let ends = try await fetcher.fetchInTurn([other, own, other, own].map { (origin.url("/a"), $0) })
    #expect(ends.count { $0.image != nil } == 4)
    let secrets = ["X-Default", "X-Own", "X-Modifier", "Authorization"]
    let sent = origin.requests.map { request in (secrets + ["Cookie"]).filter { request.headers[$0] != nil } }
    #expect(sent == [[], secrets, [], secrets + ["Cookie"]])
    #expect(origin.requests.map { $0.headers["User-Agent"] } == ["prewarm", "default", "prewarm", "default"])
    #expect(origin.requests.map { $0.headers["Accept"] } == [other.sentAccept, "own/*", other.sentAccept, "own/*"])
    // Predicted headers equal sent ones, and both kinds of options differ.
    for name in secrets + ["User-Agent", "Accept", "Accept-Encoding"] {
      let known = other.requestValue(ofHeader: name, defaults: defaults)
      #expect(known == origin.requests[0].headers[name])
    }
    #expect(Array(origin.url("/a").utf8).withUnsafeBytes { other.credential(for: $0) } == nil)
    #expect(other.forOtherOrigin == other && PreparedOptions(other) != PreparedOptions(own))
  }

  @Test func `a server that sets too many cookies loses them, and other servers keep theirs`() async throws {
    let flood = try Origin(
      fallback: .computed { request in
        let fields = (0..<49).map {
          ("Set-Cookie", "c\(request.path.dropFirst())-\($0)=\(String(repeating: "x", count: 20)); Path=/")
        }
        return .body([1], headers: HeaderFields(fields))
      }
    )
    let other = try Origin(fallback: .body([1], headers: ["Set-Cookie": "id=7; Path=/"]), addresses: [.ipv6])
    let options = DownloadOptions.forTests(handlesCookies: true)
    let fetcher = try Fetcher()
    let urls = [other.url("/a")] + (1...7).map { flood.url("/\($0)") } + [other.url("/a")]
    let ends = try await fetcher.fetchInTurn(urls.map { ($0, options) })
    #expect(ends.count { $0.image != nil } == 9)
    #expect(other.requests.map { $0.headers["Cookie"] } == [nil, "id=7"])
    let sent = flood.requests.map { $0.headers["Cookie"]?.split(separator: ";").count ?? 0 }
    // The sixth response exceeds 256 cookies in total.
    #expect(sent == [0, 49, 98, 147, 150, 150, 0])
  }

  @Test func `the Authorization header is known before sending, for Vary`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv6])
    let perHost = Credentials.perHost { host, _, _ in
      host == "127.0.0.1" ? Credential(user: "four", password: "4") : nil
    }
    let credentials: [Credentials?] = [
      nil, perHost, .fixed(Credential(user: "us er", password: "p:ä@/")), .fixed(Credential(user: "u", password: "")),
      .fixed(Credential(user: "abc", password: "de")), .fixed(Credential(user: "", password: "\u{7F}>?")),
    ]
    let headers: [[(name: String, value: String?)]] = [[], [("authorization", "Bearer x")], [("Authorization", nil)]]
    let fetcher = try Fetcher(concurrency: 1)
    for credentials in credentials {
      for headers in headers {
        for host in [0, 1] {
          let url = origin.url("/a", host: host)
          let options = DownloadOptions.forTests(headers: headers, credentials: credentials)
          _ = try await fetcher.fetch(url, options: options)
          let credential = Array(url.utf8).withUnsafeBytes { options.credential(for: $0) }
          let known = options.requestValue(ofHeader: "Authorization", credential: credential)
          #expect(origin.requests.last?.headers["Authorization"] == known)
        }
      }
    }
  }

  @Test func `options have a credential for http and https only, and none if the URL has its own`() {
    let alice = Credential(user: "alice", password: "x")
    let options = DownloadOptions { $0.credentials = .fixed(alice) }
    let found = { (url: String) in Array(url.utf8).withUnsafeBytes { options.credential(for: $0) } }
    #expect(found("https://h/a") == alice && found("http://h:8080/a") == alice)
    #expect(found("https://own@h/a") == nil && found("shelf:a") == nil)
    let asked = Credentials.perHost { host, port, isSecure in
      Credential(user: host, password: "\(port) \(isSecure)")
    }
    let byHost = DownloadOptions { $0.credentials = asked }
    let credential = Array("https://h/a".utf8).withUnsafeBytes { byHost.credential(for: $0) }
    #expect(credential == Credential(user: "h", password: "443 true"))
  }

  @Test func `a callback provides credentials per host, and they don't stick to the handle`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv6])
    let asked = Mutex<[String]>([])
    let (port, port6) = (origin.ports[0], origin.ports[1])
    let credentials = Credentials.perHost { host, port, isSecure in
      asked.withLock { $0.append("\(host) \(port) \(isSecure)") }
      return host == "127.0.0.1" ? Credential(user: "four", password: "4") : nil
    }
    let fetcher = try Fetcher(concurrency: 1)
    let urls = [origin.url("/1"), origin.url("/2", host: 1), origin.url("/3")]
    _ = try await fetcher.fetchAll(urls, options: .forTests(credentials: credentials))
    fetcher.submit([origin.url("/4")], options: .forTests(credentials: nil))
    _ = try await fetcher.recorder.waitForEnds(4)
    let sent = basic("four", "4")
    #expect(origin.requests.map { $0.headers["Authorization"] } == [sent, nil, sent, nil])
    #expect(asked.withLock { $0 } == ["127.0.0.1 \(port) false", "[::1] \(port6) false", "127.0.0.1 \(port) false"])
  }

  @Test func `no failure, event or description contains credentials`() async throws {
    let origin = try Origin(["/a": .close, "/b": .status(401), "/c": .redirect(to: "ftp://x/")])
    let options = DownloadOptions.forTests(credentials: .fixed(Credential(user: "alice", password: "hunter2")))
    for path in ["/a", "/b", "/c"] {
      let fetcher = try Fetcher()
      _ = try await fetcher.fetch(origin.url(path), options: options, wantsProgress: true, wantsDetails: true)
      var dumped = ""
      dump(fetcher.recorder.events, to: &dumped)
      #expect(!dumped.contains("hunter2") && !dumped.contains("alice"))
    }
  }

  @Test func `cookies are kept only for downloads that ask for it, from then on`() async throws {
    let origin = try Origin(["/bare": .body([1], headers: ["Set-Cookie": "bare=1"])], fallback: .body([1]))
    origin.set("/set", .status(302, headers: ["Location": "/next", "Set-Cookie": "id=7; Path=/"]))
    let fetcher = try Fetcher(concurrency: 1)
    let with = DownloadOptions.forTests(handlesCookies: true)
    func fetch(_ path: String, _ options: DownloadOptions) async throws -> String? {
      _ = try await fetcher.fetch(origin.url(path), options: options)
      return origin.requests.last?.headers["Cookie"]
    }
    #expect(try await fetch("/bare", .forTests()) == nil)
    #expect(try await fetch("/set", with) == "id=7")
    #expect(try await fetch("/again", with) == "id=7")
    #expect(try await fetch("/without", .forTests()) == nil)
    #expect(try await fetch("/bare", .forTests()) == nil)
    #expect(try await fetch("/without", .forTests()) == nil)
    #expect(try await fetch("/other", .forTests(handlesCookies: true, maxBytes: 9)) == "id=7")
    fetcher.downloader.clearCookies()
    #expect(try await fetch("/cleared", with) == nil)
    #expect(try await fetch("/set", with) == "id=7")
    // Another downloader has another jar.
    _ = try await Fetcher().fetch(origin.url("/elsewhere"), options: with)
    #expect(origin.requests.last?.headers["Cookie"] == nil)
  }

  @Test func `an invalid certificate is accepted only on request`() async throws {
    let server = RawOrigin(try await Certificates()) { _ in .init("HTTP/1.1 200 OK\nContent-Length: 1", [1]) }
    let fetcher = try Fetcher()
    for allows in [true, false, true] {
      let options = DownloadOptions.forTests(allowsInvalidTLSCertificates: allows, connection: .with(.http1))
      let end = try await fetcher.fetch(server.url("/"), options: options)
      #expect((end.image?.status == 200) == allows && (end.failure?.kind == .tls) == !allows)
    }
  }
}
