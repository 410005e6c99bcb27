/// What became of one image of an import.
public enum ImportEvent: Sendable, Hashable {
  /// It is in the cache now.
  case imported(url: [UInt8], bytes: Int)
  /// It was left out.
  case skipped(url: [UInt8], reason: SkipReason)

  /// Why an image was left out.
  public enum SkipReason: Sendable, Hashable {
    /// The cache has one of the same identity that was stored at that time or later.
    case notNewer
    /// Its body is not as it was stored, or gone.
    case damaged(CachedBody.Damage)
    /// Its identity holds a hash of credentials under another cache's key, which nobody would ask for here.
    case foreignCredentials
    /// The flat folder has no file for its URL.
    case notFound
    /// The file was not proven to be an image; why not, as the probe said.
    case notAnImage(String)
    /// The file cannot be read, or is too large; why, in one sentence.
    case unreadable(String)
  }
}

/// What an import did.
public struct ImportResult: Sendable, Hashable {
  /// Images that are in the cache now.
  public var imported = 0
  /// Bytes of all of them.
  public var bytes = 0
  /// Images left out because the cache has them as new or newer.
  public var notNewer = 0
  /// Images left out because they are damaged in the cache they come from.
  public var damaged = 0
  /// Images left out because their identity is hashed under another cache's key.
  public var foreignCredentials = 0
  /// URLs that came over from the other cache's blacklist.
  public var blacklisted = 0
  /// URLs that the flat folder has no file for.
  public var notFound = 0
  /// Files that were not proven to be images, or could not be read.
  public var unusable = 0

  /// Nothing imported.
  public init() {}

  mutating func count(_ event: ImportEvent) {
    switch event {
    case .imported(_, let size):
      imported += 1
      bytes += size
    case .skipped(_, .notNewer): notNewer += 1
    case .skipped(_, .damaged): damaged += 1
    case .skipped(_, .foreignCredentials): foreignCredentials += 1
    case .skipped(_, .notFound): notFound += 1
    case .skipped(_, .notAnImage), .skipped(_, .unreadable): unusable += 1
    }
  }
}

/// A URL whose image may be in a flat folder.
public struct FlatImage: Sendable, Hashable {
  /// The URL as it was first written, which names the file.
  public var url: [UInt8]
  /// What the cache shall know the image by.
  public var identity: [UInt8]

  /// The image of a URL, to be known by that identity. Credentials must be gone from the identity; a URL with credentials is
  /// looked for as it is, and its image not imported, since the record would show them.
  public init(url: [UInt8], identity: [UInt8]) {
    self.url = url
    self.identity = identity
  }
}
