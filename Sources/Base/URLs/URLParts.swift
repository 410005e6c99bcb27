/// The offsets of a normalised URL's parts in its bytes.
///
/// Offsets count from the URL's first byte. They fit in 16 bits, since URLs have at most ``URLNormalizer/maximumURLBytes`` bytes;
/// this keeps thousands of entries small.
public struct URLParts: Sendable, Hashable {
  /// Whether the scheme is https rather than http.
  public let isSecure: Bool
  private let hostStart: UInt16
  private let hostEnd: UInt16
  private let pathStart: UInt16
  private let pathEnd: UInt16
  private let end: UInt16

  init(isSecure: Bool, hostStart: Int, hostEnd: Int, pathStart: Int, pathEnd: Int, end: Int) {
    self.isSecure = isSecure
    self.hostStart = UInt16(hostStart)
    self.hostEnd = UInt16(hostEnd)
    self.pathStart = UInt16(pathStart)
    self.pathEnd = UInt16(pathEnd)
    self.end = UInt16(end)
  }

  /// Empty parts, for an entry with an invalid URL.
  public static let empty = URLParts(isSecure: false, hostStart: 0, hostEnd: 0, pathStart: 0, pathEnd: 0, end: 0)

  private var authorityStart: Int { isSecure ? 8 : 7 }

  /// User name and password, without the `@` after them; empty, right before the host, if there are none.
  public var userInfo: Range<Int> {
    let start = authorityStart
    return start..<max(start, Int(hostStart) - 1)
  }

  /// `name` or `name:port`, never with the scheme's default port; identifies the host everywhere.
  public var hostAndPort: Range<Int> { Int(hostStart)..<Int(pathStart) }

  /// The name or address alone; an IPv6 address has its brackets.
  public var host: Range<Int> { Int(hostStart)..<Int(hostEnd) }

  /// The path, which always starts with a slash.
  public var path: Range<Int> { Int(pathStart)..<Int(pathEnd) }

  /// The query without its question mark; empty if there is none.
  public var query: Range<Int> { min(Int(pathEnd) + 1, Int(end))..<Int(end) }

  /// The path with the question mark and query, if there is one, as in the request line.
  public var requestTarget: Range<Int> { Int(pathStart)..<Int(end) }

  /// The length of the whole URL in bytes.
  public var count: Int { Int(end) }
}
