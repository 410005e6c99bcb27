import ImagePrimitives

/// The orientation in an EXIF segment (CIPA DC-008, section 4.6.5): a TIFF file behind six bytes of name.
enum EXIFOrientation {
  private static let tag = 0x0112

  /// The orientation, 1…8, that the bytes of an APP1 segment hold; nil where they are cut, of another kind, or without one.
  static func read(_ bytes: ByteView, segment: Range<Int>) -> Int? {
    let start = segment.lowerBound + 6
    guard bytes.matches("Exif\0\0", at: segment.lowerBound) else { return nil }
    let isLittleEndian = bytes.matches("II*\0", at: start)
    guard isLittleEndian || bytes.matches("MM\0*", at: start) else { return nil }
    func short(_ offset: Int) -> Int? {
      guard offset + 2 <= segment.upperBound else { return nil }
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
}
