/// Which header fields a job may send.
enum HeaderRules {
  /// Fields that belong to the connection or the framing of the message (RFC 9110, sections 7.2, 7.6.1, 8.6, 10.1.1), or that
  /// prewarm sets itself to know what an answer means.
  private static let reserved: Set<String> = [
    "connection", "content-encoding", "content-length", "expect", "host", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "accept-encoding", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
  ]
  private static let keys = ["accept": "request.accept", "user-agent": "request.user-agent"]

  /// Names in lower case of fields that may not stand in `request.headers`, or in a variant.
  static func refusedNames(ofVariant: Bool) -> [String] { (ofVariant ? [] : keys.keys.sorted()) + reserved.sorted() }

  /// Why a field of that name may not stand in `request.headers`, or in a variant; nil where it may.
  static func problem(name: String, ofVariant: Bool) -> String? {
    let lowered = name.lowercased()
    if !ofVariant, let key = keys[lowered] { return "'\(name)' has a key of its own; use \(key)" }
    if reserved.contains(lowered) { return "'\(name)' is set by prewarm itself and cannot be given" }
    if name.isEmpty || !name.utf8.allSatisfy(isTokenByte) { return "'\(name)' is not the name of a header field" }
    return nil
  }

  /// Whether it holds no control characters but tabs (RFC 9110, section 5.5).
  static func isValue(_ text: String) -> Bool { text.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F } }

  /// Whether it may stand in a token (RFC 9110, section 5.6.2).
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    byte.isLetter || byte.isDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}
