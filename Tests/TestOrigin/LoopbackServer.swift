import CTestTLS
import Foundation
import Glibc
import TestSupport

/// A TCP server on 127.0.0.1 with a thread per connection, for protocols that no linked library implements.
///
/// It stops listening when the last reference is released; a connection's thread ends with its client.
final class LoopbackServer: Sendable {
  private let socket = LoopbackSocket()
  var port: Int { socket.port }

  init(_ certificates: Certificates? = nil, _ serve: @escaping @Sendable (LoopbackStream) -> Void) {
    guard listen(socket.descriptor, 256) == 0 else { fatalError("listen: \(String(cString: strerror(errno)))") }
    // A separate descriptor, so that the thread doesn't retain the server.
    let listener = dup(socket.descriptor)
    Thread.detachNewThread {
      while true {
        let client = accept(listener, nil, nil)
        if client < 0, errno == EINTR || errno == ECONNABORTED { continue }
        guard client >= 0 else { break }
        Thread.detachNewThread {
          if let stream = LoopbackStream(client, certificates) { serve(stream) }
        }
      }
      close(listener)
    }
  }

  deinit { shutdown(socket.descriptor, Int32(SHUT_RDWR)) }
}

/// One connection, read and written by blocking calls, and closed with the last reference.
///
/// `@unchecked Sendable`: a socket may be used by any thread, and with TLS only the server's thread reads and writes.
final class LoopbackStream: @unchecked Sendable {
  private let descriptor: Int32
  private var tls: UnsafeMutableRawPointer?

  /// With certificates it uses TLS, and HTTP/2 if the client supports it; nil if the client supports neither HTTP/2 nor HTTP/1.1.
  init?(_ descriptor: Int32, _ certificates: Certificates?) {
    self.descriptor = descriptor
    tls = certificates.flatMap { test_tls_accept(descriptor, $0.server, $0.serverKey) }
    if certificates != nil, tls == nil { return nil }
  }

  /// Connects to a port of 127.0.0.1; nil if it is refused.
  init?(to port: Int) {
    let socket = LoopbackSocket()
    guard socket.connect(port: port) == 0 else { return nil }
    descriptor = dup(socket.descriptor)
    tls = nil
  }

  /// Continues with TLS; false if the handshake fails.
  func startTLS(_ certificates: Certificates) -> Bool {
    tls = test_tls_accept(descriptor, certificates.server, certificates.serverKey)
    return tls != nil
  }

  deinit {
    if let tls { test_tls_free(tls) }
    close(descriptor)
  }

  /// The next bytes, at most `limit`; empty at the end.
  func read(_ limit: Int = 65_536) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      var result: Int
      repeat {
        result = tls.map { Int(test_tls_read($0, buffer.baseAddress, limit)) } ?? recv(descriptor, buffer.baseAddress, limit, 0)
      } while result < 0 && errno == EINTR && tls == nil
      count = max(0, result)
    }
  }

  /// Exactly `count` bytes; nil if the connection ends before.
  func readAll(_ count: Int) -> [UInt8]? {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let part = read(count - bytes.count)
      if part.isEmpty { return nil }
      bytes += part
    }
    return bytes
  }

  /// The text up to and including an empty line; nil if the connection ends before.
  func readHead() -> String? {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) {
      guard let byte = readAll(1) else { return nil }
      bytes += byte
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The next line without its end; nil if the connection ends before.
  func readLine() -> String? {
    var bytes: [UInt8] = []
    while !bytes.suffix(2).elementsEqual([13, 10]) {
      guard let byte = readAll(1) else { return nil }
      bytes += byte
    }
    return String(decoding: bytes.dropLast(2), as: UTF8.self)
  }

  /// False if the client has disconnected.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { bytes in
        tls.map { Int(test_tls_write($0, bytes.baseAddress, bytes.count)) }
          ?? send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR, tls == nil { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  @discardableResult
  func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  /// Ends both directions, so that both sides' threads wake up.
  func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Ends the output of this side.
  func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }
}

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

  public func url(_ path: String) -> String { "\(isSecure ? "https" : "http")://127.0.0.1:\(server.port)\(path)" }

  public var paths: [String] { log.value }
}
