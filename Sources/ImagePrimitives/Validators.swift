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
