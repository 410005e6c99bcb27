/// For how long an answer may be used again without asking, by the server's own word (RFC 9111 and RFC 5861).
public struct Freshness: Sendable, Hashable {
  /// How long it is fresh from when it was received, its age by then taken off; nil where the server said nothing.
  public var lifetime: Duration?
  /// False for `no-store`.
  public var isStorable: Bool
  /// Whether it is to be asked for again before each use (`no-cache`).
  public var mustRevalidate: Bool
  /// Whether its bytes never change while it is fresh (`immutable`, RFC 8246).
  public var isImmutable: Bool
  /// For how long after ``lifetime`` it may be used while it is asked for again; zero by default.
  public var staleWhileRevalidate: Duration

  /// The freshness of an answer that says nothing, but for the parts given.
  public init(
    lifetime: Duration? = nil,
    isStorable: Bool = true,
    mustRevalidate: Bool = false,
    isImmutable: Bool = false,
    staleWhileRevalidate: Duration = .zero
  ) {
    self.lifetime = lifetime
    self.isStorable = isStorable
    self.mustRevalidate = mustRevalidate
    self.isImmutable = isImmutable
    self.staleWhileRevalidate = staleWhileRevalidate
  }
}

/// What tells versions of a server's answer apart, for conditional requests (RFC 9110, section 8.8).
public struct Validators: Sendable, Hashable {
  /// The `ETag` header as sent, quotes included.
  public var etag: String?
  /// The `Last-Modified` header as sent.
  public var lastModified: String?

  /// Validators of those two, either of which may be unknown.
  public init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// Whether there is nothing to ask with.
  public var isEmpty: Bool { etag == nil && lastModified == nil }
}

/// What caches on the way had of an image when it was asked for a second time, by the word of the one nearest to us.
public enum RemoteCacheStatus: String, Sendable, Hashable, CaseIterable {
  /// It had the image, and answered without asking its origin for all of it.
  case hit
  /// It asked for the image behind it.
  case miss
  /// The answer does not tell.
  case unknown
}
