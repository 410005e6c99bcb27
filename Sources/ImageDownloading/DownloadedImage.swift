public import ImagePrimitives

/// A body as it came, and what the server said of it.
public struct DownloadedImage: Sendable {
  /// The HTTP status.
  public var status: Int
  /// The `Content-Type` header.
  public var contentType: String?
  /// The `ETag` header, quotes included.
  public var etag: String?
  /// The `Last-Modified` header.
  public var lastModified: String?
  /// All `Vary` headers, joined by commas: which request headers the answer depends on (RFC 9110, section 12.5.5).
  /// ``DownloadOptions/requestValue(ofHeader:defaults:credential:)`` tells what was sent.
  public var vary: String?
  /// For how long the answer may be used again, from when its body had come whole.
  public var freshness: Freshness
  /// The headers that ``freshness`` is by; none where the answer said nothing of it.
  public var freshnessHeaders: FreshnessHeaders
  /// The URL that answered, where redirects led to it; it may carry userinfo.
  public var finalURL: [UInt8]?
  /// The body; empty where it was streamed.
  public var body: [UInt8]
  /// The body's length in bytes, streamed or not.
  public var bodyBytes: Int
  /// The length of the whole body in bytes: ``bodyBytes`` where all of it came; else as the server told it, and nil where it did
  /// not, or where what it told is the length of a coded body. Nil for a 304.
  public var totalBytes: Int?
  /// Whether the body is only the beginning of the whole one, or none of it, as ``DownloadOptions/method-swift.property`` asked.
  public var isPrefix: Bool
  /// Whether the body went out as ``DownloadEvent/chunk(id:attempt:bytes:)``.
  public var wasStreamed: Bool
  /// What caches on the way had of it; nil unless ``DownloadOptions/checksRemoteCache``.
  public var remoteCache: RemoteCacheResponse?
  /// What it cost, over all attempts.
  public var summary: TransferSummary

  /// An answer with those parts. Its freshness, unless it says nothing, counts as said by all headers where `freshnessHeaders` is
  /// nil.
  public init(
    status: Int,
    contentType: String? = nil,
    etag: String? = nil,
    lastModified: String? = nil,
    vary: String? = nil,
    freshness: Freshness = Freshness(),
    freshnessHeaders: FreshnessHeaders? = nil,
    finalURL: [UInt8]? = nil,
    body: [UInt8],
    bodyBytes: Int,
    totalBytes: Int? = nil,
    isPrefix: Bool = false,
    wasStreamed: Bool = false,
    summary: TransferSummary = TransferSummary()
  ) {
    self.status = status
    self.contentType = contentType
    self.etag = etag
    self.lastModified = lastModified
    self.vary = vary
    self.freshness = freshness
    self.freshnessHeaders = freshnessHeaders ?? (freshness == Freshness() ? [] : [.cacheControl, .expires])
    self.finalURL = finalURL
    self.body = body
    self.bodyBytes = bodyBytes
    self.totalBytes = totalBytes
    self.isPrefix = isPrefix
    self.wasStreamed = wasStreamed
    self.summary = summary
  }

  /// What a later request can ask with whether the image has changed.
  public var validators: Validators { Validators(etag: etag, lastModified: lastModified) }
}
