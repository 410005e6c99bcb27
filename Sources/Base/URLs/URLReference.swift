/// An absolute URL against which relative ones are resolved.
public struct BaseURL: Sendable, Hashable {
  /// The URL in normal form.
  public let bytes: [UInt8]
  public let parts: URLParts

  /// Parses the base; throws if ``URLNormalizer`` rejects it.
  public init(_ written: some StringProtocol) throws(InvalidURL) {
    var bytes: [UInt8] = []
    let text = Array(written.utf8)
    let normalizer = URLNormalizer()
    parts = try text.withRawBytes { written throws(InvalidURL) in
      try normalizer.normalize(written, relativeTo: nil, into: &bytes)
    }
    self.bytes = bytes
  }

  /// A URL that is already in normal form, such as one that redirects.
  public init(normalized bytes: some Collection<UInt8>, parts: URLParts) { (self.bytes, self.parts) = (Array(bytes), parts) }
}

/// How a text begins, which decides how a base completes it (WHATWG URL Standard, "basic URL parser").
struct URLReference {
  enum Kind: Equatable {
    /// It has an authority of its own, with or without a scheme.
    case http, https
    /// A prefix of the base, of that length, comes before it.
    case relative(prefix: Int)
  }

  let kind: Kind
  /// The offset of the authority, or of the part that follows the base's prefix.
  let start: Int

  /// Throws for an empty text and for other schemes than http and https.
  init(_ text: UnsafeRawBufferPointer, base: BaseURL?) throws(InvalidURL) {
    if text.isEmpty { throw InvalidURL(.empty, "the URL is empty") }
    var rest = 0
    if let schemeEnd = Self.schemeEnd(of: text) {
      let isSecure = try Self.isSecure(scheme: text[..<schemeEnd])
      rest = schemeEnd + 1
      let slashes = text[rest...].prefix(while: isSlash)
      // `http:path` and `http:/path` are relative to a base with the same scheme.
      guard slashes.count < 2, base?.parts.isSecure == isSecure else {
        self.init(kind: isSecure ? .https : .http, start: slashes.endIndex)
        return
      }
    }
    let slashes = text[rest...].prefix(while: isSlash)
    if slashes.count >= 2, let base {
      self.init(kind: base.parts.isSecure ? .https : .http, start: slashes.endIndex)
    } else {
      self.init(kind: .relative(prefix: base.map { Self.prefix(of: $0, before: text[rest...]) } ?? 0), start: rest)
    }
  }

  private init(kind: Kind, start: Int) { (self.kind, self.start) = (kind, start) }

  /// The offset of the colon after a scheme; nil if there is none.
  static func schemeEnd(of text: UnsafeRawBufferPointer) -> Int? {
    guard let first = text.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first | 32,
      let end = text.firstIndex(where: { !ByteSet.scheme.contains($0) }), text[end] == UInt8(ascii: ":")
    else { return nil }
    return end
  }

  private static func isSecure(scheme: Slice<UnsafeRawBufferPointer>) throws(InvalidURL) -> Bool {
    let lowerCase = scheme.lazy.map { $0 | 32 }
    if lowerCase.elementsEqual("https".utf8) { return true }
    if lowerCase.elementsEqual("http".utf8) { return false }
    throw InvalidURL(.scheme, "the URL's scheme is neither http nor https")
  }

  /// The length of the base's prefix that precedes `text`; dot segments are removed later.
  private static func prefix(of base: BaseURL, before text: Slice<UnsafeRawBufferPointer>) -> Int {
    switch text.first {
    case nil, UInt8(ascii: "#"): base.parts.count
    case UInt8(ascii: "?"): base.parts.path.upperBound
    case let first? where isSlash(first): base.parts.path.lowerBound
    case _?: base.bytes[base.parts.path].lastIndex(of: UInt8(ascii: "/"))! + 1
    }
  }
}

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
