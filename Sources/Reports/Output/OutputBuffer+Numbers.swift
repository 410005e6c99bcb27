extension OutputBuffer {
  /// Appends a whole number in decimal.
  mutating func append(decimal value: UInt64) {
    var length = 1
    var bound: UInt64 = 10
    while value >= bound {
      length += 1
      // The greatest power of ten in 64 bits has 20 digits.
      if length == 20 { break }
      bound &*= 10
    }
    append(digitsOf: value, length: length)
  }

  /// Appends `value` with as many decimals, rounded half up; what is not finite or is negative counts as 0.
  ///
  /// Trailing zeros are dropped down to one decimal, so that 310 reads `310.0`, as a floating-point number does in JSON.
  mutating func append(_ value: Double, decimals: Int) {
    var scale: UInt64 = 1
    for _ in 0..<decimals { scale *= 10 }
    let scaled = value.isFinite && value > 0 ? (value * Double(scale)).rounded() : 0
    guard scaled < 1e18 else { return append(decimal: UInt64(min(value, 1e19))) }
    var fraction = UInt64(scaled) % scale
    var length = decimals
    append(decimal: UInt64(scaled) / scale)
    append(UInt8(ascii: "."))
    while length > 1, fraction % 10 == 0 {
      fraction /= 10
      length -= 1
    }
    append(digitsOf: fraction, length: length)
  }

  /// Appends the lowest `length` decimal digits of `value`, leading zeros included.
  mutating func append(digitsOf value: UInt64, length: Int) {
    appendUninitialized(length) { digits in
      var rest = value
      var position = length
      // Two digits a step: the divisions wait for each other, and these are half as many.
      while position >= 2 {
        let pair = UInt8(truncatingIfNeeded: rest % 100)
        rest /= 100
        position -= 2
        digits[position] = UInt8(ascii: "0") &+ pair / 10
        digits[position + 1] = UInt8(ascii: "0") &+ pair % 10
      }
      if position == 1 { digits[0] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10) }
    }
  }

  /// Appends `value` as 16 hexadecimal digits in lower case.
  mutating func append(hexadecimal value: UInt64) {
    appendUninitialized(16) { digits in
      for position in 0..<16 {
        let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * position)) & 15
        digits[position] = digit < 10 ? UInt8(ascii: "0") &+ digit : UInt8(ascii: "a") &+ (digit &- 10)
      }
    }
  }
}
