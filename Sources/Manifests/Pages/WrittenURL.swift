import ImagePrimitives
import ImageURLs

/// A URL as pages write it (WHATWG URL Standard, section 4.4). Browsers accept more than RFC 3986: surrounding and inner line breaks,
/// backslashes for slashes, and a scheme with too few or too many slashes.
enum WrittenURL {
  enum Kind {
    case reference
    /// Nothing to fetch: empty, as browsers treat it.
    case empty
    /// Another scheme than http and https, or only a fragment.
    case notFetched
  }

  /// Replaces `cleaned` by the URL as RFC 3986 writes it.
  static func clean(_ written: UnsafeRawBufferPointer, base: BaseURL, into cleaned: inout [UInt8]) -> Kind {
    cleaned.removeAll(keepingCapacity: true)
    var start = 0
    var end = written.count
    while start < end, written[start] <= 0x20 { start += 1 }
    while end > start, written[end - 1] <= 0x20 { end -= 1 }
    // A longer URL is invalid in any case.
    end = min(end, start + 3 * URLNormalizer.maximumURLBytes)
    for byte in written[start..<end] where byte != 0x09 && byte != 0x0a && byte != 0x0d { cleaned.append(byte) }
    guard let first = cleaned.first else { return .empty }
    if first == UInt8(ascii: "#") { return .notFetched }
    guard let colon = schemeEnd(of: cleaned) else {
      replaceBackslashes(&cleaned, from: 0)
      collapseSlashes(&cleaned, from: 0, keepingSingle: true)
      return .reference
    }
    let scheme = cleaned[..<colon].map(\.asciiLowercased)
    let isSecure = scheme.elementsEqual("https".utf8)
    guard isSecure || scheme.elementsEqual("http".utf8) else { return .notFetched }
    replaceBackslashes(&cleaned, from: colon + 1)
    // "special relative or authority state": http:path is relative to a base with the same scheme.
    if isSecure == base.parts.isSecure, !cleaned[(colon + 1)...].starts(with: "//".utf8) {
      cleaned.removeSubrange(...colon)
      return cleaned.isEmpty ? .empty : .reference
    }
    collapseSlashes(&cleaned, from: colon + 1, keepingSingle: false)
    return .reference
  }

  private static func schemeEnd(of text: [UInt8]) -> Int? {
    guard let first = text.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first | 0x20 else { return nil }
    for (index, byte) in text.enumerated() {
      switch byte {
      case UInt8(ascii: ":"): return index
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): continue
      default: if !(UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20) { return nil }
      }
    }
    return nil
  }

  private static func replaceBackslashes(_ text: inout [UInt8], from start: Int) {
    for index in start..<text.count {
      if text[index] == UInt8(ascii: "?") || text[index] == UInt8(ascii: "#") { return }
      if text[index] == UInt8(ascii: "\\") { text[index] = UInt8(ascii: "/") }
    }
  }

  /// Writes two slashes before a host, however many there are ("special authority ignore slashes state").
  private static func collapseSlashes(_ text: inout [UInt8], from start: Int, keepingSingle: Bool) {
    let count = text[start...].prefix { $0 == UInt8(ascii: "/") }.count
    if keepingSingle, count < 2 || text.count == count { return }
    text.replaceSubrange(start..<start + count, with: "//".utf8)
  }
}
