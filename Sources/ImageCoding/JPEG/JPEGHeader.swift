import Base

/// The header of a JPEG: the marker segments up to the first scan (ITU-T T.81, annex B).
///
/// Segments are skipped by their length, so a profile or thumbnail of 60 KB costs nothing.
struct JPEGHeader {
  /// With warnings about what keeps browsers, which decode 8 bits per sample with Huffman coding, from showing it.
  private(set) var image = ImageHeader(.jpeg)
  /// The sampling factors of each component (A.1.1).
  private(set) var components: [Component] = []
  /// Whether the file has more than one scan, so that a decoder must keep coefficients until it has read all.
  private(set) var hasSeveralScans = false
  /// Whether coefficients use arithmetic (SOF9, SOF10; annex D) rather than Huffman coding.
  private(set) var isArithmetic = false
  /// Marker segments before the first scan.
  private(set) var segments = 0

  private var exif = EXIF()
  private var isProgressive = false
  private var hasJFIF = false
  /// The resolution of the JFIF segment, which counts if the EXIF metadata states none.
  private var jfifDPI: Double?
  /// The colour transform of Adobe's marker (Adobe Technical Note 5116, section 18): 0 none, 1 YCbCr, 2 YCCK.
  private var adobeTransform: UInt8?

  struct Component {
    var identifier: UInt8
    var horizontal: Int
    var vertical: Int
  }

  init(_ prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    let bytes = ByteView(prefix)
    guard bytes.bigEndian16(at: 0) == 0xFFD8 else {
      throw ImageError(.notAnImage, "not a JPEG file: it doesn't start with a start-of-image marker")
    }
    var offset = 2
    while true {
      let marker = try Self.nextMarker(in: bytes, at: &offset, isComplete: isComplete)
      let isBeforeFrame = components.isEmpty
      switch marker {
      case 0x01, 0xD0...0xD7:  // TEM and RSTn stand alone
        continue
      case 0xD8, 0xD9:
        try Self.reject(marker, before: isBeforeFrame ? "frame header (SOF)" : "scan (SOS)", at: offset - 2)
      case 0xDA where isBeforeFrame:
        try Self.reject(marker, before: "frame header (SOF)", at: offset - 2)
      default:
        guard let length = bytes.bigEndian16(at: offset) else {
          throw .endsEarly("JPEG", needed: offset + 2, of: bytes.count, isComplete: isComplete)
        }
        guard length >= 2 else { throw .undecodable("a JPEG segment of invalid length \(length) at byte \(offset)") }
        segments += 1
        let segment = offset + 2..<offset + length
        if marker == 0xDA {
          let inScan = bytes.byte(at: segment.lowerBound).map(Int.init)
          hasSeveralScans = isProgressive || (inScan ?? components.count) < components.count
          (image.orientation, image.colorSpace, image.dpi) = (exif.orientation ?? 1, colorSpace, exif.dpi ?? jfifDPI)
          image.add(exif)
          return
        }
        if Self.isFrameHeader(marker), isBeforeFrame {
          isProgressive = marker & 3 == 2
          isArithmetic = marker == 0xC9 || marker == 0xCA
          try readFrameHeader(bytes, segment, isComplete: isComplete)
          warn(marker, precision: bytes.byte(at: segment.lowerBound) ?? 8)
        }
        if (0xE0...0xEE).contains(marker) { readApplicationSegment(marker, prefix, segment) }
        offset += length
      }
    }
  }

  private static func reject(_ marker: UInt8, before what: String, at offset: Int) throws(ImageError) -> Never {
    throw .undecodable("the JPEG file has no \(what) before marker 0x\(String(marker, radix: 16)) at byte \(offset)")
  }

  /// Moves after the next marker and returns its second byte. Like libjpeg, it skips fill bytes and garbage between segments.
  private static func nextMarker(in bytes: ByteView, at offset: inout Int, isComplete: Bool) throws(ImageError) -> UInt8 {
    var isAfterFF = false
    while let byte = bytes.byte(at: offset) {
      offset += 1
      if isAfterFF, byte != 0xFF, byte != 0 { return byte }
      isAfterFF = byte == 0xFF
    }
    throw .endsEarly("JPEG", needed: offset + (isAfterFF ? 1 : 2), of: bytes.count, isComplete: isComplete)
  }

  /// SOF0…SOF15, except DHT, JPG and DAC (CC), which are in the same range.
  private static func isFrameHeader(_ marker: UInt8) -> Bool {
    (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
  }

  private mutating func warn(_ marker: UInt8, precision: UInt8) {
    // The lowest bits of the marker name the process, the next one hierarchical coding, and the highest the coder (table B.1).
    let process =
      if marker & 3 == 3 { "lossless" } else if marker & 4 != 0 { "hierarchical" } else if marker & 8 != 0 {
        "arithmetic-coded"
      } else { String?.none }
    if let process {
      image.warnings = ["the JPEG is \(process) (SOF\(marker & 15)), so browsers don't show it"]
    } else if precision != 8 {
      image.warnings = ["the JPEG has \(precision) bits per sample, so browsers don't show it"]
    }
  }

  /// Precision, height, width, and the components: B.2.2.
  private mutating func readFrameHeader(_ bytes: ByteView, _ segment: Range<Int>, isComplete: Bool) throws(ImageError) {
    let start = segment.lowerBound
    guard segment.count >= 6 else { throw .undecodable("a JPEG frame header of \(segment.count + 2) bytes at byte \(start - 2)") }
    guard bytes.has(segment.count, at: start), let height = bytes.bigEndian16(at: start + 1),
      let width = bytes.bigEndian16(at: start + 3), let count = bytes.byte(at: start + 5)
    else { throw .endsEarly("JPEG", needed: segment.upperBound, of: bytes.count, isComplete: isComplete) }
    // A height of 0 means that a DNL marker follows, which no common decoder supports.
    guard width > 0, height > 0 else { throw .undecodable("a JPEG frame of \(width) x \(height) pixels") }
    guard count > 0, segment.count == 6 + 3 * Int(count) else {
      throw .undecodable("a JPEG frame header of \(segment.count + 2) bytes for \(count) components at byte \(start - 2)")
    }
    image.size = ImageSize(width: width, height: height)
    components = (0..<Int(count)).map { index in
      let factors = bytes.byte(at: start + 7 + 3 * index) ?? 0x11
      return Component(
        identifier: bytes.byte(at: start + 6 + 3 * index) ?? 0,
        horizontal: Int(factors >> 4),
        vertical: Int(factors & 15)
      )
    }
  }

  private mutating func readApplicationSegment(_ marker: UInt8, _ file: UnsafeRawBufferPointer, _ segment: Range<Int>) {
    let bytes = ByteView(file)
    let start = segment.lowerBound
    switch marker {
    case 0xE0:
      guard bytes.matches("JFIF\0", at: start) else { break }
      hasJFIF = true
      jfifDPI = bytes.byte(at: start + 7).flatMap { unit in
        bytes.bigEndian16(at: start + 8).flatMap { Self.dpi(density: $0, unit: unit) }
      }
    case 0xE1:
      if exif == EXIF() { exif = EXIF(bytes, segment: segment) }
    case 0xE2:
      // A profile is split into pieces numbered from 1 (ICC.1:2022, annex B.4); the first has its name.
      guard bytes.matches("ICC_PROFILE\0", at: start), bytes.byte(at: start + 12) == 1, start + 14 <= file.count else { break }
      image.profile = ICCProfile(
        data: UnsafeRawBufferPointer(rebasing: file[start + 14..<max(start + 14, min(segment.upperBound, file.count))])
      )
    case 0xEE:
      if bytes.matches("Adobe", at: start), segment.count >= 12 { adobeTransform = bytes.byte(at: start + 11) }
    default:
      break
    }
  }
}

extension JPEGHeader {
  /// The resolution in dots per inch, or nil if the unit is none (JFIF 1.02, page 5): 1 means inches, 2 centimetres.
  private static func dpi(density: Int, unit: UInt8) -> Double? {
    guard density > 0, unit == 1 || unit == 2 else { return nil }
    return unit == 1 ? Double(density) : Double(density) * 2.54
  }

  var size: ImageSize { image.size }

  /// The colour model of the components, by libjpeg's rules; nil for an undefined number of components.
  private var colorSpace: ImageHeader.ColorSpace? {
    switch components.count {
    case 1: .gray
    case 3: hasRGB ? .rgb : .ycbcr
    case 4: adobeTransform == 2 ? .ycck : .cmyk
    default: nil
    }
  }

  private var hasRGB: Bool {
    if hasJFIF { return false }
    if let adobeTransform { return adobeTransform == 0 }
    return components.map(\.identifier) == Array("RGB".utf8)
  }
}
