public import ImagePrimitives

/// How an image is written.
public struct EncodingOptions: Sendable, Hashable {
  /// The quality of JPEG and lossy WebP, 1…100; 85 by default. PNG has none. A value outside is a programmer's error and traps.
  public var quality: Int
  /// Whether WebP is written without loss; false by default. PNG always is, JPEG never.
  public var isLossless: Bool
  /// Bytes of the file at most; nil, the default: as many as it takes. The quality is lowered until it fits; what never does throws
  /// ``ImageError/Kind/unencodable``.
  public var maximumBytes: Int?
  /// The box that the image has to fit in, keeping its aspect; nil, the default: its own size. It is never enlarged.
  public var maximumSize: ImageSize?
  /// Whether only the first frame of an animation is written; false by default. Formats without animation always write that one alone.
  public var firstFrameOnly: Bool

  /// Options; each has its default.
  public init(
    quality: Int = 85,
    isLossless: Bool = false,
    maximumBytes: Int? = nil,
    maximumSize: ImageSize? = nil,
    firstFrameOnly: Bool = false
  ) {
    trap(unless: (1...100).contains(quality), "a quality of \(quality); it goes from 1 to 100")
    self.quality = quality
    self.isLossless = isLossless
    self.maximumBytes = maximumBytes
    self.maximumSize = maximumSize
    self.firstFrameOnly = firstFrameOnly
  }
}
