/// Whether a scalar beyond ASCII is invisible or steers the terminal or the order of text: controls, bidirectional overrides and
/// isolates, zero-width and format characters, line separators (Unicode categories Cc, Cf, Zl, Zp, as far as they matter); or none, as U+FFFE.
@inline(__always)
func isHidden(_ scalar: UInt32) -> Bool {
  switch scalar {
  case 0..<0x20, 0x7F..<0xA0, 0xAD, 0x061C, 0x180E, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF, 0xFFF9...0xFFFB,
    0xFFFE...0xFFFF, 0xE0000...0xE0FFF:
    true
  default: false
  }
}

/// The scalar that starts at `position` and how many bytes it takes; nil as its value where the bytes are not UTF-8, then with the
/// count of bytes that one U+FFFD stands for (Unicode 15, table 3-7 and "maximal subpart").
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

/// The first position from `start` on whose byte is not plain: a quote, `other`, a control character, or beyond ASCII.
///
/// Looks at eight bytes at a time ("Bit Twiddling Hacks", Sean Anderson, "Determine if a word has a byte less than n"): the lowest
/// byte that a test marks is always right, since a wrong mark needs a borrow from a lower marked byte.
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
