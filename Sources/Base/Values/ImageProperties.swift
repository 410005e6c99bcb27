/// What a header says about an image.
///
/// The largest members come first, since batches copy results and heads: in another order, padding makes each 8 bytes longer.
public struct ImageProperties: Sendable, Hashable {
  /// In pixels; 0 if unknown.
  public var width: UInt32
  /// In pixels; 0 if unknown.
  public var height: UInt32
  /// Frames of an animation, pages of a TIFF or sizes of an icon; 1 for other images, 0 if unknown.
  public var frames: UInt32
  /// Properties besides the picture.
  public var metadata: ImageMetadata
  /// Nil if the bytes weren't recognised.
  public var format: ImageFormat?
  /// Whether it is an animation; one whose end wasn't read may count only one frame.
  public var isAnimated: Bool

  /// Creates the properties of an image, by default of one whose header wasn't read; by default, several frames of a format with
  /// animations are one.
  @inlinable
  public init(
    format: ImageFormat? = nil,
    width: UInt32 = 0,
    height: UInt32 = 0,
    frames: UInt32 = 1,
    isAnimated: Bool? = nil,
    metadata: ImageMetadata = ImageMetadata()
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
    self.isAnimated = isAnimated ?? (frames > 1 && format?.isAnimatable == true)
    self.metadata = metadata
  }

  /// 0 × 0 if unknown.
  public var size: ImageSize { ImageSize(width: Int(width), height: Int(height)) }
}

/// Properties of an image besides its picture.
///
/// They are read with the header, so those that a file states after its picture may be missing.
public struct ImageMetadata: Sendable, Hashable {
  /// The horizontal resolution in dots per inch, rounded; 0 if unknown. Larger ones are ``highestDPI``.
  public var dpi: UInt16
  /// Whether a colour profile is embedded.
  public var hasProfile: Bool
  /// The EXIF orientation, 1…8; 1 if there is none.
  public var orientation: UInt8
  /// Whether the EXIF metadata has a GPS position (CIPA DC-008, section 4.6.6): latitude or longitude.
  public var hasPosition: Bool
  /// Whether the EXIF metadata has a picture of its own (section 4.5.8): a thumbnail.
  package var hasThumbnail = false
  /// Whether the EXIF metadata has more than 16 KiB.
  package var isEXIFLarge = false

  /// The largest value of ``dpi``.
  public static let highestDPI: UInt16 = 65_535

  /// Creates metadata, by default of a file that has none.
  public init(hasProfile: Bool = false, orientation: UInt8 = 1, hasPosition: Bool = false, dpi: UInt16 = 0) {
    (self.hasProfile, self.orientation, self.hasPosition, self.dpi) = (hasProfile, orientation, hasPosition, dpi)
  }
}

/// Decoded pixels: 8-bit RGBA, not premultiplied, top row first, rows without padding.
public struct PixelBuffer: Sendable, Equatable {
  public let size: ImageSize
  /// `size.height` rows of `size.width * 4` bytes each.
  public var bytes: [UInt8]

  /// Creates a buffer over `bytes`; traps if their count isn't `size.width * size.height * 4`.
  public init(size: ImageSize, bytes: [UInt8]) {
    trap(unless: bytes.count == size.pixels * 4, "a pixel buffer of \(size.width)x\(size.height) needs \(size.pixels * 4) bytes")
    (self.size, self.bytes) = (size, bytes)
  }
}

/// Width and height of an image in pixels.
public struct ImageSize: Sendable, Hashable {
  public var width: Int
  public var height: Int

  public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }

  /// Width × height; `Int.max` if the product overflows.
  public var pixels: Int {
    let (product, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? .max : product
  }
}
