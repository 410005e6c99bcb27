package import ImagePrimitives

/// The EXIF metadata that is used (CIPA DC-008), from an embedded TIFF file (TIFF 6.0, section 2).
package struct EXIF: Sendable, Hashable {
  /// 1…8 (section 4.6.5); nil if there is none.
  package private(set) var orientation: Int?
  /// Whether there is a GPS latitude or longitude (section 4.6.6).
  package private(set) var hasPosition = false
  /// The horizontal resolution in dots per inch; nil if there is none.
  package private(set) var dpi: Double?

  /// No metadata.
  package init() {}

  /// Reads the TIFF file at `range` of `bytes`; entries that are truncated or invalid count as missing.
  ///
  /// A PNG's eXIf chunk, a JPEG's APP1 segment, a WebP's EXIF chunk and the Exif item of AVIF and HEIC contain such a file; a
  /// preceding name (`Exif\0\0`), as in the latter, is skipped.
  package init(tiff bytes: ByteView, _ range: Range<Int>) {
    let isNamed = range.count >= 6 && bytes.matches("Exif\0\0", at: range.lowerBound)
    let start = isNamed ? range.lowerBound + 6 : range.lowerBound
    guard let file = TIFFBytes(bytes, start..<max(start, range.upperBound)), let first = file.long(at: 4) else { return }
    var (resolution, unit) = (Double?.none, 2)
    file.forEachEntry(ofDirectoryAt: first) { tag, entry in
      switch tag {
      case 0x0112: orientation = file.short(at: entry + 8).flatMap { (1...8).contains($0) ? $0 : nil }
      case 0x011A: resolution = file.long(at: entry + 8).flatMap(file.rational)
      case 0x0128: unit = file.short(at: entry + 8) ?? unit
      case 0x8825:
        guard let directory = file.long(at: entry + 8) else { return }
        file.forEachEntry(ofDirectoryAt: directory) { tag, _ in
          if tag == 2 || tag == 4 { hasPosition = true }
        }
      default: break
      }
    }
    // 2: inches, the default; 3: centimetres; 1: only an aspect ratio.
    if let resolution, resolution > 0, unit == 2 || unit == 3 { dpi = unit == 3 ? resolution * 2.54 : resolution }
  }

  /// Reads a JPEG's APP1 segment, which may have other contents.
  init(_ bytes: ByteView, segment: Range<Int>) {
    self.init(tiff: bytes, bytes.matches("Exif\0\0", at: segment.lowerBound) ? segment : 0..<0)
  }
}

/// Reads the numbers of a TIFF file inside of another file; offsets count from its start.
private struct TIFFBytes {
  private let bytes: ByteView
  private let range: Range<Int>
  private let isLittleEndian: Bool

  /// Nil if no classic TIFF file is there.
  init?(_ bytes: ByteView, _ range: Range<Int>) {
    guard range.count >= 8 else { return nil }
    isLittleEndian = bytes.matches("II*\0", at: range.lowerBound)
    guard isLittleEndian || bytes.matches("MM\0*", at: range.lowerBound) else { return nil }
    (self.bytes, self.range) = (bytes, range)
  }

  func short(at offset: Int) -> Int? {
    guard offset <= range.count - 2 else { return nil }
    let place = range.lowerBound + offset
    return isLittleEndian ? bytes.littleEndian16(at: place) : bytes.bigEndian16(at: place)
  }

  func long(at offset: Int) -> Int? {
    guard offset <= range.count - 4 else { return nil }
    let place = range.lowerBound + offset
    return isLittleEndian ? bytes.littleEndian32(at: place) : bytes.bigEndian32(at: place)
  }

  func rational(at offset: Int) -> Double? {
    guard let numerator = long(at: offset), let denominator = long(at: offset + 4), denominator > 0 else { return nil }
    return Double(numerator) / Double(denominator)
  }

  /// Calls `body` with the tag and the offset of each available entry.
  func forEachEntry(ofDirectoryAt directory: Int, _ body: (_ tag: Int, _ entry: Int) -> Void) {
    guard let entries = short(at: directory) else { return }
    for index in 0..<entries {
      let entry = directory + 2 + index * 12
      guard let tag = short(at: entry) else { return }
      body(tag, entry)
    }
  }
}
