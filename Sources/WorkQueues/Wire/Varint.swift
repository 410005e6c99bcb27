/// Unsigned numbers in as many bytes as they need, seven bits each, the lowest first (LEB128).
enum Varint {
  static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// The number at `offset`, which is moved behind it; nil where the bytes end before it or it has more than 64 bits.
  static func read(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> UInt64? {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while offset < bytes.count, shift < 64 {
      let byte = bytes[offset]
      offset += 1
      let bits = UInt64(byte & 0x7F)
      guard shift < 63 || bits < 2 else { return nil }
      number |= bits << shift
      if byte < 0x80 { return number }
      shift += 7
    }
    return nil
  }
}
