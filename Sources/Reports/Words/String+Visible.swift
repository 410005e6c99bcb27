import Base

/// Returns text from outside in a form that is safe for a terminal: control characters, bidirectional overrides, invisible characters
/// and invalid UTF-8 appear as `\n`, `\u{202E}` or `\xFF`; other characters don't change.
public func escapedForTerminal(_ bytes: UnsafeRawBufferPointer) -> String {
  var output = OutputBuffer(capacity: bytes.count + 16)
  output.appendVisible(bytes) { _ in nil }
  return output.text
}

public func escapedForTerminal(_ text: String) -> String {
  var text = text
  return text.withUTF8 { escapedForTerminal(UnsafeRawBufferPointer($0)) }
}

/// The visible form of an invisible scalar, such as `\n` and `\u{202E}`.
func visibleEscape(of scalar: UInt32) -> String {
  switch scalar {
  case 0x0A: "\\n"
  case 0x0D: "\\r"
  case 0x09: "\\t"
  default: "\\u{" + hexadecimal(UInt64(scalar), digits: 1, isUppercase: true) + "}"
  }
}

/// The visible form of a byte that isn't UTF-8, such as `\xFF`.
func visibleEscape(ofByte byte: UInt8) -> String { "\\x" + hexadecimal(UInt64(byte), digits: 2, isUppercase: true) }

/// The width of `text` in a terminal: two columns for East Asian wide characters and emoji, none for combining marks.
func columns(of text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + columns(of: $1) } }

/// The width of a scalar; the wide ranges follow Unicode's EastAsianWidth (W, F) closely enough to line up.
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
  package func rightAligned(to width: Int) -> String { String(repeating: " ", count: max(0, width - columns(of: self))) + self }

  /// This text, cut with an ellipsis to at most `width` columns.
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

/// Whether a scalar is invisible, or controls the terminal or the order of text: controls, bidirectional overrides and isolates,
/// zero-width and format characters, line separators (Unicode categories Cc, Cf, Zl, Zp, as far as they matter), and noncharacters such
/// as U+FFFE.
@inline(__always)
func isHidden(_ scalar: UInt32) -> Bool {
  switch scalar {
  case 0..<0x20, 0x7F..<0xA0, 0xAD, 0x061C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB,
    0xFFFE...0xFFFF, 0xE0000...0xE0FFF:
    true
  default: false
  }
}

/// Returns the scalar at `position` and its length in bytes. Invalid UTF-8 gives nil and the number of bytes that one U+FFFD replaces
/// (Unicode 15, table 3-7 and "maximal subpart").
func decodeScalar(_ bytes: UnsafeRawBufferPointer, at position: Int) -> (value: UInt32?, length: Int) {
  let first = bytes[position]
  var second: ClosedRange<UInt8> = 0x80...0xBF
  let length: Int
  switch first {
  case 0..<0x80: return (UInt32(first), 1)
  case 0xC2...0xDF: length = 2
  case 0xE0...0xEF:
    length = 3
    if first == 0xE0 { second = 0xA0...0xBF }
    if first == 0xED { second = 0x80...0x9F }
  case 0xF0...0xF4:
    length = 4
    if first == 0xF0 { second = 0x90...0xBF }
    if first == 0xF4 { second = 0x80...0x8F }
  default: return (nil, 1)
  }
  var value = UInt32(first) & (0x7F >> UInt32(length))
  for offset in 1..<length {
    let allowed = offset == 1 ? second : 0x80...0xBF
    guard position + offset < bytes.count, allowed.contains(bytes[position + offset]) else { return (nil, offset) }
    value = value << 6 | UInt32(bytes[position + offset] & 0x3F)
  }
  return (value, length)
}

/// Returns the first position from `start` whose byte isn't plain: a quote, `other`, a control character, or not ASCII. It tests
/// eight bytes at a time ("Bit Twiddling Hacks", Sean Anderson, "Determine if a word has a byte less than n"): the lowest marked
/// byte is always correct, since a false mark requires a borrow from a lower marked byte.
@inline(__always)
func endOfPlainText(in bytes: UnsafeRawBufferPointer, from start: Int, but other: UInt8) -> Int {
  let ones: UInt64 = 0x0101_0101_0101_0101
  var position = start
  while position + 8 <= bytes.count {
    let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    let quotes = word ^ (ones &* 0x22)
    let others = word ^ (ones &* UInt64(other))
    let deletes = word ^ (ones &* 0x7F)
    let special =
      (word | ((word &- ones &* 0x20) & ~word) | ((quotes &- ones) & ~quotes) | ((others &- ones) & ~others)
        | ((deletes &- ones) & ~deletes)) & (ones &* 0x80)
    if special != 0 { return position + special.trailingZeroBitCount / 8 }
    position += 8
  }
  while position < bytes.count {
    let byte = bytes[position]
    guard byte >= 0x20, byte < 0x7F, byte != 0x22, byte != other else { return position }
    position += 1
  }
  return position
}
