import Glibc

/// Bytes of a report that wait to be written, in memory that grows by doubling and stays allocated when emptied.
///
/// Appending costs a comparison and a copy and no reference counting, since a row of a journal has many small pieces.
public struct OutputBuffer: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  public private(set) var count = 0
  var isEmpty: Bool { count == 0 }

  public init(capacity: Int = 4096) {
    self.capacity = max(capacity, 64)
    memory = .allocate(byteCount: self.capacity, alignment: 8)
  }

  deinit { memory.deallocate() }

  public mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    reserve(bytes.count)
    (memory + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  public mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  @inline(__always)
  public mutating func append(_ byte: UInt8) {
    reserve(1)
    memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  /// Appends text that is known at compile time, at the cost of a copy.
  @inline(__always)
  mutating func appendLiteral(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  public mutating func removeAll() { count = 0 }

  /// Removes the last bytes; the buffer must have at least `byteCount`.
  mutating func removeLast(_ byteCount: Int) {
    precondition(byteCount <= count, "the buffer has fewer bytes")
    count -= byteCount
  }

  @inline(__always)
  mutating func reserve(_ more: Int) {
    if capacity - count < more { grow(by: more) }
  }

  @inline(never)
  private mutating func grow(by more: Int) {
    capacity = max(capacity * 2, count + more)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    larger.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = larger
  }

  /// Calls `body` with room for `byteCount` bytes at the end, all of which it must write.
  @inline(__always)
  mutating func appendUninitialized(_ byteCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void) {
    reserve(byteCount)
    body((memory + count).assumingMemoryBound(to: UInt8.self))
    count += byteCount
  }

  public borrowing func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// The bytes as text; bytes that aren't UTF-8 become U+FFFD.
  public var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}

extension OutputBuffer {
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

  /// Appends `value` with at most `decimals` decimals, rounded half up; infinite, undefined and negative values count as 0.
  /// Trailing zeros are dropped down to one decimal, so that 310 becomes `310.0`, a floating-point number in JSON.
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
      // Two digits per step halve the number of divisions, each of which waits for the one before.
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

  mutating func append(hexadecimal value: UInt64) {
    appendUninitialized(16) { digits in
      for position in 0..<16 {
        let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * position)) & 15
        digits[position] = digit < 10 ? UInt8(ascii: "0") &+ digit : UInt8(ascii: "a") &+ (digit &- 10)
      }
    }
  }
}

extension OutputBuffer {
  /// Appends text from outside as ``escapedForTerminal(_:)`` shows it; `replacement` returns the escaped form of ASCII bytes with a
  /// meaning in the output.
  ///
  /// - Parameter limit: cuts the text with an ellipsis at about this number of bytes.
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
