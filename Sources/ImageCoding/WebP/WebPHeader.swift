import Base

/// The header of a WebP: the RIFF container, its first chunk, and other chunks as far as available (RFC 9649, section 2).
struct WebPHeader {
  private(set) var image = ImageHeader(.webp)
  /// Whether the file has the animation flag, even with only one frame.
  private(set) var isAnimated = false
  private var exif = EXIF()
  /// The number of chunks found in the container.
  private(set) var chunks = 1
  private let file: UnsafeRawBufferPointer
  private let bytes: ByteView

  init(_ file: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    self.file = file
    bytes = ByteView(file)
    guard bytes.matches("RIFF"), bytes.matches("WEBP", at: 8) else {
      throw ImageError(.notAnImage, "not a WebP file: it doesn't start with a RIFF header of type WEBP")
    }
    guard bytes.has(30, at: 0), let declared = bytes.littleEndian32(at: 4) else {
      throw .endsEarly("WebP", needed: 30, of: bytes.count, isComplete: isComplete)
    }
    if isComplete, declared + 8 > bytes.count {
      throw .undecodable("the WebP file is truncated: it has \(bytes.count) bytes, but its RIFF header declares \(declared + 8)")
    }
    if bytes.matches("VP8 ", at: 12) {
      try readLossy(at: 20)
    } else if bytes.matches("VP8L", at: 12) {
      try readLossless(at: 20)
    } else if bytes.matches("VP8X", at: 12) {
      try readExtended(at: 20, end: min(declared + 8, bytes.count), isComplete: isComplete)
    } else {
      throw .undecodable("the WebP file's first chunk isn't VP8, VP8L or VP8X")
    }
    image.isAnimated = isComplete ? image.frames > 1 : isAnimated
    image.orientation = exif.orientation ?? 1
    image.add(exif)
  }

  var size: ImageSize { image.size }

  /// A key frame's tag, start code, and two 14-bit numbers, each with two bits of scale above it (RFC 6386, section 9.1).
  private mutating func readLossy(at offset: Int) throws(ImageError) {
    guard bytes.bigEndian16(at: offset + 3) == 0x9D01, bytes.byte(at: offset + 5) == 0x2A,
      let width = bytes.littleEndian16(at: offset + 6), let height = bytes.littleEndian16(at: offset + 8)
    else { throw .undecodable("the WebP file's VP8 chunk doesn't start with a key frame") }
    image.colorSpace = .ycbcr
    try setSize(width: width & 0x3FFF, height: height & 0x3FFF)
  }

  /// A signature, two 14-bit numbers minus one, and a bit for alpha (RFC 9649, section 3.4).
  private mutating func readLossless(at offset: Int) throws(ImageError) {
    guard bytes.byte(at: offset) == 0x2F, let bits = bytes.littleEndian32(at: offset + 1) else {
      throw .undecodable("the WebP file's VP8L chunk doesn't start with its signature")
    }
    image.colorSpace = .rgb
    image.hasAlpha = bits >> 28 & 1 == 1
    try setSize(width: (bits & 0x3FFF) + 1, height: (bits >> 14 & 0x3FFF) + 1)
  }

  /// Flags and two 24-bit numbers minus one; the pictures follow in their own chunks (RFC 9649, section 2.7).
  private mutating func readExtended(at offset: Int, end: Int, isComplete: Bool) throws(ImageError) {
    guard let flags = bytes.byte(at: offset), let width = bytes.littleEndian24(at: offset + 4),
      let height = bytes.littleEndian24(at: offset + 7)
    else { throw .undecodable("the WebP file's VP8X chunk is truncated") }
    image.hasAlpha = flags & 0x10 != 0
    isAnimated = flags & 0x02 != 0
    try setSize(width: width + 1, height: height + 1)
    let pictures = walkChunks(end: end)
    guard pictures > 0 || !isComplete else { throw .undecodable("the WebP file has no image data") }
    image.frames = max(1, isAnimated ? pictures : min(pictures, 1))
  }

  /// Reads the chunks that begin before `end`, and returns the number of those with a picture.
  private mutating func walkChunks(end: Int) -> Int {
    var offset = 12
    var pictures = 0
    while offset + 8 <= end, let length = bytes.littleEndian32(at: offset + 4) {
      let data = offset + 8..<min(offset + 8 + length, end)
      if offset > 12 { chunks += 1 }
      if isAnimated, bytes.matches("ANMF", at: offset) {
        pictures += 1
        image.colorSpace = image.colorSpace ?? colorSpaceOfFrame(at: data.lowerBound + 16)
      } else if !isAnimated, let space = colorSpace(ofChunkAt: offset) {
        pictures += 1
        image.colorSpace = image.colorSpace ?? space
      } else if bytes.matches("ICCP", at: offset) {
        image.profile = image.profile ?? ICCProfile(data: UnsafeRawBufferPointer(rebasing: file[data]))
      } else if bytes.matches("EXIF", at: offset) {
        exif = EXIF(tiff: bytes, data)
      }
      offset += 8 + length + length % 2
    }
    return pictures
  }

  /// A frame's picture comes first, or after its alpha.
  private func colorSpaceOfFrame(at offset: Int) -> ImageHeader.ColorSpace? {
    guard bytes.matches("ALPH", at: offset), let length = bytes.littleEndian32(at: offset + 4) else {
      return colorSpace(ofChunkAt: offset)
    }
    return colorSpace(ofChunkAt: offset + 8 + length + length % 2)
  }

  private func colorSpace(ofChunkAt offset: Int) -> ImageHeader.ColorSpace? {
    bytes.matches("VP8 ", at: offset) ? .ycbcr : bytes.matches("VP8L", at: offset) ? .rgb : nil
  }

  private mutating func setSize(width: Int, height: Int) throws(ImageError) {
    guard width > 0, height > 0 else { throw .undecodable("a WebP image of \(width) x \(height) pixels") }
    image.size = ImageSize(width: width, height: height)
  }
}
