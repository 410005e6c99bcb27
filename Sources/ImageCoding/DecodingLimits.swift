import ImagePrimitives

/// What a decoder may spend on one image; checked against the header before anything is allocated for the pixels.
public struct DecodingLimits: Sendable, Hashable {
  /// Width × height at most; 100,000,000 by default.
  public var maximumPixels: Int
  /// Scans of a JPEG at most; 500 by default, which is TurboJPEG's own limit (`TJFLAG_LIMITSCANS`). A large image is allowed fewer: all its scans together may
  /// pass over 32 times ``maximumPixels``.
  ///
  /// A scan of a progressive JPEG passes over the whole image and may be a few bytes short, so a small file could keep a decoder busy for
  /// minutes. Encoders write about 10.
  public var maximumScans: Int

  /// Limits; each has its default.
  public init(maximumPixels: Int = 100_000_000, maximumScans: Int = 500) {
    self.maximumPixels = maximumPixels
    self.maximumScans = maximumScans
  }

  func check(_ size: ImageSize) throws(ImageError) {
    guard size.pixels > maximumPixels else { return }
    throw ImageError(
      .dimensions(maximumPixels: maximumPixels),
      "the image is \(size.width) x \(size.height) pixels, and \(maximumPixels) pixels in all are allowed"
    )
  }

  func scans(for size: ImageSize) -> Int {
    let (allPixels, overflow) = maximumPixels.multipliedReportingOverflow(by: 32)
    return overflow ? maximumScans : min(maximumScans, allPixels / size.pixels)
  }
}
