import Base

/// The properties of a GIF in its blocks, read without decompressing pictures (GIF89a specification, sections 17 to 27).
///
/// The canvas is the logical screen, enlarged if the first frame is partly outside it, as in browsers and Pillow. For a complete
/// file all blocks are read, for a prefix the available ones.
struct GIFHeader {
  /// With the number of pictures whose descriptors were read. Its pixels can be transparent from the start, or because a frame's disposal
  /// clears its area.
  private(set) var image = ImageHeader(.gif)
  /// Whether the first frame has a transparent colour, so that the canvas starts transparent.
  private(set) var beginsTransparent = false
  /// Whether an extension has a loop count, which only animations have.
  private var hasLoopCount = false
  private let bytes: ByteView
  private let isComplete: Bool
  private var control = GIFGraphicControl()

  init(_ bytes: ByteView, isComplete: Bool) throws(ImageError) {
    self.bytes = bytes
    self.isComplete = isComplete
    guard bytes.matches("GIF87a") || bytes.matches("GIF89a") else {
      throw ImageError(.notAnImage, "not a GIF file: it starts neither with GIF87a nor with GIF89a")
    }
    guard let width = bytes.littleEndian16(at: 6), let height = bytes.littleEndian16(at: 8), let flags = bytes.byte(at: 10) else {
      throw .endsEarly("GIF", needed: 13, of: bytes.count, isComplete: isComplete)
    }
    image.size = ImageSize(width: width, height: height)
    (image.frames, image.colorSpace) = (0, .indexed)
    try walkBlocks(from: 13 + Self.lengthOfColors(flags))
    guard image.size.width > 0, image.size.height > 0 else {
      throw .undecodable("a GIF image of \(image.size.width) x \(image.size.height) pixels")
    }
    image.isAnimated = image.frames > 1 || !isComplete && hasLoopCount
  }

  private mutating func walkBlocks(from start: Int) throws(ImageError) {
    var offset: Int? = start
    while let block = offset {
      switch bytes.byte(at: block) {
      case UInt8(ascii: ","):
        try readDescriptor(at: block)
        offset = endOfPicture(at: block)
      case UInt8(ascii: "!"):
        offset = try readExtension(at: block)
      case nil where image.frames == 0:
        throw .endsEarly("GIF", needed: block + Self.descriptorLength, of: bytes.count, isComplete: isComplete)
      default:
        // The trailer, the end of the prefix, or something other than a block; decoding will distinguish them.
        offset = nil
      }
    }
    guard image.frames > 0 else { throw .undecodable("the GIF file has no picture") }
  }

  /// Section 20; the first frame's descriptor must be complete.
  private mutating func readDescriptor(at offset: Int) throws(ImageError) {
    if image.frames == 0 {
      guard let left = bytes.littleEndian16(at: offset + 1), let top = bytes.littleEndian16(at: offset + 3),
        let width = bytes.littleEndian16(at: offset + 5), let height = bytes.littleEndian16(at: offset + 7)
      else { throw .endsEarly("GIF", needed: offset + Self.descriptorLength, of: bytes.count, isComplete: isComplete) }
      // A frame without pixels leaves the size to the screen.
      if width > 0, height > 0 {
        image.size = ImageSize(width: max(image.size.width, left + width), height: max(image.size.height, top + height))
      }
      beginsTransparent = control.transparentIndex != nil
      image.hasAlpha = beginsTransparent
    }
    image.hasAlpha = image.hasAlpha || control.transparentIndex != nil && control.disposal == .background
    control = GIFGraphicControl()
    image.frames += 1
  }

  /// The offset of the block after a picture; nil if it is beyond the available bytes.
  private func endOfPicture(at offset: Int) -> Int? {
    guard let flags = bytes.byte(at: offset + 9) else { return nil }
    // After the colour table, one byte has the minimum code size.
    return endOfSubBlocks(at: offset + Self.descriptorLength + Self.lengthOfColors(flags) + 1)
  }

  /// Sections 23 and 26; returns the offset of the next block, nil if it is beyond the available bytes.
  private mutating func readExtension(at offset: Int) throws(ImageError) -> Int? {
    guard let end = endOfSubBlocks(at: offset + 2) else {
      guard image.frames == 0 else { return nil }
      // The last sub-block, which would end the extension, isn't available.
      throw .endsEarly("GIF", needed: bytes.count + Self.descriptorLength, of: bytes.count, isComplete: isComplete)
    }
    let first = bytes.subBlock(at: offset + 2)
    switch bytes.byte(at: offset + 1) {
    case GIFGraphicControl.label: control = GIFGraphicControl(bytes, first) ?? control
    case GIFApplication.label where GIFApplication.isLoopCount(bytes, first): hasLoopCount = true
    case GIFApplication.label where GIFApplication.isProfile(bytes, first):
      image.profile = profile(from: first.upperBound)
    default: break
    }
    return end
  }

  /// The offset after a series of sub-blocks and the empty one that ends it (section 15); nil if it is beyond the available bytes.
  private func endOfSubBlocks(at start: Int) -> Int? {
    var offset = start
    while let length = bytes.byte(at: offset) {
      offset += 1 + Int(length)
      if length == 0 { return offset }
    }
    return nil
  }

  /// The profile that the sub-blocks from `start` on have together.
  private func profile(from start: Int) -> ICCProfile {
    var data: [UInt8] = []
    var block = bytes.subBlock(at: start)
    while !block.isEmpty {
      data += block.lazy.compactMap { bytes.byte(at: $0) }
      block = bytes.subBlock(at: block.upperBound)
    }
    return data.withRawBytes { ICCProfile(data: $0) }
  }

  /// The introducer and nine bytes.
  private static let descriptorLength = 10

  /// The size of the colour table that the flags of a screen or picture declare, in bytes (section 18).
  private static func lengthOfColors(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }
}

extension ByteView {
  /// The range of the data in the sub-block at `offset`, after its length; empty for the last one, or if it isn't available.
  fileprivate func subBlock(at offset: Int) -> Range<Int> {
    let length = byte(at: offset).map { Int($0) } ?? 0
    return has(length, at: offset + 1) ? offset + 1..<offset + 1 + length : offset..<offset
  }
}

/// How a frame is shown: the last Graphic Control Extension before it (GIF89a, section 23). By default opaque, without duration,
/// and kept.
struct GIFGraphicControl {
  /// The treatment of a frame's area before the next frame is drawn.
  enum Disposal {
    /// It stays; also if no or an undefined disposal is given.
    case keep
    /// It becomes the background.
    case background
    /// Its previous contents are restored.
    case previous
  }

  static let label: UInt8 = 0xF9

  /// The treatment on a canvas of one colour. If a frame has a transparent colour, browsers and other programs make its area transparent.
  func disposal(background: UInt32) -> AnimationCanvas.Disposal {
    switch disposal {
    case .keep: .keep
    case .background: .fill(transparentIndex == nil ? background : 0)
    case .previous: .restore
    }
  }

  private(set) var disposal = Disposal.keep
  private(set) var centiseconds = 0
  /// The colour that isn't drawn; nil if all are.
  private(set) var transparentIndex: Int?

  init() {}

  /// Parses an extension's first sub-block; nil if it is too short.
  init?(_ bytes: ByteView, _ block: Range<Int>) {
    guard block.count >= 4, let flags = bytes.byte(at: block.lowerBound),
      let centiseconds = bytes.littleEndian16(at: block.lowerBound + 1), let index = bytes.byte(at: block.lowerBound + 3)
    else { return nil }
    switch flags >> 2 & 7 {
    case 2: disposal = .background
    case 3: disposal = .previous
    default: break
    }
    self.centiseconds = centiseconds
    transparentIndex = flags & 1 == 1 ? Int(index) : nil
  }
}

/// The application extensions that are read.
enum GIFApplication {
  static let label: UInt8 = 0xFF

  /// Whether an extension's first sub-block is Netscape's, which also has another name; the next ones have the loop count.
  static func isLoopCount(_ bytes: ByteView, _ block: Range<Int>) -> Bool {
    let start = block.lowerBound
    return block.count == 11 && (bytes.matches("NETSCAPE2.0", at: start) || bytes.matches("ANIMEXTS1.0", at: start))
  }

  /// The loop count in a following sub-block, 0 meaning forever; nil if the sub-block has another purpose.
  static func loopCount(_ bytes: ByteView, _ block: Range<Int>) -> Int? {
    guard block.count >= 3, bytes.byte(at: block.lowerBound) == 1 else { return nil }
    return bytes.littleEndian16(at: block.lowerBound + 1)
  }

  /// Whether the following sub-blocks have a colour profile (International Color Consortium).
  static func isProfile(_ bytes: ByteView, _ block: Range<Int>) -> Bool {
    block.count == 11 && bytes.matches("ICCRGBG1012", at: block.lowerBound)
  }
}
