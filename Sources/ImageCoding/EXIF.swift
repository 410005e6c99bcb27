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
