package import ImagePrimitives

/// The orientation in EXIF metadata (CIPA DC-008, section 4.6.5), which is an embedded TIFF file (TIFF 6.0, section 2).
package enum EXIFOrientation {
  private static let tag = 0x0112

  /// The orientation, 1…8, in the TIFF file at `range` of `bytes`; nil if it is truncated or invalid or has none.
  ///
  /// A PNG's eXIf chunk, a WebP's EXIF chunk and an AVIF's Exif item contain such a file; a preceding name (`Exif\0\0`), as in the
  /// latter two, is skipped.
  package static func read(tiff bytes: ByteView, _ range: Range<Int>) -> Int? {
    let isNamed = range.count >= 6 && bytes.matches("Exif\0\0", at: range.lowerBound)
    let start = isNamed ? range.lowerBound + 6 : range.lowerBound
    guard start + 8 <= range.upperBound else { return nil }
    let isLittleEndian = bytes.matches("II*\0", at: start)
    guard isLittleEndian || bytes.matches("MM\0*", at: start) else { return nil }
    func short(_ offset: Int) -> Int? {
      guard offset + 2 <= range.upperBound else { return nil }
      return isLittleEndian ? bytes.littleEndian16(at: offset) : bytes.bigEndian16(at: offset)
    }
    guard let directoryOffset = isLittleEndian ? bytes.littleEndian32(at: start + 4) : bytes.bigEndian32(at: start + 4),
      let entries = short(start + directoryOffset)
    else { return nil }
    for index in 0..<entries {
      let entry = start + directoryOffset + 2 + index * 12
      guard let entryTag = short(entry) else { return nil }
      if entryTag == tag { return short(entry + 8).flatMap { (1...8).contains($0) ? $0 : nil } }
    }
    return nil
  }

  /// The orientation in a JPEG's APP1 segment; nil if it is truncated or invalid or has none.
  static func read(_ bytes: ByteView, segment: Range<Int>) -> Int? {
    guard segment.count >= 6, bytes.matches("Exif\0\0", at: segment.lowerBound) else { return nil }
    return read(tiff: bytes, segment)
  }
}

extension DecodingOptions {
  /// The size of the decoded pixels before they are rotated upright.
  func storedSize(of header: ImageHeader) -> ImageSize {
    let shown = decodedSize(of: header.displaySize)
    return header.orientation >= 5 ? ImageSize(width: shown.height, height: shown.width) : shown
  }
}

extension PixelBuffer {
  /// Rotates and mirrors the pixels according to an EXIF orientation: 1 unchanged, 2…4 with the same size, 5…8 with width and
  /// height exchanged.
  package func upright(orientation: Int) -> PixelBuffer {
    guard (2...8).contains(orientation) else { return self }
    let (width, height) = (size.width, size.height)
    let result = orientation >= 5 ? ImageSize(width: height, height: width) : size
    // The pixel at (x, y) of the result comes from `start + x * perColumn + y * perRow`, in pixels.
    let (start, perColumn, perRow) =
      switch orientation {
      case 2: (width - 1, -1, width)
      case 3: (width * height - 1, -1, -width)
      case 4: (width * (height - 1), 1, -width)
      case 5: (0, width, 1)
      case 6: (width * (height - 1), -width, 1)
      case 7: (width * height - 1, -width, -1)
      default: (width - 1, width, -1)
      }
    let turned = bytes.withUnsafeBytes { source in
      [UInt8](unsafeUninitializedCapacity: bytes.count) { target, count in
        let target = UnsafeMutableRawBufferPointer(target)
        var offset = 0
        for y in 0..<result.height {
          var pixel = start + y * perRow
          for _ in 0..<result.width {
            target.storeBytes(
              of: source.loadUnaligned(fromByteOffset: pixel * 4, as: UInt32.self),
              toByteOffset: offset,
              as: UInt32.self
            )
            offset += 4
            pixel += perColumn
          }
        }
        count = offset
      }
    }
    return PixelBuffer(size: result, bytes: turned)
  }
}
