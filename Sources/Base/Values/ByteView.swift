/// Bounds-checked reads from a file's bytes: a read beyond the end returns nil.
///
/// `UnsafeRawBufferPointer` checks bounds in debug builds only, and these bytes come from the network. Inlinable, since checks
/// of a response's head take dozens of these calls.
@usableFromInline
package struct ByteView {
  @usableFromInline let bytes: UnsafeRawBufferPointer

  /// Creates a view of `bytes`, which must outlive it.
  @inlinable package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  @inlinable package var count: Int { bytes.count }

  @inlinable package func byte(at offset: Int) -> UInt8? {
    offset >= 0 && offset < bytes.count ? bytes[offset] : nil
  }

  @inlinable func number<Number: FixedWidthInteger>(at offset: Int) -> Number? {
    has(MemoryLayout<Number>.size, at: offset) ? bytes.loadUnaligned(fromByteOffset: offset, as: Number.self) : nil
  }

  @inlinable package func bigEndian16(at offset: Int) -> Int? { number(at: offset).map { Int(UInt16(bigEndian: $0)) } }
  @inlinable package func bigEndian32(at offset: Int) -> Int? { number(at: offset).map { Int(UInt32(bigEndian: $0)) } }
  @inlinable package func littleEndian16(at offset: Int) -> Int? { number(at: offset).map { Int(UInt16(littleEndian: $0)) } }
  @inlinable package func littleEndian32(at offset: Int) -> Int? { number(at: offset).map { Int(UInt32(littleEndian: $0)) } }

  /// Three bytes, least significant first.
  @inlinable package func littleEndian24(at offset: Int) -> Int? {
    guard let low = littleEndian16(at: offset), let high = byte(at: offset + 2) else { return nil }
    return low | Int(high) << 16
  }

  /// Whether the bytes at `offset` equal `signature`.
  @inlinable package func matches(_ signature: StaticString, at offset: Int = 0) -> Bool {
    guard has(signature.utf8CodeUnitCount, at: offset) else { return false }
    for index in 0..<signature.utf8CodeUnitCount where signature.utf8Start[index] != bytes[offset + index] { return false }
    return true
  }

  /// Whether the bytes at `offset` equal `lowercased`, ignoring ASCII case; `lowercased` is ASCII in lower case.
  @inlinable package func matchesIgnoringCase(_ lowercased: StaticString, at offset: Int = 0) -> Bool {
    guard has(lowercased.utf8CodeUnitCount, at: offset) else { return false }
    for index in 0..<lowercased.utf8CodeUnitCount
    where lowercased.utf8Start[index] != bytes[offset + index].asciiLowercased { return false }
    return true
  }

  /// The first offset at or after `start` where `signature` occurs.
  @inlinable package func firstOffset(of signature: StaticString, from start: Int) -> Int? {
    var offset = start
    while has(signature.utf8CodeUnitCount, at: offset) {
      if matches(signature, at: offset) { return offset }
      offset += 1
    }
    return nil
  }

  /// Calls `body` with the bytes of a range, limited to the available ones.
  @inlinable package func bytes<Result>(in range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(rebasing: bytes[range.clamped(to: 0..<bytes.count)]))
  }

  @inlinable package func has(_ length: Int, at offset: Int) -> Bool {
    offset >= 0 && length <= bytes.count && offset <= bytes.count - length
  }
}

extension UInt8 {
  /// The byte with an ASCII capital letter converted to lower case.
  @inlinable package var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }

  @inlinable package var isASCIIWhitespace: Bool { self == 0x20 || (self >= 0x09 && self <= 0x0D) }
}

extension Array where Element == UInt8 {
  /// Calls `body` with the bytes, valid during the call. Unlike `withUnsafeBytes`, it keeps the type of a thrown error.
  @inlinable
  @inline(__always)
  package func withRawBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withUnsafeBufferPointer { buffer throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
  }
}

extension Collection where Element == UInt8 {
  /// Calls `body` with the bytes, valid during the call; they are copied if they aren't contiguous.
  @inlinable
  package func withRawBytes<Success, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Success
  ) throws(Failure) -> Success {
    let result = withContiguousStorageIfAvailable { buffer -> Result<Success, Failure> in
      do throws(Failure) {
        return .success(try body(UnsafeRawBufferPointer(buffer)))
      } catch {
        return .failure(error)
      }
    }
    return if let result { try result.get() } else { try Array(self).withRawBytes(body) }
  }
}

/// A number in hexadecimal, padded with zeros to `digits`.
package func hexadecimal(_ value: UInt64, digits: Int = 16, isUppercase: Bool = false) -> String {
  let text = String(value, radix: 16, uppercase: isUppercase)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}

/// Bytes in hexadecimal, two digits in lower case each.
package func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
  String(decoding: bytes.flatMap { [hexadecimalDigit($0 >> 4), hexadecimalDigit($0 & 15)] }, as: UTF8.self)
}

/// The ASCII digit of a number below 16, in lower case.
package func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }

/// Parses pairs of hexadecimal digits in either case; nil for anything else.
package func bytes(hexadecimal text: some Collection<UInt8>) -> [UInt8]? {
  let digits = text.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
  guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

extension Checksum {
  package var hexadecimal: String { Base.hexadecimal(high) + Base.hexadecimal(low) }
}

/// Traps with a message if a programmer misuses the library, in release builds too, where `precondition` prints none.
package func trap(unless isRight: Bool, _ sentence: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) {
  if !isRight { fatalError(sentence(), file: file, line: line) }
}
