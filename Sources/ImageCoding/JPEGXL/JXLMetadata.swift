#if RareFormats
import Base

/// The image header of a codestream (ISO/IEC 18181-1, annex D): size and metadata.
struct JXLMetadata {
  private(set) var size = ImageSize(width: 0, height: 0)
  /// As in EXIF.
  private(set) var orientation = 1
  /// The size of the preview, the first frame; nil if there is none.
  private(set) var previewSize: ImageSize?
  private(set) var animation: Animation?
  /// Nil: of another kind.
  private(set) var extraChannels: [ExtraChannel?] = []
  private(set) var isXYB = true
  private(set) var isGray = false
  private(set) var hasProfile = false

  struct Animation {
    let ticksPerSecond: Double
    /// How often it is shown; 0: forever.
    let loopCount: Int
    let hasTimecodes: Bool
  }

  enum ExtraChannel: Int {
    case alpha, depth, spot, selection, black, filterArray, thermal
  }

  /// Reads the signature and all fields; `bits` then is at the profile or the first frame.
  init(_ bits: inout JXLBits) throws(JXLError) {
    try bits.skip(16)
    size = try Self.size(&bits)
    if try !bits.bool() { try readFields(&bits) }
    try Self.skipTransformData(&bits, isXYB: isXYB)
  }

  /// Reads as much as a header contains.
  init(prefix bits: inout JXLBits) throws(JXLError) {
    try bits.skip(16)
    size = try Self.size(&bits)
    if try !bits.bool() { try readFields(&bits, isComplete: false) }
  }

  private static func size(_ bits: inout JXLBits) throws(JXLError) -> ImageSize {
    let isSmall = try bits.bool()
    func side(_ bits: inout JXLBits) throws(JXLError) -> Int {
      isSmall ? (try bits.bits(5) + 1) * 8 : try bits.u32((9, 1), (13, 1), (18, 1), (30, 1))
    }
    let height = try side(&bits)
    if let width = try width(&bits, ofHeight: height) { return ImageSize(width: width, height: height) }
    return ImageSize(width: try side(&bits), height: height)
  }

  /// The width that a ratio gives; nil if it is coded itself.
  private static func width(_ bits: inout JXLBits, ofHeight height: Int) throws(JXLError) -> Int? {
    let ratio = try bits.bits(3)
    guard ratio > 0 else { return nil }
    let (numerator, denominator) = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)][ratio - 1]
    return height * numerator / denominator
  }

  private static func previewSize(_ bits: inout JXLBits) throws(JXLError) -> ImageSize {
    let isSmall = try bits.bool()
    func side(_ bits: inout JXLBits) throws(JXLError) -> Int {
      isSmall
        ? try bits.u32((0, 16), (0, 32), (5, 1), (9, 33)) * 8 : try bits.u32((6, 1), (8, 65), (10, 321), (12, 1345))
    }
    let height = try side(&bits)
    if let width = try width(&bits, ofHeight: height) { return ImageSize(width: width, height: height) }
    return ImageSize(width: try side(&bits), height: height)
  }

  private mutating func readFields(_ bits: inout JXLBits, isComplete: Bool = true) throws(JXLError) {
    let hasExtraFields = try bits.bool()
    if hasExtraFields {
      orientation = try bits.bits(3) + 1
      // The intrinsic size is only a recommendation for display.
      if try bits.bool() { _ = try Self.size(&bits) }
      if try bits.bool() { previewSize = try Self.previewSize(&bits) }
      if try bits.bool() { try readAnimation(&bits) }
    }
    try Self.skipBitDepth(&bits)
    // Whether 16-bit buffers suffice.
    try bits.skip(1)
    let count = try bits.u32((0, 0), (0, 1), (4, 2), (12, 1))
    for _ in 0..<count { extraChannels.append(try Self.extraChannel(&bits)) }
    isXYB = try bits.bool()
    try readColorEncoding(&bits, isComplete: isComplete)
    guard isComplete else { return }
    // Tone mapping.
    if hasExtraFields, try !bits.bool() { try bits.skip(16 + 16 + 1 + 16) }
    try bits.skipExtensions()
  }

  private mutating func readAnimation(_ bits: inout JXLBits) throws(JXLError) {
    let numerator = try bits.u32((0, 100), (0, 1000), (10, 1), (30, 1))
    let denominator = try bits.u32((0, 1), (0, 1001), (8, 1), (10, 1))
    let loops = try bits.u32((0, 0), (3, 0), (16, 0), (32, 0))
    animation = Animation(
      ticksPerSecond: Double(numerator) / Double(denominator),
      loopCount: loops,
      hasTimecodes: try bits.bool()
    )
  }

  private static func skipBitDepth(_ bits: inout JXLBits) throws(JXLError) {
    if try bits.bool() {
      _ = try bits.u32((0, 32), (0, 16), (0, 24), (6, 1))
      try bits.skip(4)
    } else {
      _ = try bits.u32((0, 8), (0, 10), (0, 12), (6, 1))
    }
  }

  private static func extraChannel(_ bits: inout JXLBits) throws(JXLError) -> ExtraChannel? {
    if try bits.bool() { return .alpha }
    let kind = ExtraChannel(rawValue: try bits.enumeration())
    try skipBitDepth(&bits)
    // Its subsampling.
    _ = try bits.u32((0, 0), (0, 3), (0, 4), (3, 1))
    try bits.skipName()
    switch kind {
    case .alpha: try bits.skip(1)
    case .spot: try bits.skipHalfFloats(4)
    case .filterArray: _ = try bits.u32((0, 1), (2, 0), (4, 3), (8, 19))
    default: break
    }
    return kind
  }

  private mutating func readColorEncoding(_ bits: inout JXLBits, isComplete: Bool) throws(JXLError) {
    if try bits.bool() { return }
    hasProfile = try bits.bool()
    let (gray, xyb, custom) = (1, 2, 2)
    let space = try bits.enumeration()
    isGray = space == gray
    guard !hasProfile, isComplete else { return }
    func skipPoints(_ count: Int, _ bits: inout JXLBits) throws(JXLError) {
      for _ in 0..<count * 2 { _ = try bits.u32((19, 0), (19, 524_288), (20, 1_048_576), (21, 2_097_152)) }
    }
    if space != xyb {
      if try bits.enumeration() == custom { try skipPoints(1, &bits) }
      if space != gray, try bits.enumeration() == custom { try skipPoints(3, &bits) }
      // The transfer function: a gamma or one of a list.
      if try bits.bool() { try bits.skip(24) } else { _ = try bits.enumeration() }
    }
    // The rendering intent.
    _ = try bits.enumeration()
  }

  /// Skips custom matrices and upsampling weights.
  private static func skipTransformData(_ bits: inout JXLBits, isXYB: Bool) throws(JXLError) {
    if try bits.bool() { return }
    if isXYB, try !bits.bool() { try bits.skipHalfFloats(9 + 3 + 4) }
    let weights = try bits.bits(3)
    for (bit, count) in [15, 55, 210].enumerated() where weights >> bit & 1 == 1 { try bits.skipHalfFloats(count) }
  }
}
#endif
