import ImagePrimitives

/// The header of a WebP: the RIFF container and its first chunk (RFC 9649, section 2).
struct WebPHeader {
  var size: ImageSize
  var hasAlpha = false
  var frames = 1
  var isAnimated = false
  private let bytes: ByteView

  init(_ bytes: ByteView, isComplete: Bool) throws(ImageError) {
    self.bytes = bytes
    guard bytes.matches("RIFF"), bytes.matches("WEBP", at: 8) else {
      throw ImageError(.notAnImage, "not a WebP file: it does not begin with a RIFF header of type WEBP")
    }
    guard bytes.has(30, at: 0), let declared = bytes.littleEndian32(at: 4) else {
      throw .endsEarly("WebP", needed: 30, of: bytes.count, isComplete: isComplete)
    }
    if isComplete, declared + 8 > bytes.count {
      throw .undecodable("the WebP file is cut: it has \(bytes.count) bytes, and its RIFF header declares \(declared + 8)")
    }
    size = ImageSize(width: 0, height: 0)
    if bytes.matches("VP8 ", at: 12) {
      try readLossy(at: 20)
    } else if bytes.matches("VP8L", at: 12) {
      try readLossless(at: 20)
    } else if bytes.matches("VP8X", at: 12) {
      try readExtended(at: 20, end: min(declared + 8, bytes.count), isComplete: isComplete)
    } else {
      throw .undecodable("the WebP file's first chunk is none of VP8, VP8L and VP8X")
    }
  }

  /// A key frame's tag, start code, and two 14-bit numbers, each with two bits of scale above it (RFC 6386, section 9.1).
  private mutating func readLossy(at offset: Int) throws(ImageError) {
    guard bytes.bigEndian16(at: offset + 3) == 0x9D01, bytes.byte(at: offset + 5) == 0x2A,
      let width = bytes.littleEndian16(at: offset + 6), let height = bytes.littleEndian16(at: offset + 8)
    else { throw .undecodable("the WebP file's VP8 chunk does not begin with a key frame") }
    try setSize(width: width & 0x3FFF, height: height & 0x3FFF)
  }

  /// A signature, two 14-bit numbers less one, and a bit for alpha (RFC 9649, section 3.4).
  private mutating func readLossless(at offset: Int) throws(ImageError) {
    guard bytes.byte(at: offset) == 0x2F, let bits = bytes.littleEndian32(at: offset + 1) else {
      throw .undecodable("the WebP file's VP8L chunk does not begin with its signature")
    }
    hasAlpha = bits >> 28 & 1 == 1
    try setSize(width: (bits & 0x3FFF) + 1, height: (bits >> 14 & 0x3FFF) + 1)
  }

  /// Flags and two 24-bit numbers less one; the pictures follow in chunks of their own (RFC 9649, section 2.7).
  private mutating func readExtended(at offset: Int, end: Int, isComplete: Bool) throws(ImageError) {
    guard let flags = bytes.byte(at: offset), let width = bytes.littleEndian24(at: offset + 4),
      let height = bytes.littleEndian24(at: offset + 7)
    else { throw .undecodable("the WebP file's VP8X chunk is cut") }
    hasAlpha = flags & 0x10 != 0
    isAnimated = flags & 0x02 != 0
    try setSize(width: width + 1, height: height + 1)
    let pictures = countPictures(end: end)
    guard pictures > 0 || !isComplete else { throw .undecodable("the WebP file has no image data") }
    frames = max(1, pictures)
  }

  /// The chunks with a picture among those that begin before `end`.
  private func countPictures(end: Int) -> Int {
    var offset = 12
    var pictures = 0
    while offset + 8 <= end, let length = bytes.littleEndian32(at: offset + 4) {
      let isPicture =
        isAnimated
        ? bytes.matches("ANMF", at: offset) : bytes.matches("VP8 ", at: offset) || bytes.matches("VP8L", at: offset)
      if isPicture { pictures += 1 }
      offset += 8 + length + length % 2
    }
    return isAnimated ? pictures : min(pictures, 1)
  }

  private mutating func setSize(width: Int, height: Int) throws(ImageError) {
    guard width > 0, height > 0 else { throw .undecodable("a WebP image of \(width) x \(height) pixels") }
    size = ImageSize(width: width, height: height)
  }
}
