import Foundation
import ImageDownloading
import ImagePrimitives
import Synchronization
import TestOrigin
import Testing

/// Credentials, cookies and certificates.
struct SecretTests {
  /// RFC 7617: base64 of the two with a colon between them.
  private func basic(_ user: String, _ password: String) -> String {
    "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
  }

  @Test("D7: user and password go to the download's own origin only, and a URL's own win")
  func credentials() throws {
    let origin = try Origin(addresses: [.ipv4, .ipv4])
    origin.set("/a", .redirect(to: origin.url("/b", host: 1)))
    origin.set("/b", .redirect(to: origin.url("/c", host: 0)))
    origin.set("/c", .body([1]))
    let options = DownloadOptions.forTests(credentials: .fixed(Credential(user: "us er", password: "p:ä@/")))
    #expect(try Fetcher().fetch(origin.url("/a"), options: options).image != nil)
    let sent = basic("us er", "p:ä@/")
    #expect(origin.requests.map { $0.headers["Authorization"] } == [sent, nil, sent])

    let own = origin.url("/a").replacing("http://", with: "http://own:pw@")
    #expect(try Fetcher().fetch(own, options: options).image != nil)
    let ownSent = basic("own", "pw")
    #expect(origin.requests.dropFirst(3).map { $0.headers["Authorization"] } == [ownSent, nil, ownSent])
  }

  @Test("D7: a callback gives credentials by host; they do not stick to the handle")
  func callback() throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv6])
    let asked = Mutex<[String]>([])
    let (port, port6) = (origin.ports[0], origin.ports[1])
    let credentials = Credentials.perHost(name: "hosts") { host, port, isSecure in
      asked.withLock { $0.append("\(host) \(port) \(isSecure)") }
      return host == "127.0.0.1" ? Credential(user: "four", password: "4") : nil
    }
    let fetcher = try Fetcher(concurrency: 1)
    let urls = [origin.url("/1"), origin.url("/2", host: 1), origin.url("/3")]
    fetcher.submit(urls, options: .forTests(credentials: credentials))
    _ = try fetcher.recorder.waitForEnds(3)
    fetcher.submit([origin.url("/4")], options: .forTests(credentials: nil))
    _ = try fetcher.recorder.waitForEnds(4)
    let sent = basic("four", "4")
    #expect(origin.requests.map { $0.headers["Authorization"] } == [sent, nil, sent, nil])
    #expect(asked.withLock { $0 } == ["127.0.0.1 \(port) false", "[::1] \(port6) false", "127.0.0.1 \(port) false"])
  }

  @Test("D7: no failure, event or description repeats credentials")
  func credentialsAreNotTold() throws {
    let origin = try Origin(["/a": .close, "/b": .status(401), "/c": .redirect(to: "ftp://x/")])
    let options = DownloadOptions.forTests(credentials: .fixed(Credential(user: "alice", password: "hunter2")))
    for path in ["/a", "/b", "/c"] {
      let fetcher = try Fetcher()
      fetcher.client.submit([
        Download(id: 1, url: Array(origin.url(path).utf8), options: options, wantsProgress: true, wantsDetails: true)
      ])
      _ = try fetcher.recorder.waitForEnds(1)
      var told = ""
      dump(fetcher.recorder.events, to: &told)
      #expect(!told.contains("hunter2") && !told.contains("alice"))
    }
  }

  @Test("M12: cookies are kept for downloads that ask for it, from then on and for those alone")
  func cookies() throws {
    let origin = try Origin(["/bare": .body([1], headers: ["Set-Cookie": "bare=1"])], fallback: .body([1]))
    origin.set("/set", .status(302, headers: ["Location": "/next", "Set-Cookie": "id=7; Path=/"]))
    let fetcher = try Fetcher(concurrency: 1)
    let with = DownloadOptions.forTests(handlesCookies: true)
    var id: UInt64 = 0
    func fetch(_ path: String, _ options: DownloadOptions) throws -> String? {
      id += 1
      fetcher.client.submit([Download(id: id, url: Array(origin.url(path).utf8), options: options)])
      try fetcher.recorder.waitForEnd(of: id)
      return origin.requests.last?.headers["Cookie"]
    }
    #expect(try fetch("/bare", .forTests()) == nil)
    #expect(try fetch("/set", with) == "id=7")
    #expect(try fetch("/again", with) == "id=7")
    #expect(try fetch("/without", .forTests()) == nil)
    #expect(try fetch("/bare", .forTests()) == nil)
    #expect(try fetch("/without", .forTests()) == nil)
    #expect(try fetch("/other", .forTests(handlesCookies: true, maxBytes: 9)) == "id=7")
    fetcher.downloader.clearCookies()
    #expect(try fetch("/cleared", with) == nil)
    #expect(try fetch("/set", with) == "id=7")
    // Another downloader has another jar.
    _ = try Fetcher().fetch(origin.url("/elsewhere"), options: with)
    #expect(origin.requests.last?.headers["Cookie"] == nil)
  }

  @Test("M12: a certificate that nobody vouches for is taken where it is asked for, and only there")
  func invalidCertificates() async throws {
    let server = try await TLSServer()
    let fetcher = try Fetcher()
    let url = "https://127.0.0.1:\(server.port)/"
    for (id, allows) in [(1, true), (2, false), (3, true)] as [(UInt64, Bool)] {
      let options = DownloadOptions.forTests(allowsInvalidTLSCertificates: allows)
      fetcher.client.submit([Download(id: id, url: Array(url.utf8), options: options)])
      try await fetcher.recorder.waitForEnd(of: id)
      #expect((fetcher.recorder.ends.last?.image?.status == 200) == allows)
      #expect((fetcher.recorder.ends.last?.failure?.kind == .tls) == !allows)
    }
  }
}
