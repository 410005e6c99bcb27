package import Base

/// A small picture of a received image, for the HTML report.
package struct Thumbnail: Sendable, Equatable {
  /// The reason for showing an image.
  package enum Reason: String, Sendable, CaseIterable {
    /// One of the last received images.
    case latest
    /// One of those with most bytes.
    case largest
    /// One of those with most bytes for their pixels.
    case heavy
    /// It was received and refused.
    case failed
    /// Many URLs of a host returned it.
    case placeholder
  }

  package var reason: Reason
  /// As in its row.
  package var url: String
  /// The picture as a file in ``pictureFormat``; empty if the image couldn't be decoded.
  package var picture: [UInt8]
  package var pictureFormat: ImageFormat
  package var pictureWidth: UInt32
  package var pictureHeight: UInt32
  /// The image's own format; nil if its bytes have no known format.
  package var format: ImageFormat?
  /// Pixels of the image; 0 if unknown.
  package var width: UInt32 = 0
  /// Pixels of the image; 0 if unknown.
  package var height: UInt32 = 0
  /// Of the image.
  package var bytes: UInt64
  /// Why it was refused; nil if it was good.
  package var failure: ImageFailure?
  /// The body's hash; nil if unknown.
  package var checksum: Checksum?

  /// Creates a thumbnail whose other properties are unknown.
  package init(
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
