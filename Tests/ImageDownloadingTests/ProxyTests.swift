import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Requests through proxies.
struct ProxyTests {
  private let origin: Origin
  private let proxy = TestProxy()

  init() throws { origin = try Origin(fallback: .body([1, 2, 3])) }

  private func options(_ url: String, caFile: String? = nil) -> DownloadOptions {
    .forTests(connection: .with(proxy: .url(url), caFile: caFile))
  }

  @Test(
    arguments: [
      ("http", "GET http://image.test:PORT/a us er:p@ss"), ("socks5h", "socks5 image.test:PORT us er:p@ss"),
      ("socks4a", "socks4 image.test:PORT us er"), ("socks5", "socks5 127.0.0.1:PORT us er:p@ss"),
      ("socks4", "socks4 127.0.0.1:PORT us er"),
    ]
  )
  func `each kind of proxy reaches the server with its credentials`(scheme: String, expected: String) async throws {
    let resolvesItself = expected.contains("image.test")
    let url = resolvesItself ? "http://image.test:\(origin.port)/a" : origin.url("/a")
    let end = try await Fetcher().fetch(url, options: options("\(scheme)://us%20er:p%40ss@127.0.0.1:\(proxy.port)"))
    #expect(end.image?.body == [1, 2, 3])
    #expect(proxy.log == [expected.replacing("PORT", with: "\(origin.port)")])
    #expect(origin.requests.map { $0.headers["Proxy-Authorization"] } == [nil])
  }

  @Test func `a proxy is asked for the URL as written, and an empty query stays for one request only`() async throws {
    let fetcher = try Fetcher(concurrency: 1)
    let urls = ["http://u:p@image.test:\(origin.port)/%7ea?", origin.url("/b%2fc"), origin.url("/d??")]
    _ = try await fetcher.fetchInTurn(urls.map { ($0, options("http://127.0.0.1:\(proxy.port)")) })
    #expect(origin.requests.map(\.target) == ["/%7ea?", "/b%2fc", "/d??"])
    #expect(proxy.log.first == "GET http://image.test:\(origin.port)/%7ea?")
  }

  @Test func `proxy and origin credentials stay apart, and the tunnel request carries no origin headers`() async throws {
    let folder = TemporaryDirectory()
    folder.write([7], to: "a")
    let certificates = try await Certificates()
    let nginx = try await Nginx(serving: folder.path, tls: .init(certificates))
    let options = DownloadOptions.forTests(
      headers: [("X-Token", "secret")],
      credentials: .fixed(Credential(user: "alice", password: "x")),
      connection: .with(proxy: .url("http://bob:y@127.0.0.1:\(proxy.port)"), caFile: certificates.authority)
    )
    let fetcher = try Fetcher()
    let url = "https://image.test:\(nginx.port)/a"
    let ends = try await fetcher.fetchInTurn([(url, options), (url, options)])
    #expect(ends.map { $0.image?.body } == [[7], [7]])
    #expect(ends.last?.metrics?.reusedConnection == true && ends.last?.metrics?.protocolName == "HTTP/2")
    #expect(proxy.log == ["CONNECT image.test:\(nginx.port) bob:y"])
    #expect(ends[0].summary.response?.headers.value(of: "X-Proxy") == nil)
  }

  @Test(
    arguments: [
      ("407 Proxy Authentication Required", false), ("403 Forbidden", false), ("502 Bad Gateway", true),
      ("503 Service Unavailable", true),
    ]
  )
  func `a proxy that refuses the tunnel fails as connect, permanently or not by its status`(refusal: String, isTransient: Bool)
    async throws
  {
    let proxy = TestProxy(refusal: refusal)
    let end = try await Fetcher().fetch("https://image.test/a", options: options("http://bob:hunter2@127.0.0.1:\(proxy.port)"))
    let failure = try #require(end.failure)
    #expect(failure.kind == .connect && failure.isTransient == isTransient && failure.status == nil)
    expectGolden(failure.message, for: refusal)
  }

  @Test(arguments: ["http", "socks5", "socks4a", "https"])
  func `an unreachable proxy fails as connect without revealing its URL`(scheme: String) async throws {
    let refused = RefusedPort()
    let end = try await Fetcher().fetch(origin.url("/a"), options: options("\(scheme)://bob:hunter2@127.0.0.1:\(refused.port)"))
    let failure = try #require(end.failure)
    #expect(failure.kind == .connect && failure.isTransient && !failure.message.contains("hunter2"))
    expectGolden(failure.message, for: scheme)
    #expect(origin.requests.isEmpty)
  }

  @Test(arguments: ["socks4", "socks4a", "socks5", "socks5h"])
  func `a SOCKS proxy that finds no host fails as connect`(scheme: String) async throws {
    let refused = RefusedPort()
    let failure = try #require(
      try await Fetcher().fetch(refused.url("/a"), options: options("\(scheme)://127.0.0.1:\(proxy.port)")).failure
    )
    #expect(failure.kind == .connect && failure.isTransient)
    expectGolden(failure.message, for: scheme)
  }

  @Test func `a proxy with an unknown name fails as dns`() async throws {
    let failure = try #require(
      try await Fetcher().fetch(origin.url("/a"), options: options("http://no-such-proxy.invalid:1")).failure
    )
    #expect(failure.kind == .dns && failure.isTransient)
    expectGolden(failure.message)
  }

  @Test func `connections of one proxy aren't used for another, nor direct ones`() async throws {
    let other = TestProxy()
    let fetcher = try Fetcher()
    let url = origin.url("/a")
    let proxied = [proxy, other].flatMap { ["http://127.0.0.1:\($0.port)", "socks5h://127.0.0.1:\($0.port)"] }.map { options($0) }
    let all = [.forTests()] + proxied
    let ends = try await fetcher.fetchInTurn((all + all).map { (url, $0) })
    #expect(ends.allSatisfy { $0.image != nil })
    #expect(ends.map { $0.metrics?.reusedConnection } == Array(repeating: false, count: 5) + Array(repeating: true, count: 5))
    #expect(proxy.log.count == 3 && other.log.count == 3 && origin.connectionsOpened == 5)
  }

  @Test(
    arguments: [
      "ftp://u:hunter2@127.0.0.1:1", "http://u:hunter2@127.0.0.1:1/path", "http://u:hunter2@127.0.0.1:1?q", "http://",
      "http://u:hunter2@h\r\nX: y", "http://u:hunter2%0d%0a@h:1", "http://u%00:hunter2@h:1", "", "http://h:99999", "http:// h",
      "socks6://u:hunter2@h",
    ]
  )
  func `an invalid proxy URL is rejected with a message without its credentials`(url: String) throws {
    let problem = try #require(DownloadOptions.Connection.with(proxy: .url(url)).invalidReason)
    #expect(problem.hasPrefix("proxy: ") && !problem.contains("hunter2"))
  }

  @Test(arguments: ["h", "h:3128", "http://h/", "SOCKS5H://u:p@[::1]:1080"])
  func `a proxy's URL may omit parts that libcurl adds`(url: String) {
    #expect(DownloadOptions.Connection.with(proxy: .url(url)).invalidReason == nil)
  }
}
