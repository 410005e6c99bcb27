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
}
