public import Base

/// Decodes one or several image formats, and may encode them.
///
/// A coder has no state, so that many threads can use it at once. Bytes are borrowed for the call.
public protocol ImageCoder: Sendable {
  /// Whether this coder decodes `format`.
  func canDecode(_ format: ImageFormat) -> Bool

  /// Whether images have pixels, so that ``decode(_:options:limits:)`` can succeed; true by default.
  var decodesPixels: Bool { get }

  /// Reads the header from the first bytes of a file.
  ///
  /// If `isComplete`, `prefix` is the whole file, and problems that are cheap to detect are reported too: a file shorter than its
  /// container declares, or without its picture. Throws ``ImageError/Kind/needsMoreBytes(minimum:)`` if the header continues beyond
  /// a prefix; 64 KiB are enough for nearly every image.
  func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader

  /// Decodes a complete file to upright pixels, including all frames of an animation unless `options` limit them.
  func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage

  /// Decodes every pixel of every frame without keeping any; has the same result as ``decode(_:options:limits:)`` in less time and
  /// memory.
  func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof

  /// Whether this coder encodes `format`; false by default.
  func canEncode(_ format: ImageFormat) -> Bool

  /// Encodes the image in that format; as an animation if the format and `options` allow it.
  ///
  /// The pixels are upright, and so is the file: it has neither orientation nor profile. If ``canEncode(_:)`` is false for the
  /// format, it throws ``ImageError/Kind/unencodable``.
  func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8]
}

extension ImageCoder {
  public var decodesPixels: Bool { true }

  public func canEncode(_ format: ImageFormat) -> Bool { false }

  /// Throws ``ImageError/Kind/unencodable``.
  public func encode(_ image: DecodedImage, as format: ImageFormat, options: EncodingOptions) throws(ImageError) -> [UInt8] {
    throw notWritten(format)
  }

  func notWritten(_ format: ImageFormat) -> ImageError {
    ImageError(.unencodable, "\(Self.self) can't encode \(format.name) images")
  }
}

/// A coder of a format whose header states the length of the file or the position of its pixels.
package protocol LengthStatingCoder: ImageCoder {
  /// The number of bytes that the file has at least, as far as its first bytes state it; nil if they don't.
  ///
  /// Bytes that weren't received may be zero.
  func statedBytes(_ prefix: UnsafeRawBufferPointer) -> Int?
}

/// A coder that also decodes files while they arrive.
package protocol ProgressiveImageCoder: ImageCoder {
  /// A decoder for a file that is still arriving; nil if there is none for `format`.
  func progressiveDecoder(for format: ImageFormat, limits: DecodingLimits) -> (any ProgressiveDecoder)?

  /// The picture of the beginning of a file; nil if it shows nothing.
  func picture(ofPart bytes: UnsafeRawBufferPointer, _ format: ImageFormat, limits: DecodingLimits) throws(ImageError)
    -> DecodedImage?
}

extension ProgressiveImageCoder {
  package func picture(
    ofPart bytes: UnsafeRawBufferPointer,
    _ format: ImageFormat,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage? {
    guard let decoder = progressiveDecoder(for: format, limits: limits) else { return nil }
    try decoder.append(bytes)
    return try decoder.image()
  }
}

/// Decodes a file as its bytes arrive.
///
/// Calls are sequential, from any threads.
package protocol ProgressiveDecoder: AnyObject, Sendable {
  /// Appends bytes of the file and decodes them as far as possible; throws if they can't be an image of the format or exceed a
  /// limit.
  func append(_ bytes: UnsafeRawBufferPointer) throws(ImageError)

  /// The whole canvas, upright, as far as the bytes so far determine it; each image is better than the previous one. Nil if nothing
  /// would be visible that the previous image lacked.
  func image() throws(ImageError) -> DecodedImage?
}

/// The result of decoding every pixel of a file.
public struct ImageProof: Sendable, Hashable {
  /// The header of the file.
  public var header: ImageHeader
  /// The library's warnings, one sentence each.
  public var warnings: [String]

  public init(header: ImageHeader, warnings: [String] = []) {
    self.header = header
    self.warnings = warnings
  }
}
