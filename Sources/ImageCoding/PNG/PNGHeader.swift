import ImagePrimitives

/// The header of a PNG: IHDR, and the chunks up to the first IDAT, where tRNS may stand (PNG specification, third edition, section 5).
struct PNGHeader {
  var size: ImageSize
  var hasAlpha: Bool
  private let bytes: ByteView
  private let isComplete: Bool

  init(_ bytes: ByteView, isComplete: Bool) throws(ImageError) {
    self.bytes = bytes
    self.isComplete = isComplete
    guard bytes.bigEndian32(at: 0) == 0x8950_4E47, bytes.bigEndian32(at: 4) == 0x0D0A_1A0A else {
      throw ImageError(.notAnImage, "not a PNG file: it does not begin with PNG's signature")
    }
    guard let length = bytes.bigEndian32(at: 8), bytes.has(13 + 12, at: 8) else {
      throw .endsEarly("PNG", needed: 8 + 25, of: bytes.count, isComplete: isComplete)
    }
    guard length == 13, bytes.matches("IHDR", at: 12) else {
      throw .undecodable("the PNG file does not begin with an IHDR chunk")
    }
    guard let sum = bytes.bigEndian32(at: 29), sum == Int(Self.cyclicRedundancyCheck(of: bytes, 12..<29)) else {
      throw .undecodable("the PNG file's IHDR chunk has a wrong checksum (CRC)")
    }
    guard let width = bytes.bigEndian32(at: 16), let height = bytes.bigEndian32(at: 20), let colourType = bytes.byte(at: 25)
    else {
      throw .endsEarly("PNG", needed: 8 + 25, of: bytes.count, isComplete: isComplete)
    }
    guard (1...Self.largestNumber).contains(width), (1...Self.largestNumber).contains(height) else {
      throw .undecodable("a PNG image of \(width) x \(height) pixels")
    }
    size = ImageSize(width: width, height: height)
    hasAlpha = colourType & 4 != 0
    try walkChunks(from: 33)
  }

  /// Looks at the chunks' names and lengths: up to the first IDAT of a prefix, to the last one of a whole file.
  private mutating func walkChunks(from start: Int) throws(ImageError) {
    var offset = start
    var hasData = false
    while true {
      if let length = bytes.bigEndian32(at: offset), bytes.has(4, at: offset + 4) {
        let isData = bytes.matches("IDAT", at: offset + 4)
        if hasData, !isData { return }  // What follows the picture does not matter to it.
        if isData, !isComplete { return }
        hasData = hasData || isData
        guard length <= Self.largestNumber else {
          throw .undecodable("a PNG chunk of impossible length \(length) at byte \(offset)")
        }
        if bytes.matches("IEND", at: offset + 4) { break }
        if bytes.matches("tRNS", at: offset + 4) { hasAlpha = true }
        offset += 12 + length
        guard isComplete, offset > bytes.count else { continue }
        throw .undecodable(
          "the PNG file is cut: it has \(bytes.count) bytes, and the chunk at byte \(offset - 12 - length) ends at \(offset)"
        )
      } else if hasData {
        return
      } else if !isComplete {
        throw .endsEarly("PNG", needed: offset + 8, of: bytes.count, isComplete: false)
      } else {
        break
      }
    }
    throw .undecodable("the PNG file has no image data (IDAT)")
  }

  /// PNG's numbers are below 2³¹ (section 7.1).
  private static let largestNumber = 0x7FFF_FFFF

  /// CRC-32 of ISO 3309 (annex D), bit by bit: it is for the 17 bytes of IHDR alone.
  private static func cyclicRedundancyCheck(of bytes: ByteView, _ range: Range<Int>) -> UInt32 {
    var sum = UInt32.max
    for offset in range {
      sum ^= UInt32(bytes.byte(at: offset) ?? 0)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }
}
