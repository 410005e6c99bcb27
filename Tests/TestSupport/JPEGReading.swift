public import ImageCoding
public import Base

/// A coder that decodes JPEG like the standard one, except for functions that a test overrides.
public protocol JPEGReading: ImageCoder {}

extension JPEGReading {
  public func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

  /// The standard coder's header.
  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try JPEGCoder().header(of: prefix, isComplete: isComplete)
  }

  /// The standard coder's image.
  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    try JPEGCoder().decode(bytes, options: options, limits: limits)
  }

  /// The standard coder's proof.
  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    try JPEGCoder().proveDecodable(bytes, limits: limits)
  }
}
