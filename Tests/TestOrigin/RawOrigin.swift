import TestSupport

/// A server on loopback, with or without TLS, that responds to each request at once with exactly the bytes of a test.
///
/// It reads the heads of requests without bodies, and sends no TLS alert before it closes a connection.
public final class RawOrigin: Sendable {
  /// The bytes to send, and whether the connection ends with them.
  public struct Response: Sendable {
    let bytes: [UInt8]
    let closes: Bool

    public init(_ head: String, _ body: [UInt8], closes: Bool = false) {
      bytes = Array(head.replacing("\n", with: "\r\n").utf8) + [13, 10, 13, 10] + body
      self.closes = closes
    }
  }

  private let server: LoopbackServer
  private let log: Watched<[String]>
  private let isSecure: Bool

  /// Sends the response that `respond` returns for the path of a request. It runs on the connection's thread.
  public init(_ certificates: Certificates? = nil, _ respond: @escaping @Sendable (String) -> Response) {
    let log = Watched<[String]>([])
    self.log = log
    isSecure = certificates != nil
    server = LoopbackServer(certificates) { client in
      while let head = client.readHead() {
        let path = String(head.split(separator: " ").dropFirst().first ?? "")
        log.withLock { $0.append(path) }
        let response = respond(path)
        client.write(response.bytes)
        if response.closes { return }
      }
    }
  }

  /// The URL of `path`, which starts with a slash.
  public func url(_ path: String) -> String { "\(isSecure ? "https" : "http")://127.0.0.1:\(server.port)\(path)" }

  /// The requested paths, in order of arrival.
  public var paths: [String] { log.value }
}
