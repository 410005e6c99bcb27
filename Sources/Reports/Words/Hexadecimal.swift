import Base

extension UInt64 {
  /// Parses 16 hexadecimal digits in lower case; nil for anything else.
  init?(hexadecimal digits: Slice<UnsafeRawBufferPointer>) {
    guard digits.count == 16, digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else { return nil }
    self.init(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}

extension Checksum {
  init?(hexadecimal digits: UnsafeRawBufferPointer) {
    guard digits.count == 32, let high = UInt64(hexadecimal: digits[..<16]), let low = UInt64(hexadecimal: digits[16...]) else {
      return nil
    }
    self.init(high: high, low: low)
  }
}
