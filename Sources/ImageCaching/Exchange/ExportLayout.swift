/// How exported files are named.
public enum ExportLayout: Sendable, Hashable {
  /// As SDWebImage names them: flat, MD5 of the URL as first written in 32 lower-case hexadecimal digits.
  ///
  /// Without extension, every version of SDWebImage finds them in a read-only cache path. With it, they are named as it names its
  /// own files: by the extension of the URL's path, left out above 222 characters.
  case sdwebimage(withExtension: Bool)
  /// As the URL says: `host/path…`, for serving the folder as it is. What such a name cannot tell, a query among it, is told by 32 digits
  /// before the extension: MD5 of the URL.
  case urlPath
}

/// What became of one entry of an export.
public enum ExportEvent: Sendable, Hashable {
  /// It was written to that file of the folder.
  case exported(url: [UInt8], file: String, bytes: Int)
  /// It was left out.
  case skipped(url: [UInt8], reason: SkipReason)

  /// Why an entry was left out.
  public enum SkipReason: Sendable, Hashable {
    /// Its body is not as it was stored, or gone.
    case damaged(CachedBody.Damage)
    /// Its URL has credentials, which the cache does not know, and without which nobody asks for it.
    case hasCredentials
    /// A newer image of the same URL was exported.
    case superseded
    /// It is what a transformer made of the image, and no app asks for that by the URL.
    case transformed
  }
}

/// What an export did.
public struct ExportResult: Sendable, Hashable {
  /// Images that were written.
  public var exported = 0
  /// Bytes of all of them.
  public var bytes = 0
  /// Images left out because they are damaged.
  public var damaged = 0
  /// Images left out because their URL has credentials.
  public var withCredentials = 0
  /// Images left out because a newer one of the same URL was exported.
  public var superseded = 0
  /// Images left out because a transformer made them.
  public var transformed = 0

  /// Nothing exported.
  public init() {}

  mutating func count(_ event: ExportEvent) {
    switch event {
    case .exported(_, _, let size):
      exported += 1
      bytes += size
    case .skipped(_, .damaged): damaged += 1
    case .skipped(_, .hasCredentials): withCredentials += 1
    case .skipped(_, .superseded): superseded += 1
    case .skipped(_, .transformed): transformed += 1
    }
  }
}
