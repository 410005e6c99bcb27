import ImagePrimitives

/// Converts URLs into a normal form, which identifies them and is requested.
///
/// The rules, after RFC 3986 section 6.2.2:
/// - only http and https; the scheme in lower case;
/// - the host in lower case, as A-labels (IDNA 2008 with the mapping of UTS 46, by libidn2 through libcurl); an IPv4
///   address in any notation becomes four decimal numbers, an IPv6 address the form of RFC 5952;
/// - no default port, no fragment, no empty query (libcurl sends none), no empty user name and password;
/// - no dot segments, and a slash for an empty path;
/// - bytes that a URL can't contain are percent-encoded: a space as `%20`, non-ASCII text as its bytes;
/// - percent-encodings have upper-case digits; those of unreserved characters are decoded, others are kept.
///
/// Spaces around a URL are ignored. It owns a libcurl handle, so each thread needs its own normaliser.
public final class URLNormalizer {
  /// The maximum length of a URL, both as written and in normal form.
  public static let maximumURLBytes = 8192

  private let authorityParser = AuthorityParser()
  private var completed: [UInt8] = []

  public init() {}

  /// Appends the normal form of `written` to `bytes` and returns the offsets of its parts.
  ///
  /// A reference without a scheme is resolved against `base` (RFC 3986 section 5.2). If it throws, `bytes` are unchanged.
  /// `written` must not point into `bytes`.
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
    try Self.checkCharacters(of: text)
    let reference = URLReference(text)
    if case .absolute(let schemeEnd) = reference {
      return try appendAbsolute(text, schemeEnd: schemeEnd, to: &bytes)
    }
    guard let base else { throw InvalidURL(.relative, "the URL has no scheme; start it with https:// or set base-url") }
    completed.removeAll(keepingCapacity: true)
    completed.append(contentsOf: base.bytes[..<reference.prefixLength(of: base)])
    completed.append(contentsOf: text)
    return try completed.withRawBytes { text throws(InvalidURL) in
      if let parts = Self.parts(ofNormalForm: text) {
        bytes.append(contentsOf: text)
        return parts
      }
      return try appendAbsolute(text, schemeEnd: base.parts.isSecure ? 5 : 4, to: &bytes)
    }
  }

  /// Whether the text has no scheme and so needs a base.
  public static func isRelative(_ written: UnsafeRawBufferPointer) -> Bool {
    if case .absolute = URLReference(trimming(written)) { false } else { true }
  }

  /// Appends the target of a redirect: a `Location`, absolute or relative to the URL that returned it.
  ///
  /// The rules are those of ``normalize(_:relativeTo:into:)``; if the location has a host of its own, it doesn't inherit the user
  /// name and password of `base`.
  public func resolve(
    _ location: UnsafeRawBufferPointer,
    against base: UnsafeRawBufferPointer,
    parts: URLParts,
    into bytes: inout [UInt8]
  ) throws(InvalidURL) -> URLParts {
    try normalize(location, relativeTo: BaseURL(normalized: base, parts: parts), into: &bytes)
  }

  private func appendAbsolute(
    _ text: UnsafeRawBufferPointer,
    schemeEnd: Int,
    to bytes: inout [UInt8]
  ) throws(InvalidURL) -> URLParts {
    let start = bytes.count
    do throws(InvalidURL) {
      try appendParts(text, schemeEnd: schemeEnd, to: &bytes)
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

  private func appendParts(_ text: UnsafeRawBufferPointer, schemeEnd: Int, to bytes: inout [UInt8]) throws(InvalidURL) {
    let isSecure = try Self.isSecure(scheme: text[..<schemeEnd])
    let slashes = text[(schemeEnd + 1)...].prefix(2)
    guard slashes.elementsEqual("//".utf8) else { throw InvalidURL(.host, "the URL lacks // and a host after its scheme") }
    bytes.append(contentsOf: (isSecure ? "https://" : "http://").utf8)

    let end = text.firstIndex(of: UInt8(ascii: "#")) ?? text.count
    let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
    let pathStart = text[slashes.endIndex..<end].firstIndex(where: isEnd) ?? end
    let queryMark = text[pathStart..<end].firstIndex(of: UInt8(ascii: "?")) ?? end

    try appendAuthority(text[slashes.endIndex..<pathStart], isSecure: isSecure, to: &bytes)
    Self.appendPath(text[pathStart..<queryMark], to: &bytes)
    if end - queryMark > 1 {
      bytes.append(UInt8(ascii: "?"))
      PercentEncoding.append(text[(queryMark + 1)..<end], allowed: .query, to: &bytes)
    }
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

  /// Appends the path with normalised encodings and without dot segments (RFC 3986 section 5.2.4).
  ///
  /// Dot segments are detected in the appended text, since `%2E` is a dot too.
  private static func appendPath(_ path: Slice<UnsafeRawBufferPointer>, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "/"))
    let root = bytes.count
    var segmentStart = root
    var index = path.startIndex + 1
    while index < path.endIndex {
      if path[index] == UInt8(ascii: "/") {
        endSegment(from: &segmentStart, root: root, isLast: false, in: &bytes)
        index += 1
      } else {
        index = PercentEncoding.appendOne(of: path, at: index, allowed: .path, to: &bytes)
      }
    }
    endSegment(from: &segmentStart, root: root, isLast: true, in: &bytes)
  }

  private static func endSegment(from start: inout Int, root: Int, isLast: Bool, in bytes: inout [UInt8]) {
    if bytes[start...].elementsEqual(".".utf8) {
      bytes.removeSubrange(start...)
    } else if bytes[start...].elementsEqual("..".utf8) {
      let parent = start == root ? root : (bytes[root..<(start - 1)].lastIndex(of: UInt8(ascii: "/")) ?? root - 1) + 1
      bytes.removeSubrange(parent...)
    } else if !isLast {
      bytes.append(UInt8(ascii: "/"))
    }
    start = bytes.count
  }

  private static func trimming(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var text = text[...]
    while text.first == UInt8(ascii: " ") { text.removeFirst() }
    while text.last == UInt8(ascii: " ") { text.removeLast() }
    return UnsafeRawBufferPointer(rebasing: text)
  }

  private static func checkCharacters(of text: UnsafeRawBufferPointer) throws(InvalidURL) {
    if text.isEmpty { throw InvalidURL(.empty, "the URL is empty") }
    if text.count > maximumURLBytes { throw tooLong }
    if text.contains(where: { $0 < 32 || $0 == 127 }) {
      throw InvalidURL(.controlCharacter, "the URL contains a control character, such as a tab or line break")
    }
  }

  private static func isSecure(scheme: Slice<UnsafeRawBufferPointer>) throws(InvalidURL) -> Bool {
    let lowerCase = scheme.lazy.map { $0 | 32 }
    if lowerCase.elementsEqual("https".utf8) { return true }
    if lowerCase.elementsEqual("http".utf8) { return false }
    throw InvalidURL(.scheme, "the URL's scheme is neither http nor https")
  }

  private static let tooLong = InvalidURL(.tooLong, "the URL is longer than \(maximumURLBytes) bytes")
}

/// The reason why a text isn't a URL that can be fetched.
public struct InvalidURL: Error, Sendable, Hashable {
  /// The rule that the text violates.
  public enum Reason: Sendable, Hashable {
    case empty, tooLong, controlCharacter, relative, scheme, credentials, host, port
  }

  public let reason: Reason
  /// One sentence that quotes nothing of the text and so contains no secrets.
  public let message: String

  init(_ reason: Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }
}
