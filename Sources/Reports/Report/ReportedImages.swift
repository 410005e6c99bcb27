public import Base

/// What a report shows of received images.
public struct ReportedImages: Sendable, Equatable {
  /// How many URLs returned the same bytes as others; nil if bodies weren't compared.
  public var duplicates: Duplicates?
  /// Images that a host returned for many URLs, the one with most URLs first.
  public var placeholders: [Placeholder] = []
  /// Small pictures of received images for the HTML report; the JSON report has none.
  public var thumbnails: [Thumbnail] = []
}

/// A small picture of a received image, for the HTML report.
public struct Thumbnail: Sendable, Equatable {
  /// The reason for showing an image.
  public enum Reason: String, Sendable, CaseIterable {
    case latest
    case largest
    /// One of those with most bytes for their pixels.
    case heavy
    case failed
    /// Many URLs of a host returned it.
    case placeholder
  }

  public var reason: Reason
  /// As in its row.
  public var url: String
  /// The picture as a file in ``pictureFormat``; empty if the image couldn't be decoded.
  public var picture: [UInt8]
  public var pictureFormat: ImageFormat
  public var pictureWidth: UInt32
  public var pictureHeight: UInt32
  /// The image's own format; nil if its bytes have no known format.
  public var format: ImageFormat?
  public var width: UInt32 = 0
  public var height: UInt32 = 0
  /// Of the image.
  public var bytes: UInt64
  public var failure: ImageFailure?
  public var checksum: Checksum?

  public init(
    _ reason: Reason,
    url: String,
    picture: [UInt8],
    pictureFormat: ImageFormat,
    pictureWidth: UInt32,
    pictureHeight: UInt32,
    bytes: UInt64
  ) {
    (self.reason, self.url, self.picture, self.pictureFormat) = (reason, url, picture, pictureFormat)
    (self.pictureWidth, self.pictureHeight, self.bytes) = (pictureWidth, pictureHeight, bytes)
  }
}
