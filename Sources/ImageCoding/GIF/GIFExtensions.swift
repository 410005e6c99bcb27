import ImagePrimitives

/// How a frame is shown: the last Graphic Control Extension before it (GIF89a, section 23). By default opaque, for no time, and
/// left in place.
struct GIFGraphicControl {
  /// What becomes of a frame's area before the next frame is drawn.
  enum Disposal {
    /// It stays; also where nothing is said, or what the specification leaves to be defined.
    case keep
    /// It becomes the background.
    case background
    /// It becomes what it was before the frame.
    case previous
  }

  static let label: UInt8 = 0xF9

  private(set) var disposal = Disposal.keep
  private(set) var centiseconds = 0
  /// The colour that is not drawn; nil where all are.
  private(set) var transparentIndex: Int?

  init() {}

  /// Reads an extension's first sub-block; nil where it is too short.
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

/// How often an animation is shown: the application extension that Netscape brought, also under the name that others gave it.
enum GIFLoopCount {
  static let label: UInt8 = 0xFF

  /// Whether an application extension's first sub-block names this one.
  static func names(_ bytes: ByteView, _ block: Range<Int>) -> Bool {
    block.count == 11
      && (bytes.matches("NETSCAPE2.0", at: block.lowerBound) || bytes.matches("ANIMEXTS1.0", at: block.lowerBound))
  }

  /// The number in a sub-block behind that one, as it stands there, 0 being for ever; nil where the sub-block is about something
  /// else.
  static func read(_ bytes: ByteView, _ block: Range<Int>) -> Int? {
    guard block.count >= 3, bytes.byte(at: block.lowerBound) == 1 else { return nil }
    return bytes.littleEndian16(at: block.lowerBound + 1)
  }
}

/// A colour profile, in an application extension of the International Color Consortium.
enum GIFColorProfile {
  static let label: UInt8 = 0xFF

  /// Whether an application extension's first sub-block names this one.
  static func names(_ bytes: ByteView, _ block: Range<Int>) -> Bool {
    block.count == 11 && bytes.matches("ICCRGBG1012", at: block.lowerBound)
  }
}
