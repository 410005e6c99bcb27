public import ImageURLs

/// Who fetches the manifests that are named by URL; the reader knows nothing of the network.
///
/// It is called on the thread that reads the manifests, and never waits.
public protocol ManifestFetcher: AnyObject {
  /// Begins to fetch a manifest, and says where its bytes will be.
  ///
  /// What is for the user's own server alone, such as credentials, goes with the request only where `isOwnOrigin`: of a sitemap
  /// that an index names, where that is of the same scheme, host and port as what the user has named.
  func fetch(_ url: BaseURL, isOwnOrigin: Bool) -> any ManifestFetch
}

/// One manifest that is under way.
public protocol ManifestFetch: AnyObject {
  /// What came of it; nil while it is under way.
  var outcome: ManifestFetchOutcome? { get }
  /// A descriptor that can be read from when there is an ``outcome`` on; it lives as long as this object. It is not asked for where
  /// the outcome is there from the start.
  var descriptor: Int32 { get }
  /// Says that nobody wants it any more.
  func cancel()
}

/// What came of fetching a manifest.
public enum ManifestFetchOutcome: Sendable {
  case fetched(FetchedManifest)
  /// Why it cannot be fetched: one sentence, without the URL.
  case failed(String)
}

/// A manifest's bytes, in a file that nobody else knows.
public protocol FetchedBytes: AnyObject, Sendable {
  /// A regular file at its start; it is open as long as this object lives.
  var descriptor: Int32 { get }
}

/// A manifest that was fetched.
public struct FetchedManifest: Sendable {
  /// Its bytes, as the server's file has them: of a `.gz` file they are compressed still.
  public var bytes: any FetchedBytes
  /// The `Content-Type` header, where there was one.
  public var contentType: String?
  /// The URL that answered, against which relative entries are resolved; nil: the one that was asked.
  public var finalURL: BaseURL?

  /// A manifest of those bytes.
  public init(bytes: any FetchedBytes, contentType: String? = nil, finalURL: BaseURL? = nil) {
    self.bytes = bytes
    self.contentType = contentType
    self.finalURL = finalURL
  }
}
