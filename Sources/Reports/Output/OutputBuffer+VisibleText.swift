extension OutputBuffer {
  /// Appends text from outside as ``escapedForTerminal(_:)`` shows it, and puts what `replacement` gives in place of ASCII bytes that
  /// mean something where it stands.
  ///
  /// - Parameter limit: ends the text with an ellipsis where it would take more bytes than so many, by some.
  @inline(__always)
  mutating func appendVisible(
    _ bytes: UnsafeRawBufferPointer,
    limit: Int = .max,
    replacing replacement: (UInt8) -> StaticString?
  ) {
    let start = count
    var position = 0
    while position < bytes.count {
      if count - start >= limit { return appendLiteral("…") }
      let byte = bytes[position]
      if byte >= 0x20, byte < 0x7F {
        append(byte, replacing: replacement)
        position += 1
        continue
      }
      let (value, length) = decodeScalar(bytes, at: position)
      if let value, !isHidden(value) {
        append(UnsafeRawBufferPointer(rebasing: bytes[position..<position + length]))
      } else if let value {
        for byte in visibleEscape(of: value).utf8 { append(byte, replacing: replacement) }
      } else {
        for byte in bytes[position..<position + length] {
          for byte in visibleEscape(ofByte: byte).utf8 { append(byte, replacing: replacement) }
        }
      }
      position += length
    }
  }

  /// Appends text from outside.
  @inline(__always)
  mutating func appendVisible(_ text: String, limit: Int = .max, replacing replacement: (UInt8) -> StaticString?) {
    var text = text
    text.withUTF8 { appendVisible(UnsafeRawBufferPointer($0), limit: limit, replacing: replacement) }
  }

  @inline(__always)
  private mutating func append(_ byte: UInt8, replacing replacement: (UInt8) -> StaticString?) {
    if let text = replacement(byte) { appendLiteral(text) } else { append(byte) }
  }
}
