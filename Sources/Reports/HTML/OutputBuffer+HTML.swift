extension OutputBuffer {
  /// Appends text from anywhere as HTML: the one place where text becomes part of a page.
  ///
  /// The five characters that mean something in text or in a quoted attribute are character references (HTML Standard, 13.1.4),
  /// so one form does for both, and for SVG within the page. What is hidden or steers the order of text shows as in a terminal.
  mutating func appendHTML(_ text: String) {
    appendVisible(text, replacing: Self.characterReference)
  }

  private static func characterReference(of byte: UInt8) -> StaticString? {
    switch byte {
    case UInt8(ascii: "&"): "&amp;"
    case UInt8(ascii: "<"): "&lt;"
    case UInt8(ascii: ">"): "&gt;"
    case UInt8(ascii: "\""): "&quot;"
    case UInt8(ascii: "'"): "&#39;"
    default: nil
    }
  }

  /// Appends bytes in Base64 with padding (RFC 4648, section 4).
  mutating func append(base64 bytes: [UInt8]) {
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let rest = bytes.count - start
      let second = rest > 1 ? bytes[start + 1] : 0
      let third = rest > 2 ? bytes[start + 2] : 0
      let group = UInt32(bytes[start]) << 16 | UInt32(second) << 8 | UInt32(third)
      for digit in 0..<4 {
        append(
          digit <= rest ? Self.base64Digit(UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * digit)) & 63) : UInt8(ascii: "=")
        )
      }
    }
  }

  private static func base64Digit(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + (value - 26)
    case 52..<62: UInt8(ascii: "0") + (value - 52)
    case 62: UInt8(ascii: "+")
    default: UInt8(ascii: "/")
    }
  }
}
