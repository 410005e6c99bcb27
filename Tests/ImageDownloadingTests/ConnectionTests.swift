import Base
import Foundation
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

/// HTTP versions and connection targets.
struct ConnectionTests {
  private func options(_ connection: DownloadOptions.Connection) -> DownloadOptions { .forTests(connection: connection) }

  @Test func `the HTTP version is negotiated by TLS or set, and connections of other versions aren't reused`() async throws {
    let folder = TemporaryDirectory()
    folder.write([7], to: "a")
    let certificates = try await Certificates()
    let nginx = try await Nginx(serving: folder.path, tls: .init(certificates))
    for order in [[.automatic, .http1, .http2], [.http1, .http2, .automatic]] as [[DownloadOptions.HTTPVersion]] {
      let all = (order + order).map { (nginx.url("/a"), options(.with($0, caFile: certificates.authority))) }
      let ends = try await Fetcher().fetchInTurn(all)
      #expect(ends.allSatisfy { $0.image?.body == [7] })
      #expect(ends.map { $0.metrics?.protocolName } == (order + order).map { $0 == .http1 ? "HTTP/1.1" : "HTTP/2" })
      #expect(ends.map { $0.metrics?.reusedConnection } == [false, false, false, true, true, true])
    }
  }

  @Test(
    arguments: [Behaviour.close, .reset],
    [1, 8]
  )
  func `a connection that is closed as the next request goes out costs no retry, however often`(end: Behaviour, concurrency: Int)
    async throws
  {
    let used = Watched<Set<Int>>([])
    let origin = try Origin(
      fallback: .computed { request in
        used.withLock { $0.insert(request.connection).inserted } ? .body([7]) : end
      }
    )
    let fetcher = try Fetcher(concurrency: concurrency)
    let ends = try await fetcher.fetchAll((0..<100).map { origin.url("/\($0)") }, options: .forTests())
    let others = ends.filter { $0.image?.totalBytes != 1 || $0.summary.attempts != 1 }
    #expect(others.isEmpty)
  }

  /// The copy stands for a forked process, which has all sockets until it executes another program.
  @Test func `a socket isn't watched after it is closed, even while another process has it`() async throws {
    let used = Watched<Set<Int>>([])
    let origin = try Origin(
      fallback: .computed { request in
        used.withLock { $0.insert(request.connection).inserted } ? .body([7]) : .close
      }
    )
    let fetcher = try Fetcher()
    #expect(try await fetcher.fetch(origin.url("/a")).image != nil)
    let socket = try #require(descriptors().first { peerPort(of: $0) == origin.port })
    let copy = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    defer { close(copy) }
    var status = stat()
    fstat(copy, &status)
    let inode = "ino:\(String(status.st_ino, radix: 16)) "
    func isWatched() -> Bool { descriptors().contains { contents(ofFile: "/proc/self/fdinfo/\($0)").contains(inode) } }
    #expect(isWatched())
    #expect(try await fetcher.fetch(origin.url("/b")).image != nil)
    #expect(!isWatched())
  }

  private func descriptors() -> [Int32] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    return (names ?? []).compactMap { Int32($0) }
  }

  private func contents(ofFile path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

  private func peerPort(of socket: Int32) -> Int? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isKnown = withUnsafeMutableBytes(of: &address) { bytes in
      getpeername(socket, bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), &length) == 0
    }
    return isKnown && address.sin_family == AF_INET ? Int(address.sin_port.byteSwapped) : nil
  }

  @Test(arguments: [true, false]) func `a server without HTTP/2 fails if only HTTP/2 is allowed`(isSecure: Bool) async throws {
    let folder = TemporaryDirectory()
    folder.write([7], to: "a")
    let certificates = try await Certificates()
    let tls = Nginx.TLS(certificates, offersHTTP2: false)
    let nginx = try await Nginx(serving: folder.path, tls: isSecure ? tls : nil)
    let connection = DownloadOptions.Connection.with(.http2, caFile: isSecure ? certificates.authority : nil)
    let failure = try #require(try await Fetcher().fetch(nginx.url("/a"), options: options(connection)).failure)
    #expect(failure.kind == .connect && failure.isTransient == !isSecure)
    #expect(failure.message.hasPrefix("127.0.0.1:\(nginx.port) "))
    expectGolden(failure.message)
  }

  @Test func `connect-to changes the connection and keeps Host`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4, .ipv6])
    let targets: [DownloadOptions.ConnectTarget] = [
      .init(host: "a.test", port: 80, targetHost: "127.0.0.1", targetPort: origin.ports[0]),
      .init(host: "a.test", targetHost: "127.0.0.1", targetPort: origin.ports[1]),
      .init(targetHost: "[::1]", targetPort: origin.ports[2]),
    ]
    let urls = ["http://a.test/1", "http://a.test:81/2", "http://b.test/3"]
    let ends = try await Fetcher().fetchInTurn(urls.map { ($0, options(.with(connectTo: targets))) })
    #expect(ends.allSatisfy { $0.image != nil })
    #expect(origin.requests.map(\.port) == origin.ports)
    #expect(origin.requests.map { $0.headers["Host"] } == ["a.test", "a.test:81", "b.test"])
  }

  @Test func `connections to one target aren't used for another`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let all = origin.ports.map { options(.with(connectTo: [.init(targetHost: "127.0.0.1", targetPort: $0)])) } + [.forTests()]
    let url = origin.url("/a", host: 0)
    let ends = try await Fetcher().fetchInTurn((all + all).map { (url, $0) })
    #expect(ends.allSatisfy { $0.image != nil })
    // The first target equals the URL's own.
    #expect(origin.requests.map(\.port) == [0, 1, 0, 0, 1, 0].map { origin.ports[$0] })
    #expect(origin.connectionsOpened == 2)
  }

  @Test(
    arguments: [
      .init(host: "a\r\nb", targetHost: "h", targetPort: 1), .init(targetHost: "h:1", targetPort: 1),
      .init(targetHost: "", targetPort: 1), .init(targetHost: "h", targetPort: 0), .init(targetHost: "h", targetPort: 65_536),
      .init(host: "ü", targetHost: "h", targetPort: 1), .init(targetHost: "[::1", targetPort: 1),
    ] as [DownloadOptions.ConnectTarget]
  )
  func `a target without host and port is rejected`(target: DownloadOptions.ConnectTarget) {
    #expect(DownloadOptions.Connection.with(connectTo: [target]).invalidReason?.hasPrefix("connectTo: ") == true)
  }
}

/// The server that counts as a download's host if the connection goes to another than the URL's.
struct EdgeHostTests {
  private func options(port: Int) -> DownloadOptions {
    let connection = DownloadOptions.Connection.with(connectTo: [.init(targetHost: "127.0.0.1", targetPort: port)])
    return .forTests(connection: connection, timeout: .seconds(600), stallTimeout: .seconds(600))
  }

  @Test func `all names that one edge serves are one host`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let gate = origin.holdAll()
    let fetcher = try Fetcher(perHost: 1)
    fetcher.submit([origin.url("/1"), origin.url("/2", host: 1)], options: options(port: origin.port))
    try await origin.waitForInFlight(1)
    try await fetcher.settle()
    gate.open()
    #expect(try await fetcher.recorder.waitForEnds(4).compactMap(\.image).count == 2)
    #expect(origin.peakInFlight == 1)
  }

  @Test func `two edges are two hosts even if they serve the same name`() async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let gate = origin.holdAll()
    let fetcher = try Fetcher(perHost: 1)
    fetcher.client.submit(
      zip([UInt64(1), 2], origin.ports).map { id, port in
        Download(id, origin.url("/\(id)"), options: options(port: port))
      }
    )
    try await origin.waitForInFlight(2)
    gate.open()
    #expect(try await fetcher.recorder.waitForEnds(2).compactMap(\.image).count == 2)
  }

  @Test func `a connection failure names the server of the connection, not the URL's`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let refused = RefusedPort()
    let failure = try #require(try await Fetcher().fetch(origin.url("/a"), options: options(port: refused.port)).failure)
    #expect(failure.message == "no connection to 127.0.0.1:\(refused.port): Connection refused")
  }

  @Test func `the first rule that matches a URL sets the connection target`() {
    let connection = DownloadOptions.Connection.with(connectTo: [
      .init(host: "a.example", port: 80, targetHost: "b.example", targetPort: 8080),
      .init(host: "a.example", targetHost: "c.example", targetPort: nil), .init(port: 443, targetHost: nil, targetPort: 8443),
    ])
    let target = { (url: String) in
      Array(url.utf8).withUnsafeBytes { connection.target(for: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(target("http://a.example/x") == "b.example:8080")
    #expect(target("https://a.example/x") == "c.example:443")
    #expect(target("https://[::1]/x") == "[::1]:8443")
    #expect(target("http://d.example/x") == nil && target("data:x") == nil)
  }
}
