#if RareFormats
import Base

/// A frame of a codestream: its header and table of contents (ISO/IEC 18181-1, annex F). Besides the displayed frames there are
/// layers, references for patches, and coarse versions of other frames.
struct JXLFrame {
  enum Kind: Int {
    case regular, lowFrequency, reference, withoutProgress
  }

  private(set) var kind = Kind.regular
  /// The size of its pixels, which may differ from the image's.
  private(set) var size: ImageSize
  private(set) var isModular = false
  private(set) var hasPatches = false
  private(set) var hasSplines = false
  private(set) var passes = 1
  private(set) var ticks = 0
  private(set) var isLast = true
  /// The slot, 0…3, in which it is kept for later frames; nil if it isn't kept.
  private(set) var slot: Int?
  /// The bytes of its sections in the codestream.
  private(set) var sections = 0..<0
  private var upsampling = 1
  private var groupShift = 1
  /// Binary logarithms of the subsampling of its chroma.
  private var chromaShift = (horizontal: 0, vertical: 0)

  /// Whether it completes a picture that is displayed.
  var isDisplayed: Bool { isLast || ticks > 0 }

  private static let maximumSections = 65_536

  /// Reads the frame that starts at byte `offset`; a preview has its own size.
  init(_ codestream: ByteView, at offset: Int, of metadata: JXLMetadata, isPreview: Bool) throws(JXLError) {
    var bits = JXLBits(codestream, from: offset)
    size = isPreview ? metadata.previewSize ?? metadata.size : metadata.size
    let isDefault = try bits.bool()
    if !isDefault { try readFields(&bits, metadata, isPreview: isPreview) }
    try readSections(&bits)
  }

  private mutating func readFields(_ bits: inout JXLBits, _ metadata: JXLMetadata, isPreview: Bool) throws(JXLError) {
    kind = Kind(rawValue: try bits.bits(2))!
    isModular = try bits.bool()
    let flags = try bits.u64()
    (hasPatches, hasSplines) = (flags & 2 != 0, flags & 16 != 0)
    let usesLowFrequencyFrame = flags & 32 != 0
    let isYCbCr = metadata.isXYB ? false : try bits.bool()
    if isYCbCr, !usesLowFrequencyFrame { try readChromaShift(&bits) }
    if !usesLowFrequencyFrame {
      upsampling = 1 << (try bits.bits(2))
      try bits.skip(2 * metadata.extraChannels.count)
    }
    if isModular {
      groupShift = try bits.bits(2)
    } else if metadata.isXYB {
      try bits.skip(3 + 3)
    }
    if kind != .reference { try readPasses(&bits) }
    let level = kind == .lowFrequency ? try bits.bits(2) + 1 : 0
    let isPartial = kind == .lowFrequency ? false : try readCrop(&bits, image: size)
    if level > 0 {
      size = ImageSize(
        width: Self.ceil(size.width, 8 << (3 * (level - 1))),
        height: Self.ceil(size.height, 8 << (3 * (level - 1)))
      )
    }
    isLast = false
    var replaces = true
    if kind == .regular || kind == .withoutProgress {
      replaces = try Self.readBlending(&bits, extraChannels: metadata.extraChannels.count, isPartial: isPartial)
      for _ in metadata.extraChannels {
        _ = try Self.readBlending(&bits, extraChannels: metadata.extraChannels.count, isPartial: isPartial)
      }
      if let animation = metadata.animation {
        ticks = try bits.u32((0, 0), (0, 1), (8, 0), (32, 0))
        if animation.hasTimecodes { try bits.skip(32) }
      }
      isLast = try bits.bool()
    }
    try readSlot(&bits, replacesAll: replaces && !isPartial)
    try bits.skipName()
    try skipFilters(&bits)
    try bits.skipExtensions()
  }

  private mutating func readChromaShift(_ bits: inout JXLBits) throws(JXLError) {
    for _ in 0..<3 {
      let mode = try bits.bits(2)
      if mode == 1 || mode == 2 { chromaShift.horizontal = 1 }
      if mode == 1 || mode == 3 { chromaShift.vertical = 1 }
    }
  }

  private mutating func readPasses(_ bits: inout JXLBits) throws(JXLError) {
    passes = try bits.u32((0, 1), (0, 2), (0, 3), (3, 4))
    guard passes > 1 else { return }
    let downsamplings = try bits.u32((0, 0), (0, 1), (0, 2), (1, 3))
    try bits.skip(2 * (passes - 1))
    try bits.skip(2 * downsamplings)
    for _ in 0..<downsamplings { _ = try bits.u32((0, 0), (0, 1), (0, 2), (3, 0)) }
  }

  /// Reads another size or position than the image's; returns whether it leaves part of the image uncovered.
  private mutating func readCrop(_ bits: inout JXLBits, image: ImageSize) throws(JXLError) -> Bool {
    guard try bits.bool() else { return false }
    func number(_ bits: inout JXLBits) throws(JXLError) -> Int {
      try bits.u32((8, 0), (11, 256), (14, 2304), (30, 18_688))
    }
    func signed(_ value: Int) -> Int { value & 1 == 0 ? value / 2 : -(value + 1) / 2 }
    var (left, top) = (0, 0)
    if kind != .reference { (left, top) = (signed(try number(&bits)), signed(try number(&bits))) }
    size = ImageSize(width: try number(&bits), height: try number(&bits))
    guard size.width > 0, size.height > 0 else { throw .invalid("a frame has no pixels") }
    guard kind != .reference else { return false }
    return left > 0 || top > 0 || left + size.width < image.width || top + size.height < image.height
  }

  /// Skips how a channel is blended with an earlier frame; returns whether it replaces that.
  private static func readBlending(_ bits: inout JXLBits, extraChannels: Int, isPartial: Bool) throws(JXLError) -> Bool {
    let (replace, blend, weightedAdd, multiply) = (0, 2, 3, 4)
    let mode = try bits.u32((0, 0), (0, 1), (0, 2), (2, 3))
    guard mode <= multiply else { throw .invalid("a frame has an unknown blend mode") }
    let usesAlpha = extraChannels > 0 && (mode == blend || mode == weightedAdd)
    if usesAlpha { _ = try bits.u32((0, 0), (0, 1), (0, 2), (3, 3)) }
    if usesAlpha || mode == multiply { try bits.skip(1) }
    if mode != replace || isPartial { try bits.skip(2) }
    return mode == replace
  }

  private mutating func readSlot(_ bits: inout JXLBits, replacesAll: Bool) throws(JXLError) {
    guard kind != .lowFrequency else { return }
    let wanted = isLast ? 0 : try bits.bits(2)
    if !isLast, ticks == 0 || wanted != 0 { slot = wanted }
    // Whether it is kept before its colours are transformed.
    if kind == .reference || slot != nil && replacesAll { try bits.skip(1) }
  }

  /// Skips the parameters of the filters that smooth edges (annex J).
  private func skipFilters(_ bits: inout JXLBits) throws(JXLError) {
    if try bits.bool() { return }
    if try bits.bool(), try bits.bool() { try bits.skipHalfFloats(6) }
    if try bits.bits(2) > 0 {
      if !isModular, try bits.bool() { try bits.skipHalfFloats(8) }
      if try bits.bool() { try bits.skipHalfFloats(5) }
      if try bits.bool() { try bits.skipHalfFloats(isModular ? 3 : 4) }
      if isModular { try bits.skipHalfFloats(1) }
    }
    try bits.skipExtensions()
  }

  /// Reads the table of contents; only the sum of its sizes matters.
  private mutating func readSections(_ bits: inout JXLBits) throws(JXLError) {
    let count = try sectionCount()
    if try bits.bool() { try JXLEntropyDecoder.skipPermutation(&bits, of: count) }
    _ = try bits.alignToByte()
    var total = 0
    for _ in 0..<count { total += try bits.u32((10, 0), (14, 1024), (22, 17_408), (30, 4_211_712)) }
    let start = try bits.alignToByte()
    sections = start..<start + total
  }

  private func sectionCount() throws(JXLError) -> Int {
    let (width, height) = (Self.ceil(size.width, upsampling), Self.ceil(size.height, upsampling))
    let group = 128 << groupShift
    // Blocks, of which a group has as many as pixels at an eighth of its size, are padded for subsampled chroma.
    let columns = Self.ceil(width, 8 << chromaShift.horizontal) << chromaShift.horizontal
    let rows = Self.ceil(height, 8 << chromaShift.vertical) << chromaShift.vertical
    let (groups, overflow) = Self.ceil(width, group).multipliedReportingOverflow(by: Self.ceil(height, group))
    guard !overflow, groups <= Self.maximumSections else {
      throw .invalid("a frame of \(size.width) x \(size.height) pixels has too many groups")
    }
    let count = groups == 1 && passes == 1 ? 1 : 2 + Self.ceil(columns, group) * Self.ceil(rows, group) + groups * passes
    guard count <= Self.maximumSections else { throw .invalid("a frame has \(count) sections") }
    return count
  }

  private static func ceil(_ value: Int, _ divisor: Int) -> Int { (value + divisor - 1) / divisor }
}
#endif
