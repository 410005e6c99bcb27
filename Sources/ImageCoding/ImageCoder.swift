public import ImagePrimitives

/// Reads images of one format or a few, and may write them.
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

  /// Decodes a whole file to upright pixels, and an animation's other frames with it unless `options` want the first one alone.
  func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage

  /// Decodes every pixel of every frame of a file and keeps none: ends in the same verdict as ``decode(_:options:limits:)``, sooner and in
  /// less memory.
  func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> Proof

  /// Whether this coder writes `format`; false unless a coder says otherwise.
  func canEncode(_ format: ImageFormat) -> Bool

  /// The bytes of a file of that format with the image's pixels; an animation where the format and `options` allow one.
  ///
  /// The pixels are upright, and so is the file: it has no orientation of its own, and no profile. A format that
  /// ``canEncode(_:)`` denies throws ``ImageError/Kind/unencodable``.
  func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8]

  /// A decoder for a file that is still arriving; nil, unless a coder says otherwise: this coder has none for `format`.
  func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)?
}

extension ImageCoder {
  /// Decodes a whole file, all frames in full size, within the default limits unless others are given.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    limits: DecodingLimits = DecodingLimits()
  ) throws(ImageError) -> DecodedImage {
    try decode(bytes, options: DecodingOptions(), limits: limits)
  }

  /// No format.
  public func canEncode(_ format: ImageFormat) -> Bool { false }

  /// Throws ``ImageError/Kind/unencodable``.
  public func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    throw ImageError(.unencodable, "\(format.name) images are not written by \(Self.self)")
  }

  /// None.
  public func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)? { nil }
}

/// Decodes a file while its bytes arrive.
///
/// Its calls come one after another, from whatever threads.
public protocol ProgressiveDecoder: AnyObject, Sendable {
  /// Takes the next bytes of the file and reads what it can; throws where they cannot be an image of the format, or break a limit.
  func append(_ bytes: UnsafeRawBufferPointer) throws(ImageError)

  /// The whole canvas, upright, as far as the bytes until now tell; each image is better than the one before, and none is made where nothing
  /// is to be seen that the last one had not: then it is nil.
  func image() throws(ImageError) -> DecodedImage?
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
