public import Base

/// The result of a transfer or an ``ImageLoader``: an image, or the confirmation that the caller's copy is current.
public struct DownloadResponse: Sendable {
  /// The HTTP status.
  public var status: Int
  /// Whether the validators of the request are still current: then the body is empty, and freshness and validators are those of the 304.
  public var isNotModified = false
  /// The `Content-Type` header.
  public var contentType: String?
  /// The `ETag` and `Last-Modified` headers, for a later conditional request.
  public var validators: Validators
  /// All `Vary` headers, joined by commas: which request headers the response depends on (RFC 9110, section 12.5.5).
  public var vary: String?
  /// How long the response may be reused, counted from the end of its body.
  public var freshness: Freshness
  /// Whether a request with other credentials may get it (RFC 9111, section 3.5); false unless this one had credentials.
  package var isForAnySender = false
  /// Whether a ``RequestModifier`` has sent credentials that the options don't have.
  package var hasUnknownSender = false
  /// Whether `Cache-Control`, and whether `Expires`, sets ``freshness``.
  package var hasCacheControl: Bool
  package var hasExpires: Bool
  /// The URL of the response if redirects were followed; it may contain userinfo.
  public var finalURL: String? { finalURLBytes.map { String(decoding: $0, as: UTF8.self) } }
  package var finalURLBytes: [UInt8]?
  /// The body.
  public var body: [UInt8]
  /// The body's length in bytes, streamed or not.
  package var bodyBytes: Int
  /// The length of the whole body in bytes: ``bodyBytes`` if it was received whole, else as the server declared it; nil if it
  /// didn't, if it declared the length of a coded body, and for a 304.
  package var totalBytes: Int?
  /// Whether the body is only a prefix, possibly empty, as ``DownloadOptions/method-swift.property`` requested.
  package var isPrefix = false
  /// Further parts of the body, if ``body`` is a prefix and the judge of a probe asked for them.
  package var pieces: [SparseFile.Piece] = []
  /// Whether the body was delivered as ``DownloadEvent/chunk(id:attempt:bytes:)``.
  package var wasStreamed = false
  /// The status of caches on the way; nil unless ``DownloadOptions/Purpose/checksRemoteCache``.
  package var remoteCache: RemoteCacheResponse?
  /// A coding of the body that can't be decoded, or is unknown, so that the bytes were taken as they are.
  package var undecoded: String?
  /// Whether bytes that followed the end of the coded body were ignored.
  package var hasExcess = false
  /// How it was delivered; nil unless ``DownloadOptions/Purpose/describesDelivery``.
  package var delivery: DeliveryFacts?
  /// The cost of all attempts.
  public var summary = TransferSummary()

  /// Creates a response. A freshness other than the default counts as set by all headers.
  package init(
    status: Int,
    validators: Validators = Validators(),
    freshness: Freshness = Freshness(),
    body: [UInt8] = [],
    bodyBytes: Int = 0
  ) {
    self.status = status
    self.validators = validators
    self.freshness = freshness
    hasCacheControl = freshness != Freshness()
    hasExpires = hasCacheControl
    self.body = body
    self.bodyBytes = bodyBytes
  }

  /// How long a stored response with the freshness `stored` may be reused after this 304.
  ///
  /// Headers of the 304 replace the stored ones, and missing ones stay (RFC 9111, sections 3.2 and 4.3.4): the lifetime restarts.
  public func freshness(renewing stored: Freshness) -> Freshness {
    if hasCacheControl { return freshness }
    var renewed = stored
    if hasExpires { renewed.lifetime = freshness.lifetime }
    return renewed
  }
}

/// The cost of a download over all its attempts.
public struct TransferSummary: Sendable, Hashable {
  /// Requests made, retries included, but not those that continue an attempt: redirects, further ranges of a probe, a probe or GET
  /// instead of what a server refused, a whole body instead of a part that can't be resumed, a second request for the status of caches.
  public var attempts = 0
  /// Bytes of bodies received, before decoding.
  public var receivedBytes: UInt64 = 0
  /// The sum of the attempts' durations, without waits.
  public var duration: Duration { .nanoseconds(Int64(clamping: durationNanoseconds)) }
  package var durationNanoseconds: UInt64 = 0
  /// The waits between attempts: for retries, and for pauses that hosts requested by a 429 or 503 to this download.
  public var waited: Duration { .nanoseconds(Int64(clamping: waitedNanoseconds)) }
  package var waitedNanoseconds: UInt64 = 0
  /// Whether it joined the transfer of another download, which has the same cost once.
  public var isShared = false
  /// The status and headers of the last response, rejected or not; nil if there was none, or if details weren't requested.
  public internal(set) var response: ResponseHead?
  /// The timings of the last attempt's last request; nil if it used an ``ImageLoader``, or if details weren't requested.
  public internal(set) var metrics: TransferMetrics?

  /// Creates the summary of a download that made no request.
  public init() {}
}

/// The timings of an attempt's last request, as measured by libcurl (`CURLINFO_*_TIME_T`).
public struct TransferMetrics: Sendable, Hashable {
  /// Resolving the name; zero on a reused connection.
  public var nameLookup = Duration.zero
  /// Connecting by TCP after the name was resolved; zero on a reused connection.
  public var connect = Duration.zero
  /// The TLS handshake; zero without TLS or on a reused connection.
  public var tls = Duration.zero
  /// From the request's start to the response's first byte.
  public var firstByte = Duration.zero
  /// From the request's start to its end.
  public var total = Duration.zero
  /// Bytes of the body, before decoding.
  public var receivedBytes: UInt64 = 0
  /// Redirects followed before this request.
  public var redirects = 0
  /// Such as `HTTP/1.1`; nil if there was no response.
  public var protocolName: String?
  /// Whether it used a connection that an earlier request had opened.
  public var reusedConnection = false
  /// The peer's IP address; nil if there was no connection.
  public var remoteAddress: String?
  /// The peer's port; nil if there was no connection.
  public var remotePort: Int?

  public init() {}
}
