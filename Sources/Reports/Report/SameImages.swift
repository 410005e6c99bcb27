public import ImagePrimitives

/// How many URLs had the bytes of another one.
public struct Duplicates: Sendable, Equatable {
  /// Bodies that came from more than one URL.
  public var bodies: UInt64
  /// The URLs that they came from.
  public var urls: UInt64
  /// Whether all bodies were compared; false where there were more than are kept in mind, and both counts are at least so many.
  public var isComplete: Bool

  /// Counts of them.
  public init(bodies: UInt64 = 0, urls: UInt64 = 0, isComplete: Bool = true) {
    self.bodies = bodies
    self.urls = urls
    self.isComplete = isComplete
  }
}

/// An image that a host gave for so many URLs that it is likely to stand for one that is missing (`verify.placeholders`).
public struct Placeholder: Sendable, Equatable {
  /// How many a report lists, those of most URLs.
  package static let listedLimit = 100

  /// Host and port, where it is not the scheme's own.
  public var host: String
  /// The body's hash.
  public var checksum: Checksum
  /// URLs that got it.
  public var urls: UInt64
  /// The first of them, as its row shows it.
  public var firstURL: String
  /// What the image is; nil where not known.
  public var format: ImageFormat?
  /// Pixels; 0 where not known.
  public var width: UInt32
  /// Pixels; 0 where not known.
  public var height: UInt32
  /// Bytes of its body.
  public var bytes: UInt64

  /// A placeholder.
  public init(
    host: String,
    checksum: Checksum,
    urls: UInt64,
    firstURL: String,
    format: ImageFormat? = nil,
    width: UInt32 = 0,
    height: UInt32 = 0,
    bytes: UInt64 = 0
  ) {
    self.host = host
    self.checksum = checksum
    self.urls = urls
    self.firstURL = firstURL
    self.format = format
    self.width = width
    self.height = height
    self.bytes = bytes
  }
}
