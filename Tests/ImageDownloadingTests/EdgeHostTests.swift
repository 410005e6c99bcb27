import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// The server that counts as a download's host if the connection goes to another than the URL's.
struct EdgeHostTests {
  private func options(port: Int) -> DownloadOptions {
    var connection = DownloadOptions.Connection()
    connection.connectTo = [DownloadOptions.ConnectTarget(targetHost: "127.0.0.1", targetPort: port)]
    return DownloadOptions {
      $0.connection = connection
      $0.timeout = .seconds(600)
      $0.stallTimeout = .seconds(600)
      $0.retries = 0
    }
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
    var connection = DownloadOptions.Connection()
    connection.connectTo = [
      DownloadOptions.ConnectTarget(host: "a.example", port: 80, targetHost: "b.example", targetPort: 8080),
      DownloadOptions.ConnectTarget(host: "a.example", targetHost: "c.example", targetPort: nil),
      DownloadOptions.ConnectTarget(port: 443, targetHost: nil, targetPort: 8443),
    ]
    let target = { (url: String) in
      Array(url.utf8).withUnsafeBytes { connection.target(for: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }
    #expect(target("http://a.example/x") == "b.example:8080")
    #expect(target("https://a.example/x") == "c.example:443")
    #expect(target("https://[::1]/x") == "[::1]:8443")
    #expect(target("http://d.example/x") == nil && target("data:x") == nil)
  }
}
