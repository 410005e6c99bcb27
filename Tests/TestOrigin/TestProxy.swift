import Foundation
import TestSupport

/// A proxy on loopback for HTTP, CONNECT tunnels, and SOCKS 4, 4a and 5; it connects to 127.0.0.1, whatever the name.
public final class TestProxy: Sendable {
  private let server: LoopbackServer
  private let requests: Watched<[String]>

  /// Listens on an ephemeral port.
  ///
  /// - Parameters:
  ///   - refusal: the status line of responses to CONNECT, such as `407 Proxy Authentication Required`.
  ///   - target: the port of HTTP tunnels; nil: the one that CONNECT names.
  public init(refusal: String? = nil, target: Int? = nil) {
    let requests = Watched<[String]>([])
    self.requests = requests
    server = LoopbackServer { client in
      guard let first = client.readAll(1)?[0] else { return }
      switch first {
      case 4: Self.socks4(client, requests)
      case 5: Self.socks5(client, requests)
      default: Self.http(client, first, refusal, target, requests)
      }
    }
  }

  public var port: Int { server.port }

  /// The log so far: a line per tunnel or forwarded request, such as `CONNECT example.test:80`, `GET http://example.test/a` or
  /// `socks5 example.test:80`, followed by user and password if there were any.
  public var log: [String] { requests.value }

  private static func note(_ line: String, _ requests: Watched<[String]>) { requests.withLock { $0.append(line) } }

  // MARK: HTTP

  private static func http(
    _ client: LoopbackStream,
    _ first: UInt8,
    _ refusal: String?,
    _ target: Int?,
    _ requests: Watched<[String]>
  ) {
    var upstream: LoopbackStream?
    var start = String(UnicodeScalar(first))
    while let rest = client.readHead() {
      let lines = (start + rest).components(separatedBy: "\r\n")
      start = ""
      let words = lines[0].split(separator: " ").map(String.init)
      let secret = lines.first { $0.lowercased().hasPrefix("proxy-authorization: basic ") }?.split(separator: " ").last
      let user = secret.flatMap { Data(base64Encoded: String($0)) }.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
      note("\(words[0]) \(words[1])\(user)", requests)
      let isTunnel = words[0] == "CONNECT"
      if isTunnel, let refusal {
        client.write("HTTP/1.1 \(refusal)\r\nContent-Length: 0\r\nX-Proxy: refused\r\n\r\n")
        continue
      }
      let authority = isTunnel ? words[1] : words[1].components(separatedBy: "/")[2]
      guard let port = authority.split(separator: ":").last.flatMap({ Int($0) }) else { return }
      if isTunnel {
        guard let server = LoopbackStream(to: target ?? port) else { return _ = client.write("HTTP/1.1 502 Bad Gateway\r\n\r\n") }
        client.write("HTTP/1.1 200 Connection established\r\nX-Proxy: tunnel\r\nContent-Type: text/html\r\n\r\n")
        return relay(client, server)
      }
      if upstream == nil {
        upstream = LoopbackStream(to: port)
        guard let server = upstream else { return }
        Thread.detachNewThread { copy(from: server, to: client) }
      }
      let path = "/" + words[1].components(separatedBy: "/").dropFirst(3).joined(separator: "/")
      let headers = lines.dropFirst().filter { !$0.lowercased().hasPrefix("proxy-") }
      upstream?.write((["\(words[0]) \(path) HTTP/1.1"] + headers).joined(separator: "\r\n"))
    }
    upstream?.shutDown()
  }

  // MARK: SOCKS

  /// Handles SOCKS 4 and 4a after their first byte.
  private static func socks4(_ client: LoopbackStream, _ requests: Watched<[String]>) {
    guard let head = client.readAll(7), let user = readText(client) else { return }
    let (port, address) = (Int(head[1]) << 8 | Int(head[2]), Array(head[3...]))
    var host = address.map(String.init).joined(separator: ".")
    if host.hasPrefix("0.0.0."), let name = readText(client) { host = name }
    note("socks4 \(host):\(port)\(user.isEmpty ? "" : " \(user)")", requests)
    guard let server = LoopbackStream(to: port) else { return _ = client.write([0, 91, 0, 0, 0, 0, 0, 0]) }
    client.write([0, 90, 0, 0, 0, 0, 0, 0])
    relay(client, server)
  }

  /// Handles SOCKS 5 (RFC 1928), with user and password (RFC 1929) if the client offers them.
  private static func socks5(_ client: LoopbackStream, _ requests: Watched<[String]>) {
    guard let count = client.readAll(1), let methods = client.readAll(Int(count[0])) else { return }
    var user = ""
    if methods.contains(2) {
      client.write([5, 2])
      guard client.readAll(1) != nil, let name = readCounted(client), let password = readCounted(client) else { return }
      user = " \(name):\(password)"
      client.write([1, 0])
    } else {
      client.write([5, 0])
    }
    guard let head = client.readAll(4) else { return }
    let host = head[3] == 3 ? readCounted(client) : client.readAll(head[3] == 1 ? 4 : 16)?.map(String.init).joined(separator: ".")
    guard let host, let ends = client.readAll(2) else { return }
    let port = Int(ends[0]) << 8 | Int(ends[1])
    note("socks5 \(host):\(port)\(user)", requests)
    guard let server = LoopbackStream(to: port) else { return _ = client.write([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]) }
    client.write([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])
    relay(client, server)
  }

  private static func readCounted(_ client: LoopbackStream) -> String? {
    guard let count = client.readAll(1), let text = client.readAll(Int(count[0])) else { return nil }
    return String(decoding: text, as: UTF8.self)
  }

  private static func readText(_ client: LoopbackStream) -> String? {
    var text: [UInt8] = []
    while let byte = client.readAll(1)?[0] {
      if byte == 0 { return String(decoding: text, as: UTF8.self) }
      text.append(byte)
    }
    return nil
  }

  // MARK: Relaying

  private static func relay(_ client: LoopbackStream, _ server: LoopbackStream) {
    Thread.detachNewThread { copy(from: server, to: client) }
    copy(from: client, to: server)
  }

  private static func copy(from source: LoopbackStream, to target: LoopbackStream) {
    while true {
      let bytes = source.read()
      guard !bytes.isEmpty, target.write(bytes) else { break }
    }
    source.shutDown()
    target.shutDown()
  }
}
