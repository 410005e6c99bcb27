import ImagePrimitives

/// The header of a JPEG: the marker segments up to the frame header (ITU-T T.81, annex B).
///
/// Segments are hopped over by their lengths, so that a profile or a thumbnail of 60 KB costs nothing.
struct JPEGHeader {
  var size: ImageSize
  var orientation = 1

  init(_ bytes: ByteView, isComplete: Bool) throws(ImageError) {
    guard bytes.bigEndian16(at: 0) == 0xFFD8 else {
      throw ImageError(.notAnImage, "not a JPEG file: it does not begin with a start-of-image marker")
    }
    var offset = 2
    while true {
      let marker = try Self.nextMarker(in: bytes, at: &offset, isComplete: isComplete)
      switch marker {
      case 0x01, 0xD0...0xD7:  // TEM and RSTn stand alone
        continue
      case 0xD8, 0xD9, 0xDA:
        throw .undecodable(
          "the JPEG file has no frame header (SOF) before marker 0x\(String(marker, radix: 16)) at byte \(offset - 2)"
        )
      default:
        guard let length = bytes.bigEndian16(at: offset) else {
          throw .endsEarly("JPEG", needed: offset + 2, of: bytes.count, isComplete: isComplete)
        }
        guard length >= 2 else { throw .undecodable("a JPEG segment of impossible length \(length) at byte \(offset)") }
        if marker == 0xE1, orientation == 1 {
          orientation = EXIFOrientation.read(bytes, segment: offset + 2..<offset + length) ?? 1
        }
        if Self.isFrameHeader(marker) {
          size = try Self.size(bytes, at: offset, length: length, isComplete: isComplete)
          return
        }
        offset += length
      }
    }
  }

  /// Moves behind the next marker and returns its second byte. Like libjpeg, it skips fill bytes and garbage between segments.
  private static func nextMarker(in bytes: ByteView, at offset: inout Int, isComplete: Bool) throws(ImageError) -> UInt8 {
    var isAfterFF = false
    while let byte = bytes.byte(at: offset) {
      offset += 1
      if isAfterFF, byte != 0xFF, byte != 0 { return byte }
      isAfterFF = byte == 0xFF
    }
    throw .endsEarly("JPEG", needed: offset + (isAfterFF ? 1 : 2), of: bytes.count, isComplete: isComplete)
  }

  /// SOF0…SOF15, without DHT, JPG and DAC (CC), which share their range.
  private static func isFrameHeader(_ marker: UInt8) -> Bool {
    (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
  }

  /// Length, precision, height, width: B.2.2.
  private static func size(_ bytes: ByteView, at offset: Int, length: Int, isComplete: Bool) throws(ImageError) -> ImageSize {
    guard length >= 8 else { throw .undecodable("a JPEG frame header of \(length) bytes at byte \(offset)") }
    guard let height = bytes.bigEndian16(at: offset + 3), let width = bytes.bigEndian16(at: offset + 5) else {
      throw .endsEarly("JPEG", needed: offset + 7, of: bytes.count, isComplete: isComplete)
    }
    // A height of 0 is one that a DNL marker brings later, which no common decoder reads.
    guard width > 0, height > 0 else { throw .undecodable("a JPEG frame of \(width) x \(height) pixels") }
    return ImageSize(width: width, height: height)
  }
}
