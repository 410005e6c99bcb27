import Base

/// Reads the numbers and directories of a TIFF file (TIFF 6.0, section 2) or BigTIFF file, alone or inside of another file; offsets
/// count from its start.
struct TIFFBytes {
  /// Whether it is a BigTIFF file, whose counts and offsets have 8 bytes.
  let isBig: Bool
  private let bytes: ByteView
  private let range: Range<Int>
  private let isLittleEndian: Bool

  /// Nil if `range` doesn't start with the signature of a TIFF file.
  init?(_ bytes: ByteView, _ range: Range<Int>) {
    guard range.count >= 4 else { return nil }
    let start = range.lowerBound
    isLittleEndian = bytes.matches("II", at: start)
    isBig = bytes.matches("II+\0", at: start) || bytes.matches("MM\0+", at: start)
    guard isBig || bytes.matches("II*\0", at: start) || bytes.matches("MM\0*", at: start) else { return nil }
    (self.bytes, self.range) = (bytes, range)
  }

  var count: Int { range.count }
  /// The length of the file's header, which ends with the offset of the first directory.
  var headerBytes: Int { isBig ? 16 : 8 }
  /// The offset of the first directory; nil if it isn't available.
  var firstDirectory: Int? { offset(at: isBig ? 8 : 4) }

  /// The offset of the second directory; nil if there is none, or it isn't available.
  var secondDirectory: Int? {
    guard let firstDirectory, let layout = layout(ofDirectoryAt: firstDirectory) else { return nil }
    return offset(at: layout.start + layout.entries * layout.entryBytes).flatMap { $0 > 0 ? $0 : nil }
  }

  func has(_ length: Int, at offset: Int) -> Bool { offset >= 0 && length <= range.count && offset <= range.count - length }

  func short(at offset: Int) -> Int? {
    guard has(2, at: offset) else { return nil }
    let place = range.lowerBound + offset
    return isLittleEndian ? bytes.littleEndian16(at: place) : bytes.bigEndian16(at: place)
  }

  func long(at offset: Int) -> Int? {
    guard has(4, at: offset) else { return nil }
    let place = range.lowerBound + offset
    return isLittleEndian ? bytes.littleEndian32(at: place) : bytes.bigEndian32(at: place)
  }

  /// Eight bytes; larger values than any file's length are reduced to `Int.max / 4`, which leaves room to add to them.
  private func long8(at offset: Int) -> Int? {
    guard let first = long(at: offset), let second = long(at: offset + 4) else { return nil }
    let (low, high) = isLittleEndian ? (first, second) : (second, first)
    return high >= 1 << 29 ? .max / 4 : high << 32 | low
  }

  /// An offset or count, of 8 bytes in BigTIFF.
  func offset(at offset: Int) -> Int? { isBig ? long8(at: offset) : long(at: offset) }

  /// A rational number; nil if its denominator is 0.
  func rational(_ field: Field) -> Double? {
    guard let numerator = long(at: field.value), let denominator = long(at: field.value + 4), denominator > 0 else { return nil }
    return Double(numerator) / Double(denominator)
  }

  /// The integer with that index of a field; nil if it isn't available or isn't one.
  func integer(_ field: Field, _ index: Int = 0) -> Int? {
    guard index < field.count else { return nil }
    switch field.type {
    case 1, 7: return has(1, at: field.value + index) ? bytes.byte(at: range.lowerBound + field.value + index).map(Int.init) : nil
    case 3: return short(at: field.value + index * 2)
    case 4, 13: return long(at: field.value + index * 4)
    case 16, 18: return long8(at: field.value + index * 8)
    default: return nil
    }
  }

  /// The positions of a directory's entries and of the offset that follows them; nil if their number isn't available.
  func layout(ofDirectoryAt offset: Int) -> DirectoryLayout? {
    guard let entries = isBig ? long8(at: offset) : short(at: offset) else { return nil }
    return DirectoryLayout(start: offset + (isBig ? 8 : 2), entries: min(entries, .max / 64), entryBytes: isBig ? 20 : 12)
  }

  /// Calls `body` with each available field of a directory.
  func forEachField(ofDirectoryAt offset: Int, _ body: (Field) -> Void) {
    guard let layout = layout(ofDirectoryAt: offset) else { return }
    for index in 0..<layout.entries {
      guard let field = field(at: layout.start + index * layout.entryBytes) else { return }
      body(field)
    }
  }

  private func field(at entry: Int) -> Field? {
    let inline = entry + (isBig ? 12 : 8)
    guard let tag = short(at: entry), let type = short(at: entry + 2), let count = self.offset(at: entry + 4),
      let pointer = self.offset(at: inline)
    else { return nil }
    let (length, overflow) = count.multipliedReportingOverflow(by: Field.length(ofType: type))
    let isInline = !overflow && length <= (isBig ? 8 : 4)
    return Field(
      tag: tag,
      type: type,
      count: count,
      value: isInline ? inline : pointer,
      bytes: overflow ? .max / 4 : min(length, .max / 4),
      isInline: isInline
    )
  }

  struct DirectoryLayout {
    let start: Int
    let entries: Int
    let entryBytes: Int
    /// The position of the next directory's offset.
    var end: Int { start + entries * entryBytes }
  }

  /// An entry of a directory.
  struct Field {
    let tag: Int
    let type: Int
    let count: Int
    /// The position of the first value.
    let value: Int
    /// The length of all values.
    let bytes: Int
    /// Whether the entry itself contains the values.
    let isInline: Bool

    /// TIFF 6.0, section 2; 13: an offset (TIFF Technical Note 1); 16…18: those of BigTIFF. Readers ignore fields of other types.
    fileprivate static func length(ofType type: Int) -> Int {
      switch type {
      case 1, 2, 6, 7: 1
      case 3, 8: 2
      case 4, 9, 11, 13: 4
      case 5, 10, 12, 16, 17, 18: 8
      default: 0
      }
    }
  }
}
