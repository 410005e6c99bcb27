/// How long a response may be reused without revalidation, by the server's headers (RFC 9111 and RFC 5861).
public struct Freshness: Sendable, Hashable {
  /// The time from receipt until it expires, with its age at receipt deducted; nil if the server gave none.
  public var lifetime: Duration?
  /// False for `no-store`.
  public var isStorable: Bool
  /// Whether it must be revalidated before each use (`no-cache`).
  public var mustRevalidate: Bool
  /// Whether its bytes never change while it is fresh (`immutable`, RFC 8246).
  public var isImmutable: Bool
  /// Whether it may be used in no case once it has expired, before it is revalidated (`must-revalidate`).
  public var forbidsStale: Bool
  /// How long after ``lifetime`` it may be used while it is revalidated; zero by default.
  public var staleWhileRevalidate: Duration
  /// How long after ``lifetime`` it may be used if its server is down (`stale-if-error`); zero by default.
  public var staleIfError: Duration

  /// Creates the freshness of a response without caching headers, except for the given parts.
  public init(
    lifetime: Duration? = nil,
    isStorable: Bool = true,
    mustRevalidate: Bool = false,
    isImmutable: Bool = false,
    forbidsStale: Bool = false,
    staleWhileRevalidate: Duration = .zero,
    staleIfError: Duration = .zero
  ) {
    self.lifetime = lifetime
    self.isStorable = isStorable
    (self.mustRevalidate, self.isImmutable, self.forbidsStale) = (mustRevalidate, isImmutable, forbidsStale)
    (self.staleWhileRevalidate, self.staleIfError) = (staleWhileRevalidate, staleIfError)
  }
}

/// The values that distinguish versions of a response, for conditional requests (RFC 9110, section 8.8).
public struct Validators: Sendable, Hashable {
  /// The `ETag` header as sent, quotes included.
  public var etag: String?
  /// The `Last-Modified` header as sent.
  public var lastModified: String?

  public init(etag: String? = nil, lastModified: String? = nil) { (self.etag, self.lastModified) = (etag, lastModified) }

  /// Whether a conditional request is impossible.
  public var isEmpty: Bool { etag == nil && lastModified == nil }
}

/// The cache status that the second response for an image shows, by the cache nearest to the client.
package enum RemoteCacheStatus: String, Sendable, Hashable, CaseIterable {
  /// The cache had the image and responded without fetching all of it from the origin.
  case hit
  /// The cache fetched the image from the server behind it.
  case miss
  /// The response doesn't show a status.
  case unknown
}
