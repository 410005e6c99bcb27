import CPNG
import Base

/// The header of a PNG: IHDR and the chunks up to the first IDAT, or all chunks of a complete file (PNG specification, third
/// edition, section 5).
struct PNGHeader {
  /// With a warning about an animation of a complete file that is decoded as a still image.
  private(set) var image = ImageHeader(.png)
  private(set) var isInterlaced = false
  private var exif = EXIF()
  /// The number of frames that the acTL chunk declares; nil if there is none.
  private var declaredFrames: Int?
  /// The number of chunks, except those with picture data.
  private(set) var chunks = 0
  /// The animation of a complete file, if it has one.
  private(set) var animation: PNGAnimation?

  var size: ImageSize { image.size }

  init(_ file: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    try readImageHeader(ByteView(file), file, isComplete: isComplete)
    try walkChunks(file, isComplete: isComplete)
    if isComplete, declaredFrames != nil {
      let (animation, problem) = try PNGAnimation.read(file, canvas: size)
      self.animation = animation
      if animation == nil { image.warnings = ["its animation is ignored: \(problem)"] }
    }
    image.frames = animation?.frames.count ?? 1
    image.isAnimated = isComplete ? image.frames > 1 : (declaredFrames ?? 1) > 1
    image.orientation = exif.orientation ?? 1
    image.add(exif)
  }

  private static let imageHeaderEnd = 8 + 25

  private mutating func readImageHeader(_ bytes: ByteView, _ file: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    guard bytes.bigEndian32(at: 0) == 0x8950_4E47, bytes.bigEndian32(at: 4) == 0x0D0A_1A0A else {
      throw ImageError(.notAnImage, "not a PNG file: it doesn't start with PNG's signature")
    }
    guard bytes.has(Self.imageHeaderEnd, at: 0), let chunk = PNGChunk(in: file, at: 8), let width = bytes.bigEndian32(at: 16),
      let height = bytes.bigEndian32(at: 20), let colorType = bytes.byte(at: 25), let interlacing = bytes.byte(at: 28)
    else { throw .endsEarly("PNG", needed: Self.imageHeaderEnd, of: bytes.count, isComplete: isComplete) }
    guard chunk.data.count == 13, chunk.isNamed("IHDR") else {
      throw .undecodable("the PNG file doesn't start with an IHDR chunk")
    }
    guard chunk.isValid else { throw .undecodable("the PNG file's IHDR chunk has a wrong checksum (CRC)") }
    guard (1...PNGChunk.largestNumber).contains(width), (1...PNGChunk.largestNumber).contains(height) else {
      throw .undecodable("a PNG image of \(width) x \(height) pixels")
    }
    guard Self.hasValidProperties(bytes) else {
      throw .undecodable("the PNG file's IHDR chunk has an invalid bit depth, colour type or method")
    }
    image.size = ImageSize(width: width, height: height)
    image.hasAlpha = colorType & 4 != 0
    isInterlaced = interlacing != 0
    image.colorSpace =
      switch colorType {
      case 0, 4: .gray
      case 2, 6: .rgb
      case 3: .indexed
      default: nil
      }
  }

  /// Whether the bit depth fits the colour type, and the methods are known (section 11.2.1).
  private static func hasValidProperties(_ bytes: ByteView) -> Bool {
    let depths: [UInt8: [UInt8]] = [0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]]
    guard let depth = bytes.byte(at: 24), let colorType = bytes.byte(at: 25), let interlacing = bytes.byte(at: 28) else {
      return false
    }
    return depths[colorType]?.contains(depth) == true && bytes.bigEndian16(at: 26) == 0 && interlacing < 2
  }

  /// Reads the chunks' names and lengths.
  private mutating func walkChunks(_ file: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) {
    var hasData = false
    var hasEnded = false
    var walk = PNGChunks(file, from: Self.imageHeaderEnd)
    while let chunk = walk.next() {
      let isData = chunk.isNamed("IDAT")
      if isData, !isComplete { return }
      hasData = hasData || isData
      hasEnded = chunk.isNamed("IEND")
      if hasEnded { break }
      guard chunk.isComplete || !isComplete else {
        throw .undecodable(
          "the PNG file is truncated: it has \(file.count) bytes, but the chunk at byte \(chunk.offset) ends at \(chunk.end)"
        )
      }
      if !isData, !chunk.isNamed("fdAT") { chunks += 1 }
      if !hasData, !isData, chunk.isCritical { try Self.check(critical: chunk) }
      // Ancillary chunks with a wrong checksum are ignored.
      if chunk.isCritical || !chunk.isComplete || chunk.isValid { read(chunk, file, isBeforeData: !hasData) }
    }
    if hasData { return }  // Invalid chunks after the picture don't affect it.
    if let chunk = PNGChunk(in: file, at: walk.offset), !chunk.isPlausible {
      throw .undecodable("a PNG chunk with invalid name or length at byte \(walk.offset)")
    }
    guard isComplete || hasEnded else { throw .endsEarly("PNG", needed: walk.offset + 8, of: file.count, isComplete: false) }
    throw .undecodable("the PNG file has no image data (IDAT)")
  }

  /// Throws if a critical chunk before the picture is damaged or unknown.
  private static func check(critical chunk: PNGChunk) throws(ImageError) {
    guard chunk.isNamed("PLTE") else {
      throw .undecodable("the PNG file's critical chunk \(chunk.name) at byte \(chunk.offset) is unknown or misplaced")
    }
    guard chunk.isValid || !chunk.isComplete else {
      throw .undecodable("the PNG file's PLTE chunk at byte \(chunk.offset) has a wrong checksum (CRC)")
    }
  }

  private mutating func read(_ chunk: PNGChunk, _ file: UnsafeRawBufferPointer, isBeforeData: Bool) {
    if chunk.isNamed("eXIf") {
      exif = EXIF(tiff: ByteView(file), chunk.data)
    } else if !isBeforeData {
      return
    } else if chunk.isNamed("tRNS") {
      image.hasAlpha = true
    } else if chunk.isNamed("iCCP") {
      // A name of up to 79 characters in Latin-1, followed by a zero (section 11.3.2.3).
      let name = String(chunk.content.prefix(79).prefix { $0 != 0 }.map { Character(UnicodeScalar($0)) })
      image.profile = ICCProfile(name: name.isEmpty ? nil : name)
    } else if chunk.isNamed("pHYs") {
      // Pixels per metre, if the unit is 1 (section 11.3.4.3).
      let perMetre = ByteView(file).bigEndian32(at: chunk.data.lowerBound) ?? 0
      if perMetre > 0, ByteView(file).byte(at: chunk.data.lowerBound + 8) == 1 { image.dpi = Double(perMetre) * 0.0254 }
    } else if chunk.isNamed("acTL"), declaredFrames == nil, chunk.data.count >= 4 {
      declaredFrames = ByteView(file).bigEndian32(at: chunk.data.lowerBound)
    }
  }
}

extension PNGHeader {
  /// Throws if the picture is too large, or there are too many frames or chunks, or chunks decompress to too much.
  func check(_ limits: DecodingLimits, _ file: UnsafeRawBufferPointer) throws(ImageError) {
    try limits.check(size)
    // A larger number isn't valid, so that the still picture is shown.
    if let declaredFrames, declaredFrames <= PNGChunk.largestNumber { try limits.check(frames: declaredFrames) }
    guard chunks <= limits.maximumChunks else {
      throw .undecodable("the PNG file has \(chunks) chunks besides its picture's, but \(limits.maximumChunks) are allowed")
    }
    try PNGPackedChunks.check(file)
  }
}
