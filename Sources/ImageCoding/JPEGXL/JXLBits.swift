#if RareFormats
import Base

/// Why a JPEG XL codestream can't be read.
enum JXLError: Error {
  /// It ends before byte `needed`.
  case endsEarly(needed: Int)
  case invalid(String)
}

/// Reads the fields of a JPEG XL codestream, whose bits are packed from the lowest (ISO/IEC 18181-1, annex B).
struct JXLBits {
  /// The position in bits.
  private(set) var position: Int
  private let bytes: ByteView

  /// Starts at byte `offset` of a codestream.
  init(_ bytes: ByteView, from offset: Int = 0) {
    self.bytes = bytes
    position = offset * 8
  }

  /// The next `count` bits, at most 32, without consuming them; those beyond the end are 0.
  func peek(_ count: Int) -> Int {
    var value = 0
    let first = position >> 3
    for index in 0..<(count + (position & 7) + 7) >> 3 { value |= Int(bytes.byte(at: first + index) ?? 0) << (index * 8) }
    return value >> (position & 7) & (1 << count - 1)
  }

  mutating func skip(_ count: Int) throws(JXLError) {
    // Encoders can claim any length.
    guard count <= bytes.count * 8 - position else {
      let bits = position.addingReportingOverflow(count)
      throw .endsEarly(needed: bits.overflow ? .max / 4 : min((bits.partialValue >> 3) + 1, .max / 4))
    }
    position += count
  }

  /// The next `count` bits, at most 32.
  mutating func bits(_ count: Int) throws(JXLError) -> Int {
    let end = position + count
    guard end <= bytes.count * 8 else { throw .endsEarly(needed: (end + 7) >> 3) }
    defer { position = end }
    return peek(count)
  }

  mutating func bool() throws(JXLError) -> Bool { try bits(1) == 1 }

  /// A number whose first two bits select how many bits follow and what is added to them.
  mutating func u32(
    _ first: (bits: Int, plus: Int),
    _ second: (bits: Int, plus: Int),
    _ third: (bits: Int, plus: Int),
    _ fourth: (bits: Int, plus: Int)
  ) throws(JXLError) -> Int {
    let selected =
      switch try bits(2) {
      case 0: first
      case 1: second
      case 2: third
      default: fourth
      }
    return try bits(selected.bits) + selected.plus
  }

  mutating func u64() throws(JXLError) -> UInt64 {
    switch try bits(2) {
    case 0: return 0
    case 1: return UInt64(try bits(4)) + 1
    case 2: return UInt64(try bits(8)) + 17
    default: break
    }
    var value = UInt64(try bits(12))
    var shift = 12
    while try bool() {
      value |= UInt64(try bits(shift == 60 ? 4 : 8)) << UInt64(shift)
      if shift == 60 { break }
      shift += 8
    }
    return value
  }

  mutating func enumeration() throws(JXLError) -> Int { try u32((0, 0), (0, 1), (4, 2), (6, 18)) }

  mutating func skipHalfFloats(_ count: Int) throws(JXLError) { try skip(16 * count) }

  mutating func skipName() throws(JXLError) {
    let length = try u32((0, 0), (4, 0), (5, 16), (10, 48))
    try skip(8 * length)
  }

  /// Skips fields of later versions of the format (annex B.2.5).
  mutating func skipExtensions() throws(JXLError) {
    var total = 0
    for _ in 0..<(try u64()).nonzeroBitCount {
      let (sum, overflow) = total.addingReportingOverflow(Int(clamping: try u64()))
      guard !overflow else { throw .invalid("its extensions are too long") }
      total = sum
    }
    try skip(total)
  }

  /// Skips to the next whole byte and returns its offset.
  mutating func alignToByte() throws(JXLError) -> Int {
    guard try bits(-position & 7) == 0 else { throw .invalid("its padding isn't zero") }
    return position >> 3
  }
}
#endif
