/// Text from outside as it may be shown in a terminal: control characters, bidirectional overrides, invisible characters and bytes
/// that are not UTF-8 appear as `\n`, `\u{202E}` or `\xFF`; all else stays as it is.
public func escapedForTerminal(_ bytes: UnsafeRawBufferPointer) -> String {
  var text = ""
  var position = 0
  while position < bytes.count {
    let (value, length) = decodeScalar(bytes, at: position)
    if let value, let scalar = Unicode.Scalar(value) {
      if isHidden(value) { text += visibleEscape(of: value) } else { text.unicodeScalars.append(scalar) }
    } else {
      for byte in bytes[position..<position + length] { text += visibleEscape(ofByte: byte) }
    }
    position += length
  }
  return text
}

/// Text from outside as it may be shown in a terminal.
public func escapedForTerminal(_ text: String) -> String {
  var text = text
  return text.withUTF8 { escapedForTerminal(UnsafeRawBufferPointer($0)) }
}

/// What stands for a hidden scalar, such as `\n` and `\u{202E}`.
func visibleEscape(of scalar: UInt32) -> String {
  switch scalar {
  case 0x0A: "\\n"
  case 0x0D: "\\r"
  case 0x09: "\\t"
  default: "\\u{" + hexadecimal(UInt64(scalar), digits: 1, isUppercase: true) + "}"
  }
}

/// What stands for a byte that is not UTF-8, such as `\xFF`.
func visibleEscape(ofByte byte: UInt8) -> String { "\\x" + hexadecimal(UInt64(byte), digits: 2, isUppercase: true) }

/// How many columns of a terminal `text` takes: two for East Asian wide characters and emoji, none for combining marks.
func columns(of text: String) -> Int {
  text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
}

/// How many columns a scalar takes; the wide ranges follow Unicode's EastAsianWidth (W, F) closely enough to line up.
private func columns(of scalar: Unicode.Scalar) -> Int {
  switch scalar.value {
  case ..<0x300: return 1
  case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
    0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
    return 2
  default:
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: return 1
    }
  }
}

extension String {
  /// This text with spaces after it up to `width` columns.
  package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - columns(of: self))) }

  /// This text with spaces before it up to `width` columns.
  func rightAligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - columns(of: self))) + self }

  /// This text, or as much of it as fits `width` columns with an ellipsis at the end.
  func cut(to width: Int) -> String {
    guard columns(of: self) > width else { return self }
    guard width > 0 else { return "" }
    var result = ""
    var used = 1
    for character in self {
      used += columns(of: String(character))
      if used > width { break }
      result.append(character)
    }
    return result + "…"
  }
}
