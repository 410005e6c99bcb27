import TestSupport

/// An HTTP/2 server on loopback, with or without TLS, that sends only the frames that a test provides, valid or not (RFC 9113).
///
/// It acknowledges settings and pings by itself, ignores header fields, and counts requests by their streams.
public final class HTTP2Origin: Sendable {
  /// A request as far as it is parsed.
  public struct Request: Sendable, Hashable {
    /// The number of its connection, starting at 1.
    public let connection: Int
    public let stream: UInt32
    /// Its number among all requests, starting at 1.
    public let sequence: Int
  }

  /// A frame or event to send.
  public enum Frame: Sendable {
    /// The head of a response with status 200, with the length of its body if given, and with further fields of 4 KiB each.
    case head(UInt32, length: Int? = nil, fields: Int = 0)
    /// Bytes of a body, possibly with its end.
    case data(UInt32, [UInt8], ends: Bool = false)
    case reset(UInt32, code: UInt32)
    /// GOAWAY without an error: streams after `last` weren't processed.
    case goAway(last: UInt32)
    /// Bytes that need not be a frame.
    case bytes([UInt8])
    case close

    public static func answer(_ stream: UInt32, _ body: [UInt8]) -> [Frame] {
      [.head(stream, length: body.count), .data(stream, body, ends: true)]
    }
  }

  /// The error code of a stream that wasn't processed.
  public static let refusedStream: UInt32 = 7
  /// The error code of an internal server error.
  public static let internalError: UInt32 = 2

  private let server: LoopbackServer
  private let log: Watched<[Request]>
  private let isSecure: Bool

  /// Sends the frames that `respond` returns for the head of a request. It runs on the connection's thread.
  ///
  /// - Parameter certificates: for TLS; nil: without TLS.
  public init(_ certificates: Certificates? = nil, _ respond: @escaping @Sendable (Request) -> [Frame]) {
    let log = Watched<[Request]>([])
    let connections = Watched(0)
    self.log = log
    isSecure = certificates != nil
    server = LoopbackServer(certificates) { client in
      let number = connections.withLock { count in
        count += 1
        return count
      }
      guard client.readAll(24)?.starts(with: "PRI * HTTP/2.0".utf8) == true else { return }
      client.write(Self.frame(type: 4, stream: 0, []))
      while let (type, flags, stream, payload) = Self.read(client) {
        switch type {
        case 1:
          let request = log.withLock { log in
            log.append(Request(connection: number, stream: stream, sequence: log.count + 1))
            return log[log.count - 1]
          }
          for frame in respond(request) {
            if case .close = frame { return Self.close(client) }
            client.write(Self.bytes(of: frame))
          }
        case 4 where flags & 1 == 0: client.write(Self.frame(type: 4, flags: 1, stream: 0, []))
        case 6 where flags & 1 == 0: client.write(Self.frame(type: 6, flags: 1, stream: 0, payload))
        default: break
        }
      }
    }
  }

  /// Ends the output and reads until the client disconnects: unread bytes would reset the connection, and discard what was sent.
  private static func close(_ client: LoopbackStream) {
    client.endWriting()
    while read(client) != nil {}
  }

  public func url(_ path: String) -> String { "\(isSecure ? "https" : "http")://127.0.0.1:\(server.port)\(path)" }

  public var requests: [Request] { log.value }

  /// Suspends until at least `count` requests have arrived.
  public func waitForRequests(_ count: Int) async throws {
    try await log.wait(for: "\(count) requests") { $0.count >= count }
  }

  // MARK: Frames (RFC 9113, sections 4.1 and 6)

  private static func read(_ client: LoopbackStream) -> (type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8])? {
    guard let head = client.readAll(9) else { return nil }
    let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
    guard let payload = client.readAll(length) else { return nil }
    return (head[3], head[4], head[5...].reduce(0) { $0 << 8 | UInt32($1) }, payload)
  }

  private static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
    let length = payload.count
    let head = [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255), type, flags]
    return head + bytes(of: stream) + payload
  }

  /// HEADERS, and CONTINUATION for what exceeds its 16 KiB (RFC 9113, section 6.10).
  private static func head(_ stream: UInt32, _ block: [UInt8]) -> [UInt8] {
    let rest = Array(block.dropFirst(16_384))
    var frames = frame(type: 1, flags: rest.isEmpty ? 4 : 0, stream: stream, Array(block.prefix(16_384)))
    for start in stride(from: 0, to: rest.count, by: 16_384) {
      let part = Array(rest[start..<min(start + 16_384, rest.count)])
      frames += frame(type: 9, flags: start + part.count == rest.count ? 4 : 0, stream: stream, part)
    }
    return frames
  }

  private static func bytes(of number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

  private static func bytes(of frame: Frame) -> [UInt8] {
    switch frame {
    case .head(let stream, let length, let fields):
      // In HPACK's static table 8 is `:status: 200`, and 28 the name `content-length` (RFC 7541, appendix A and section 6.2.2).
      let digits = length.map { Array("\($0)".utf8) }
      let field = digits.map { [0x0F, 28 - 15, UInt8($0.count)] + $0 } ?? []
      // A literal field with a new name `x`; an integer of 7 bits continues in groups of 7 (RFC 7541, sections 5.1 and 6.2.2).
      let long = [0x00, 1, UInt8(ascii: "x"), 127, UInt8((4096 - 127) & 127 | 128), UInt8((4096 - 127) >> 7)]
      let further = (0..<fields).flatMap { _ in long + [UInt8](repeating: UInt8(ascii: "y"), count: 4096) }
      return head(stream, [0x88] + field + further)
    case .data(let stream, let bytes, let ends):
      // No frame may exceed 16 KiB.
      var frames: [UInt8] = []
      var rest = bytes[...]
      repeat {
        let part = rest.prefix(16_384)
        rest = rest.dropFirst(part.count)
        frames += self.frame(type: 0, flags: ends && rest.isEmpty ? 1 : 0, stream: stream, Array(part))
      } while !rest.isEmpty
      return frames
    case .reset(let stream, let code): return self.frame(type: 3, stream: stream, bytes(of: code))
    case .goAway(let last): return self.frame(type: 7, stream: 0, bytes(of: last) + bytes(of: UInt32(0)))
    case .bytes(let bytes): return bytes
    case .close: return []
    }
  }
}
