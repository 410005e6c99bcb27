package import Base

/// The EXIF metadata that is used (CIPA DC-008), from an embedded TIFF file (TIFF 6.0, section 2).
package struct EXIF: Sendable, Hashable {
  /// 1…8 (section 4.6.5); nil if there is none.
  package private(set) var orientation: Int?
  /// Whether there is a GPS latitude or longitude (section 4.6.6).
  package private(set) var hasPosition = false
  /// The horizontal resolution in dots per inch; nil if there is none.
  package private(set) var dpi: Double?
  /// Whether it has a thumbnail (section 4.5.8), which the second directory describes.
  package private(set) var hasThumbnail = false
  package private(set) var byteCount = 0

  /// From this size on it is large for an image on the web: a camera's notes and a thumbnail.
  package static let largeBytes = 16 << 10

  /// No metadata.
  package init() {}

  /// Reads the TIFF file at `range` of `bytes`; entries that are truncated or invalid count as missing.
  ///
  /// A PNG's eXIf chunk, a JPEG's APP1 segment, a WebP's EXIF chunk and the Exif item of AVIF and HEIC contain such a file; a
  /// preceding name (`Exif\0\0`), as in the latter, is skipped.
  package init(tiff bytes: ByteView, _ range: Range<Int>) {
    let isNamed = range.count >= 6 && bytes.matches("Exif\0\0", at: range.lowerBound)
    let start = isNamed ? range.lowerBound + 6 : range.lowerBound
    guard let file = TIFFBytes(bytes, start..<max(start, range.upperBound)), let first = file.firstDirectory else { return }
    byteCount = range.count
    hasThumbnail =
      file.directory(after: first).map { directory in
        var found = false
        file.forEachField(ofDirectoryAt: directory) { if $0.tag == 0x0201 || $0.tag == 0x0111 { found = true } }
        return found
      } ?? false
    var (resolution, unit) = (Double?.none, 2)
    var positions: Int?
    file.forEachField(ofDirectoryAt: first) { field in
      switch field.tag {
      case 0x0112: orientation = file.integer(field).flatMap { (1...8).contains($0) ? $0 : nil }
      case 0x011A: resolution = file.rational(field)
      case 0x0128: unit = file.integer(field) ?? unit
      case 0x8825: positions = file.integer(field)
      default: break
      }
    }
    if let positions {
      file.forEachField(ofDirectoryAt: positions) { if $0.tag == 2 || $0.tag == 4 { hasPosition = true } }
    }
    // 2: inches, the default; 3: centimetres; 1: only an aspect ratio.
    if let resolution, resolution > 0, unit == 2 || unit == 3 { dpi = unit == 3 ? resolution * 2.54 : resolution }
  }

  /// Reads a JPEG's APP1 segment, which may have other contents.
  init(_ bytes: ByteView, segment: Range<Int>) {
    self.init(tiff: bytes, bytes.matches("Exif\0\0", at: segment.lowerBound) ? segment : 0..<0)
  }
}

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
  /// The offset of the first directory; nil if it isn't available.
  var firstDirectory: Int? { offset(at: isBig ? 8 : 4) }

  /// The unsigned number of `length` bytes; nil if it isn't available. Larger ones than any file's length are reduced to `Int.max / 4`,
  /// which leaves room to add to them.
  private func number(_ length: Int, at offset: Int) -> Int? {
    guard offset >= 0, offset <= range.count - length else { return nil }
    let place = range.lowerBound + offset
    let value = (0..<length).reduce(UInt64(0)) { value, index in
      value << 8 | UInt64(bytes.byte(at: place + (isLittleEndian ? length - 1 - index : index)) ?? 0)
    }
    return Int(min(value, UInt64(Int.max / 4)))
  }

  /// An offset or count, of 8 bytes in BigTIFF.
  func offset(at offset: Int) -> Int? { number(isBig ? 8 : 4, at: offset) }

  /// The first number of a field as an integer; nil if it isn't available or isn't one.
  func integer(_ field: Field) -> Int? {
    guard field.count > 0, [1, 3, 4, 7, 13, 16, 18].contains(field.type) else { return nil }
    return number(Field.length(ofType: field.type), at: field.value)
  }

  /// A rational number; nil if its denominator is 0.
  func rational(_ field: Field) -> Double? {
    guard let numerator = number(4, at: field.value), let denominator = number(4, at: field.value + 4), denominator > 0 else {
      return nil
    }
    return Double(numerator) / Double(denominator)
  }

  /// The first entry of a directory and their number; nil if that isn't available.
  private func entries(ofDirectoryAt offset: Int) -> (start: Int, count: Int)? {
    number(isBig ? 8 : 2, at: offset).map { (offset + (isBig ? 8 : 2), min($0, .max / 64)) }
  }

  private var entryBytes: Int { isBig ? 20 : 12 }

  /// The end of a directory, behind the offset of the next one; nil if its length isn't available.
  func end(ofDirectoryAt offset: Int) -> Int? {
    entries(ofDirectoryAt: offset).map { $0.start + $0.count * entryBytes + (isBig ? 8 : 4) }
  }

  /// The offset of the directory after the one at `offset`; nil if there is none, or it isn't available.
  func directory(after offset: Int) -> Int? {
    end(ofDirectoryAt: offset).flatMap { self.offset(at: $0 - (isBig ? 8 : 4)) }.flatMap { $0 > 0 ? $0 : nil }
  }

  /// Calls `body` with each available field of a directory.
  func forEachField(ofDirectoryAt offset: Int, _ body: (Field) -> Void) {
    guard let (start, count) = entries(ofDirectoryAt: offset) else { return }
    for index in 0..<count {
      guard let field = field(at: start + index * entryBytes) else { return }
      body(field)
    }
  }

  private func field(at entry: Int) -> Field? {
    let inline = entry + (isBig ? 12 : 8)
    guard let tag = number(2, at: entry), let type = number(2, at: entry + 2), let count = self.offset(at: entry + 4),
      let pointer = self.offset(at: inline)
    else { return nil }
    // The entry itself contains values that fit in it.
    let isInline = count <= (isBig ? 8 : 4) / Field.length(ofType: type)
    return Field(tag: tag, type: type, count: count, value: isInline ? inline : pointer)
  }

  /// An entry of a directory.
  struct Field {
    let tag: Int
    let type: Int
    let count: Int
    /// The position of the first value.
    let value: Int

    /// TIFF 6.0, section 2; 13: an offset (TIFF Technical Note 1); 16…18: those of BigTIFF.
    fileprivate static func length(ofType type: Int) -> Int {
      switch type {
      case 3, 8: 2
      case 4, 9, 11, 13: 4
      case 5, 10, 12, 16, 17, 18: 8
      default: 1
      }
    }
  }
}
