import Base

extension UInt64 {
  /// Parses 16 hexadecimal digits; nil for anything else.
  init?(hexadecimal digits: Slice<UnsafeRawBufferPointer>) {
    guard digits.count == 16 else { return nil }
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    self = value
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

extension EntryKey {
  init?(hexadecimal digits: UnsafeRawBufferPointer) {
    guard let hash = Checksum(hexadecimal: digits) else { return nil }
    self.init(high: hash.high, low: hash.low)
  }
}
