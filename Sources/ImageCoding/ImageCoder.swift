public import ImagePrimitives

/// Reads images of one format or a few.
///
/// A coder is a value without state of its own: it may be called from many threads at once. Bytes are borrowed for the call.
public protocol ImageCoder: Sendable {
  /// Whether this coder reads `format`.
  func canDecode(_ format: ImageFormat) -> Bool

  /// Reads the header from the first bytes of a file.
  ///
  /// `isComplete` says that `prefix` is the whole file. Then what is cheap to see is seen too: a file shorter than its container
  /// declares, or without its picture. Throws ``ImageError/Kind/needsMoreBytes(minimum:)`` where the header goes on beyond a prefix; 64 KiB
  /// are enough for nearly every image.
  func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader

  /// Decodes a whole file to upright pixels; of an animation, its first frame.
  func decode(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> DecodedImage

  /// Decodes every pixel of a file and keeps none: ends in the same verdict as ``decode(_:limits:)``, sooner and in less memory.
  func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof
}

/// A decoded image.
public struct DecodedImage: Sendable, Equatable {
  /// The header as in the file.
  public var header: ImageHeader
  /// The pixels, upright: the orientation has been applied, so their size is ``ImageHeader/displaySize``.
  public var pixels: PixelBuffer
  /// What the library found odd, a sentence each.
  public var warnings: [String]

  /// An image of its parts.
  public init(header: ImageHeader, pixels: PixelBuffer, warnings: [String] = []) {
    self.header = header
    self.pixels = pixels
    self.warnings = warnings
  }
}

/// That every pixel of a file was decoded.
public struct Proof: Sendable, Hashable {
  /// The header as in the file.
  public var header: ImageHeader
  /// What the library found odd, a sentence each.
  public var warnings: [String]

  /// A proof of its parts.
  public init(header: ImageHeader, warnings: [String] = []) {
    self.header = header
    self.warnings = warnings
  }
}
