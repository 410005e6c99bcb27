extension OutputBuffer {
  /// Appends text from outside as the content of an element or of an attribute in double quotes (XML 1.0, sections 2.2, 2.4 and 3.3.3).
  ///
  /// What XML cannot hold, such as control characters and U+FFFE, appears as ``escapedForTerminal(_:)`` has it, and so does the end of a
  /// line, which an attribute would lose.
  mutating func appendXML(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    appendVisible(bytes, limit: limit, replacing: xmlReference)
  }

  /// Appends text from outside.
  mutating func appendXML(_ text: String, limit: Int) { appendVisible(text, limit: limit, replacing: xmlReference) }

  /// Appends an attribute after a space.
  mutating func appendXML(attribute name: StaticString, _ value: String, limit: Int = 2000) {
    append(UInt8(ascii: " "))
    appendLiteral(name)
    appendLiteral("=\"")
    appendXML(value, limit: limit)
    append(UInt8(ascii: "\""))
  }

  /// Appends an attribute after a space.
  mutating func appendXML(attribute name: StaticString, _ value: UInt64) {
    append(UInt8(ascii: " "))
    appendLiteral(name)
    appendLiteral("=\"")
    append(decimal: value)
    append(UInt8(ascii: "\""))
  }

  /// Appends an attribute in seconds after a space, to the microsecond.
  mutating func appendXML(attribute name: StaticString, seconds: Double) {
    append(UInt8(ascii: " "))
    appendLiteral(name)
    appendLiteral("=\"")
    append(seconds, decimals: 6)
    append(UInt8(ascii: "\""))
  }
}

@inline(__always)
private func xmlReference(_ byte: UInt8) -> StaticString? {
  switch byte {
  case UInt8(ascii: "&"): "&amp;"
  case UInt8(ascii: "<"): "&lt;"
  // In an element's text `]]>` must not stand.
  case UInt8(ascii: ">"): "&gt;"
  case UInt8(ascii: "\""): "&quot;"
  default: nil
  }
}
