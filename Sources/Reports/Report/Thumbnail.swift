public import ImagePrimitives

/// A small picture of an image that came in the run, for the HTML report.
public struct Thumbnail: Sendable, Equatable {
  /// Why it is shown.
  public enum Reason: String, Sendable, CaseIterable {
    /// Among the last that came.
    case latest
    /// Among those with most bytes.
    case largest
    /// It came and was refused.
    case failed
    /// Many URLs of a host got it.
    case placeholder
  }

  public var reason: Reason
  /// As its row shows it.
  public var url: String
  /// The picture as a whole file in ``pictureFormat``; empty if the image's bytes could not be decoded.
  public var picture: [UInt8]
  public var pictureFormat: ImageFormat
  public var pictureWidth: UInt32
  public var pictureHeight: UInt32
  /// The image's own format; nil if its bytes are of none.
  public var format: ImageFormat?
  /// Pixels of the image; 0 if unknown.
  public var width: UInt32 = 0
  /// Pixels of the image; 0 if unknown.
  public var height: UInt32 = 0
  /// Of the image.
  public var bytes: UInt64
  /// Why it was refused; nil if it was good.
  public var failure: Failure?
  /// The body's hash; nil if unknown.
  public var checksum: Checksum?

  /// A thumbnail of an image of which nothing more is known.
  public init(
    _ reason: Reason,
    url: String,
    picture: [UInt8],
    pictureFormat: ImageFormat,
    pictureWidth: UInt32,
    pictureHeight: UInt32,
    bytes: UInt64
  ) {
    self.reason = reason
    self.url = url
    self.picture = picture
    self.pictureFormat = pictureFormat
    self.pictureWidth = pictureWidth
    self.pictureHeight = pictureHeight
    self.bytes = bytes
  }
}
