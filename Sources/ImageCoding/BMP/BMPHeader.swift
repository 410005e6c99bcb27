import Base

/// The header of a bitmap, and the positions of its colours and pixels (Microsoft: BITMAPFILEHEADER, BITMAPCOREHEADER,
/// BITMAPINFOHEADER, BITMAPV4HEADER, BITMAPV5HEADER; IBM: OS/2 2.x, BITMAPINFOHEADER2).
///
/// It is at the start of a BMP file, and without the file header at the start of a picture in an icon.
struct BMPHeader {
  private(set) var size = ImageSize(width: 0, height: 0)
  private(set) var isTopDown = false
  /// Bits per pixel: 1, 2, 4 or 8 with a palette; 16, 24 or 32 without.
  private(set) var bits = 0
  /// Whether pixels are runs of indices of 4 or 8 bits (Microsoft: Bitmap Compression).
  private(set) var hasRuns = false
  /// The bits of red, green, blue and alpha in pixels without a palette.
  private(set) var masks = SIMD4<UInt32>.zero
  /// The offset, the number and the length of the palette's colours.
  private(set) var palette = (offset: 0, colors: 0, length: 4)
  /// The offset of the first stored row.
  private(set) var pixels = 0
  private(set) var dpi: Double?
  private(set) var profile: ICCProfile?
  private let isInIcon: Bool

  private static let lengths = [12, 16, 40, 52, 56, 64, 108, 124]
  /// PROFILE_EMBEDDED, `MBED` as a number.
  private static let embeddedProfile = 0x4D42_4544
  /// Pillow's limit; some files have more colours than their pixels can refer to.
  private static let mostColors = 65_536

  /// Reads the header of a file, or that of an icon's picture, which has no file header.
  ///
  /// The height of an icon's picture counts the rows of the mask that follows the pixels, too. Its pixels of 32 bits have alpha even if
  /// no mask says so.
  init(_ file: UnsafeRawBufferPointer, isComplete: Bool, isInIcon: Bool = false) throws(ImageError) {
    self.isInIcon = isInIcon
    let bytes = ByteView(file)
    guard isInIcon || bytes.matches("BM") else { throw ImageError(.notAnImage, "not a BMP file: it doesn't start with BM") }
    func require(_ end: Int) throws(ImageError) {
      guard bytes.count < end else { return }
      throw .endsEarly("BMP", needed: end, of: bytes.count, isComplete: isComplete)
    }
    let start = isInIcon ? 0 : 14
    try require(start + 4)
    let length = bytes.littleEndian32(at: start) ?? 0
    guard Self.lengths.contains(length) else {
      throw .undecodable("a BMP header of \(length) bytes; it can have 12, 16, 40, 52, 56, 64, 108 or 124")
    }
    let headerEnd = start + length
    try require(headerEnd)
    // The fields that a shorter header lacks are zero.
    func field(_ offset: Int) -> Int { offset + 4 <= length ? bytes.littleEndian32(at: start + offset) ?? 0 : 0 }
    let isCore = length == 12
    bits = bytes.littleEndian16(at: start + (isCore ? 10 : 14)) ?? 0
    hasRuns = try Self.hasRuns(compression: field(16), bits: bits, isOS2: length == 64)
    func side(_ index: Int) -> Int {
      if isCore { return bytes.littleEndian16(at: start + 4 + index * 2) ?? 0 }
      return Int(Int32(truncatingIfNeeded: field(4 + index * 4)))
    }
    let (width, height) = (side(0), isInIcon ? side(1) / 2 : side(1))
    guard width > 0, height != 0 else { throw .undecodable("a BMP image of \(width) x \(height) pixels") }
    size = ImageSize(width: width, height: abs(height))
    isTopDown = height < 0
    var end = headerEnd
    if field(16) == 3 || field(16) == 6 {
      // Behind a shorter header, there are three masks, or four with BI_ALPHABITFIELDS.
      let count = length >= 56 || length < 52 && field(16) == 6 ? 4 : 3
      end = max(end, start + 40 + count * 4)
      try require(end)
      for index in 0..<count { masks[index] = UInt32(bytes.littleEndian32(at: start + 40 + index * 4) ?? 0) }
      try checkMasks()
    } else if bits > 8 {
      masks = bits == 16 ? SIMD4(0x7C00, 0x03E0, 0x001F, 0) : SIMD4(0xFF_0000, 0xFF00, 0xFF, 0)
    }
    try locate(paletteAt: end, colors: field(32), colorLength: isCore ? 3 : 4, bytes, headerEnd)
    let perMetre = Int32(truncatingIfNeeded: field(24))
    if perMetre > 0 { dpi = Double(perMetre) * 0.0254 }
    if field(56) == Self.embeddedProfile, length == 124 {
      profile = Self.profile(file, start + field(112), length: field(116), isComplete: isComplete)
    }
    guard isInIcon else { return }
    guard !hasRuns else { throw .undecodable("a run-length coded bitmap, which icons can't have") }
    if bits == 32, masks.w == 0, (masks.x | masks.y | masks.z) >> 24 == 0 { masks.w = 0xFF00_0000 }
  }

  private static func hasRuns(compression: Int, bits: Int, isOS2: Bool) throws(ImageError) -> Bool {
    switch (compression, bits) {
    case (0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 24), (0, 32): return false
    case (1, 8), (2, 4): return true
    // In OS/2, the number has another meaning.
    case (3..., _) where isOS2: throw .undecodable("a BMP image with compression \(compression) of OS/2, which isn't supported")
    case (3, 16), (3, 24), (3, 32), (6, 16), (6, 24), (6, 32): return false
    case (4, _): throw .undecodable("a JPEG in a BMP file (BI_JPEG), which only printers read")
    case (5, _): throw .undecodable("a PNG in a BMP file (BI_PNG), which only printers read")
    default: throw .undecodable("a BMP image with \(bits) bits per pixel and compression \(compression), which isn't defined")
    }
  }

  /// The bits of a mask must be contiguous and not overlap with others (BITMAPINFOHEADER, biCompression).
  private mutating func checkMasks() throws(ImageError) {
    // Pillow and browsers read pixels of 32 bits without any mask as blue, green, red, alpha.
    if bits == 32, masks == .zero { masks = SIMD4(0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000) }
    var used: UInt32 = bits == 32 ? 0 : ~0 << UInt32(bits)
    for index in 0..<4 where masks[index] != 0 {
      let run = masks[index] >> UInt32(masks[index].trailingZeroBitCount)
      guard run & (run &+ 1) == 0, used & masks[index] == 0 else {
        throw .undecodable("a BMP image whose colour masks overlap, have gaps or exceed its \(bits) bits per pixel")
      }
      used |= masks[index]
    }
    guard masks.x | masks.y | masks.z != 0 else { throw .undecodable("a BMP image without colour masks") }
  }

  private mutating func locate(
    paletteAt end: Int,
    colors declared: Int,
    colorLength: Int,
    _ bytes: ByteView,
    _ headerEnd: Int
  ) throws(ImageError) {
    let colors = bits > 8 ? 0 : declared == 0 ? 1 << bits : declared
    guard colors <= Self.mostColors else { throw .undecodable("a BMP palette of \(colors) colours") }
    palette = (end, colors, colorLength)
    // Some writers omit the offset of the pixels, others the palette's length in it; Pillow reads both.
    pixels = isInIcon ? 0 : bytes.littleEndian32(at: 10) ?? 0
    if pixels == 0 || pixels == headerEnd && bits <= 8 { pixels = end + colors * colorLength }
    guard pixels >= headerEnd else {
      throw .undecodable("the BMP file's pixels start at byte \(pixels), inside its header of \(headerEnd) bytes")
    }
  }

  /// The profile at `start`; nil if a complete file doesn't contain it.
  private static func profile(_ file: UnsafeRawBufferPointer, _ start: Int, length: Int, isComplete: Bool) -> ICCProfile? {
    guard length > 0, start + length <= file.count || !isComplete else { return nil }
    return ICCProfile(data: UnsafeRawBufferPointer(rebasing: file[min(start, file.count)..<min(start + length, file.count)]))
  }
}

extension BMPHeader {
  /// The header of the file, or of an icon, whose pixels have alpha by their mask.
  var image: ImageHeader {
    let colors = bits > 8 ? ImageHeader.ColorSpace.rgb : .indexed
    var image = ImageHeader(format: isInIcon ? .ico : .bmp, size: size, hasAlpha: isInIcon || masks.w != 0, colorSpace: colors)
    if !isInIcon { image.profile = profile }
    image.dpi = dpi
    return image
  }

  /// The length of a stored row, which is padded to four bytes.
  var rowLength: Int { (size.width * bits + 31) / 32 * 4 }

  /// The offset after the last stored row.
  var pixelsEnd: Int { pixels + size.height.saturated(times: rowLength) }

  /// The offset after the last pixel, or after the shortest run-length codes.
  var lastPixelEnd: Int { hasRuns ? pixels + 2 : pixelsEnd - rowLength + (size.width * bits + 7) / 8 }

  /// Throws if the file ends before the last pixel. The padding of the last row may be missing.
  func checkPixels(in file: UnsafeRawBufferPointer) throws(ImageError) {
    let end = lastPixelEnd
    guard end > file.count else { return }
    let container = isInIcon ? "bitmap" : "BMP file"
    throw .undecodable("the \(container) is truncated: it has \(file.count) bytes, but its pixels need \(end)")
  }
}
