/// Converts URLs into the form in which browsers request them (WHATWG URL Standard, section 4.4), which also identifies them.
///
/// Caches and signatures see the bytes of a request, so its path and query stay as written: percent-encodings with the case of their
/// digits, a `%` that begins none, repeated slashes, and an empty query. Two spellings are two requests. Only this changes:
/// - only http and https; the scheme in lower case, and two slashes after it, whatever number was written;
/// - the host in lower case, as A-labels (IDNA 2008 with the mapping of UTS 46, by libidn2 through libcurl); an IPv4
///   address in any notation becomes four decimal numbers, an IPv6 address the form of RFC 5952;
/// - no default port, no fragment, no empty user name and password;
/// - no dot segments, also percent-encoded ones; a slash for an empty path, and slashes for its backslashes;
/// - characters that requests can't contain are percent-encoded: a space as `%20`, non-ASCII text as its bytes.
///
/// Tabs and line breaks are ignored, and so are spaces and control characters around a URL. It owns a libcurl handle, so each
/// thread needs its own normaliser.
public final class URLNormalizer {
  /// The maximum length of a URL, both as written and in normal form.
  public static let maximumURLBytes = 8192

  private let authorityParser = AuthorityParser()
  private var completed: [UInt8] = []
  private var stripped: [UInt8] = []

  public init() {}

  /// Appends the normal form of `written` to `bytes` and returns the offsets of its parts.
  ///
  /// A reference without a scheme, such as the `Location` of a redirect, is resolved against `base`; if it has a host of its own, it
  /// doesn't inherit the user name and password. If it throws, `bytes` are unchanged. `written` must not point into
  /// `bytes`.
  public func normalize(
    _ written: UnsafeRawBufferPointer,
    relativeTo base: BaseURL?,
    into bytes: inout [UInt8]
  ) throws(InvalidURL) -> URLParts {
    if let parts = Self.parts(ofNormalForm: written) {
      bytes.append(contentsOf: written)
      return parts
    }
    let text = Self.trimming(written)
    guard text.contains(where: isIgnored) else { return try appendTrimmed(text, relativeTo: base, to: &bytes) }
    stripped.removeAll(keepingCapacity: true)
    for byte in text where !isIgnored(byte) { stripped.append(byte) }
    return try stripped.withRawBytes { text throws(InvalidURL) in try appendTrimmed(text, relativeTo: base, to: &bytes) }
  }

  private func appendTrimmed(_ text: UnsafeRawBufferPointer, relativeTo base: BaseURL?, to bytes: inout [UInt8])
    throws(InvalidURL) -> URLParts
  {
    let reference = try URLReference(text, base: base)
    if text.count > Self.maximumURLBytes { throw Self.tooLong }
    guard case .relative(let prefix) = reference.kind else {
      return try appendAbsolute(text[reference.start...], isSecure: reference.kind == .https, to: &bytes)
    }
    guard let base else { throw InvalidURL(.relative, "the URL has no scheme; start it with https:// or set base-url") }
    completed.removeAll(keepingCapacity: true)
    completed.append(contentsOf: base.bytes[..<prefix])
    completed.append(contentsOf: text[reference.start...])
    let isSecure = base.parts.isSecure
    return try completed.withRawBytes { text throws(InvalidURL) in
      if let parts = Self.parts(ofNormalForm: text) {
        bytes.append(contentsOf: text)
        return parts
      }
      return try appendAbsolute(text[(isSecure ? 8 : 7)...], isSecure: isSecure, to: &bytes)
    }
  }

  /// Whether the text has no scheme and so needs a base.
  public static func isRelative(_ written: UnsafeRawBufferPointer) -> Bool {
    URLReference.schemeEnd(of: trimming(written)) == nil
  }

  /// Appends a URL whose authority begins `text`.
  private func appendAbsolute(_ text: Slice<UnsafeRawBufferPointer>, isSecure: Bool, to bytes: inout [UInt8])
    throws(InvalidURL) -> URLParts
  {
    let start = bytes.count
    do throws(InvalidURL) {
      try appendParts(text, isSecure: isSecure, to: &bytes)
      guard bytes.count - start <= Self.maximumURLBytes else { throw Self.tooLong }
    } catch {
      bytes.removeSubrange(start...)
      throw error
    }
    let parts = bytes.withUnsafeBytes { Self.parts(ofNormalForm: UnsafeRawBufferPointer(rebasing: $0[start...])) }
    guard let parts else {
      bytes.removeSubrange(start...)
      throw InvalidURL(.host, "the URL has no normal form")
    }
    return parts
  }

  private func appendParts(_ text: Slice<UnsafeRawBufferPointer>, isSecure: Bool, to bytes: inout [UInt8]) throws(InvalidURL) {
    bytes.append(contentsOf: (isSecure ? "https://" : "http://").utf8)
    let text = text[..<(text.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex)]
    let pathStart = text.firstIndex { isSlash($0) || $0 == UInt8(ascii: "?") } ?? text.endIndex
    let queryMark = text[pathStart...].firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
    try appendAuthority(text[..<pathStart], isSecure: isSecure, to: &bytes)
    Self.appendPath(text[pathStart..<queryMark], to: &bytes)
    guard queryMark < text.endIndex else { return }
    bytes.append(UInt8(ascii: "?"))
    PercentEncoding.append(text[(queryMark + 1)...], allowed: .query, to: &bytes)
  }

  private func appendAuthority(_ authority: Slice<UnsafeRawBufferPointer>, isSecure: Bool, to bytes: inout [UInt8])
    throws(InvalidURL)
  {
    var host = authority
    if let at = authority.firstIndex(of: UInt8(ascii: "@")) {
      host = authority[(at + 1)...]
      // Parsers disagree on which `@` ends the password, and so on the host.
      guard !host.contains(UInt8(ascii: "@")) else {
        throw InvalidURL(.credentials, "the URL has several @ before the host; write an @ in a user name or password as %40")
      }
      if at > authority.startIndex {
        PercentEncoding.append(authority[..<at], allowed: .userInfo, to: &bytes)
        bytes.append(UInt8(ascii: "@"))
      }
    }
    guard !host.isEmpty else { throw InvalidURL(.host, "the URL has no host") }
    try authorityParser.append(host, isSecure: isSecure, to: &bytes)
  }

  /// Appends the path without dot segments.
  private static func appendPath(_ path: Slice<UnsafeRawBufferPointer>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "/"))
    let root = bytes.count
    var rest = path.dropFirst()
    while let end = rest.firstIndex(where: isSlash) {
      appendSegment(rest[..<end], root: root, isLast: false, to: &bytes)
      rest = rest[(end + 1)...]
    }
    appendSegment(rest, root: root, isLast: true, to: &bytes)
  }

  private static func appendSegment(_ segment: Slice<UnsafeRawBufferPointer>, root: Int, isLast: Bool, to bytes: inout [UInt8]) {
    switch DotSegment.dots(in: segment) {
    case 1: break
    case 2:
      let start = bytes.count
      let parent = start == root ? root : (bytes[root..<(start - 1)].lastIndex(of: UInt8(ascii: "/")) ?? root - 1) + 1
      bytes.removeSubrange(parent...)
    default:
      PercentEncoding.append(segment, allowed: .path, to: &bytes)
      if !isLast { bytes.append(UInt8(ascii: "/")) }
    }
  }

  private static func trimming(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var text = text[...]
    while let first = text.first, first <= UInt8(ascii: " ") { text.removeFirst() }
    while let last = text.last, last <= UInt8(ascii: " ") { text.removeLast() }
    return UnsafeRawBufferPointer(rebasing: text)
  }

  private static let tooLong = InvalidURL(.tooLong, "the URL is longer than \(maximumURLBytes) bytes")
}

/// The segments `.` and `..`, whose dots may be percent-encoded (WHATWG URL Standard, section 4.1).
enum DotSegment {
  /// 1 or 2 for such a segment, else 0.
  static func dots(in segment: some RandomAccessCollection<UInt8>) -> Int {
    var rest = segment[...]
    var dots = 0
    while let first = rest.first, dots < 3 {
      if first == UInt8(ascii: ".") {
        rest.removeFirst()
      } else if first == UInt8(ascii: "%"), rest.count >= 3, rest.dropFirst().first == UInt8(ascii: "2"),
        rest.dropFirst(2).first.map({ $0 | 0x20 }) == UInt8(ascii: "e")
      {
        rest.removeFirst(3)
      } else {
        return 0
      }
      dots += 1
    }
    return dots < 3 ? dots : 0
  }
}

/// Browsers treat backslashes as slashes, except in queries.
func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

/// Tabs and line breaks, which browsers remove from URLs.
private func isIgnored(_ byte: UInt8) -> Bool { byte == 0x09 || byte == 0x0a || byte == 0x0d }

/// The reason why a text isn't a URL that can be fetched.
public struct InvalidURL: Error, Sendable, Hashable {
  /// The rule that the text violates.
  public enum Reason: Sendable, Hashable {
    case empty, tooLong, relative, scheme, credentials, host, port
  }

  public let reason: Reason
  /// One sentence that quotes nothing of the text and so contains no secrets.
  public let message: String

  init(_ reason: Reason, _ message: String) { (self.reason, self.message) = (reason, message) }
}
