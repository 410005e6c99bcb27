public import ImageCoding
public import Base

/// A coder that decodes JPEG like the standard one, except for functions that a test overrides.
public protocol JPEGReading: ImageCoder {}

extension JPEGReading {
  public func canDecode(_ format: ImageFormat) -> Bool { format == .jpeg }

  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    try JPEGCoder().header(of: prefix, isComplete: isComplete)
  }

  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    try JPEGCoder().decode(bytes, options: options, limits: limits)
  }

  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    try JPEGCoder().proveDecodable(bytes, limits: limits)
  }
}

/// A coder that neither decodes nor encodes unless it says so.
public protocol StubCoder: ImageCoder {}

extension StubCoder {
  public func canDecode(_ format: ImageFormat) -> Bool { true }

  public func header(of prefix: UnsafeRawBufferPointer, isComplete: Bool) throws(ImageError) -> ImageHeader {
    throw ImageError(.undecodable, "a stub")
  }

  public func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    throw ImageError(.undecodable, "a stub for \(limits.budget?.bytes ?? 0) bytes")
  }

  public func proveDecodable(_ bytes: UnsafeRawBufferPointer, limits: DecodingLimits) throws(ImageError) -> ImageProof {
    throw ImageError(.undecodable, "a stub for \(limits.budget?.bytes ?? 0) bytes")
  }
}
