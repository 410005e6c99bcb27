/// Converts text in UTF-16 with a byte order mark, as Windows programs save it, into UTF-8. The mark is kept, so that readers know
/// the encoding whatever a declaration in the text says.
struct UTF16Decoder {
  private let isBigEndian: Bool
  /// Bytes that aren't converted yet.
  private var rest: [UInt8] = []
  private var start = 0

  /// Whether the text begins with a byte order mark of UTF-16; nil if more bytes are needed.
  static func isMarked(_ text: UnsafeRawBufferPointer) -> Bool? {
    guard let first = text.first, first >= 0xfe else { return text.isEmpty ? nil : false }
    return text.count < 2 ? nil : text[1] == first ^ 1
  }

  /// Creates a decoder of a text that begins with these bytes.
  init(_ text: UnsafeRawBufferPointer) {
    isBigEndian = text.first == 0xfe
    add(text)
  }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    rest.removeSubrange(..<start)
    start = 0
    rest += bytes
  }

  /// Writes UTF-8 as far as there are whole characters and there is room, and returns its length.
  ///
  /// Half a surrogate pair becomes U+FFFD, and so do bytes at the end that are no character.
  mutating func convert(into output: UnsafeMutableRawBufferPointer, isLast: Bool) -> Int {
    var count = 0
    while count + 4 <= output.count, let (scalar, length) = next(isLast: isLast) {
      start += length
      for byte in Unicode.UTF8.encode(scalar).unsafelyUnwrapped {
        output[count] = byte
        count += 1
      }
    }
    return count
  }

  private func next(isLast: Bool) -> (Unicode.Scalar, length: Int)? {
    let replacement = Unicode.Scalar(0xfffd as UInt16).unsafelyUnwrapped
    guard start < rest.count else { return nil }
    guard start + 1 < rest.count else { return isLast ? (replacement, 1) : nil }
    let first = unit(at: start)
    if let scalar = Unicode.Scalar(first) { return (scalar, 2) }
    guard first < 0xdc00 else { return (replacement, 2) }
    guard start + 3 < rest.count else { return isLast ? (replacement, 2) : nil }
    let second = unit(at: start + 2)
    guard 0xdc00...0xdfff ~= second else { return (replacement, 2) }
    let value = 0x10000 + (UInt32(first) - 0xd800) << 10 + (UInt32(second) - 0xdc00)
    return (Unicode.Scalar(value) ?? replacement, 4)
  }

  private func unit(at index: Int) -> UInt16 {
    let (first, second) = (UInt16(rest[index]), UInt16(rest[index + 1]))
    return isBigEndian ? first << 8 | second : second << 8 | first
  }
}
