extension OutputBuffer {
  /// Appends a JSON string of UTF-8 `bytes` with its quotes (RFC 8259, section 7); bytes that are not UTF-8 become U+FFFD.
  ///
  /// Beyond what the RFC asks, invisible characters and those that steer a terminal are escaped too: a report may be shown as is.
  mutating func appendJSON(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count + 2)
    append(UInt8(ascii: "\""))
    var clean = 0
    var position = 0
    while true {
      position = endOfPlainText(in: bytes, from: position, but: UInt8(ascii: "\\"))
      guard position < bytes.count else { break }
      let (value, length) = decodeScalar(bytes, at: position)
      if let value, value >= 0x80, !isHidden(value) {
        position += length
        continue
      }
      append(UnsafeRawBufferPointer(rebasing: bytes[clean..<position]))
      appendJSONEscape(value ?? 0xFFFD)
      position += length
      clean = position
    }
    append(UnsafeRawBufferPointer(rebasing: bytes[clean...]))
    append(UInt8(ascii: "\""))
  }

  /// Appends a JSON string with its quotes.
  package mutating func appendJSON(_ text: String) {
    var text = text
    text.withUTF8 { appendJSON(UnsafeRawBufferPointer($0)) }
  }

  fileprivate mutating func appendJSONEscape(_ scalar: UInt32) {
    switch scalar {
    case 0x22: appendLiteral("\\\"")
    case 0x5C: appendLiteral("\\\\")
    case 0x0A: appendLiteral("\\n")
    case 0x0D: appendLiteral("\\r")
    case 0x09: appendLiteral("\\t")
    case 0x1_0000...:
      appendJSONUnit(0xD800 + (scalar - 0x1_0000) >> 10)
      appendJSONUnit(0xDC00 + (scalar - 0x1_0000) & 0x3FF)
    default: appendJSONUnit(scalar)
    }
  }

  private mutating func appendJSONUnit(_ unit: UInt32) {
    let digits = String(unit, radix: 16)
    appendLiteral("\\u")
    for _ in digits.utf8.count..<4 { append(UInt8(ascii: "0")) }
    append(digits)
  }
}

/// JSON that another encoder wrote, with invisible characters and those that steer a terminal escaped, as in reports.
///
/// Beyond ASCII there is nothing but the contents of strings, where an escape says the same (RFC 8259, section 7).
public func escapingHiddenCharacters(inJSON text: String) -> String {
  guard text.unicodeScalars.contains(where: { $0.value >= 0x7F && isHidden($0.value) }) else { return text }
  var buffer = OutputBuffer(capacity: text.utf8.count)
  for scalar in text.unicodeScalars {
    if scalar.value >= 0x7F && isHidden(scalar.value) {
      buffer.appendJSONEscape(scalar.value)
    } else {
      buffer.append(String(scalar))
    }
  }
  return buffer.text
}
