public import ImagePrimitives

/// What a transfer or an ``ImageLoader`` brought: an image, or the news that the caller's own is still right.
public struct Response: Sendable {
  /// The HTTP status.
  public var status: Int
  /// Whether ``Download/validators`` are still right: the body is empty then, and freshness and validators are those of the 304.
  public var isNotModified: Bool
  /// The `Content-Type` header.
  public var contentType: String?
  /// What a later request can ask with whether the image has changed: the `ETag` and `Last-Modified` headers.
  public var validators: Validators
  /// All `Vary` headers, joined by commas: which request headers the response depends on (RFC 9110, section 12.5.5).
  /// ``DownloadOptions/requestValue(ofHeader:defaults:credential:)`` returns what was sent.
  public var vary: String?
  /// For how long the response may be used again, from when its body had come whole.
  public var freshness: Freshness
  /// The headers that ``freshness`` is by; empty if the response had none.
  public var freshnessHeaders: FreshnessHeaders
  /// The URL that sent it, if redirects led there; it may carry userinfo.
  public var finalURL: [UInt8]?
  /// The body; empty if it was streamed.
  public var body: [UInt8]
  /// The body's length in bytes, streamed or not.
  public var bodyBytes: Int
  /// The length of the whole body in bytes: ``bodyBytes`` if all of it came; else as the server declared it, and nil if it did
  /// not, or declared the length of a coded body. Nil for a 304.
  public var totalBytes: Int?
  /// Whether the body is only the beginning of the whole one, or none of it, as ``DownloadOptions/method-swift.property`` asked.
  public var isPrefix: Bool
  /// Whether the body went out as ``DownloadEvent/chunk(id:attempt:bytes:)``.
  public var wasStreamed: Bool
  /// What caches on the way had of it; nil unless ``DownloadOptions/checksRemoteCache``.
  public var remoteCache: RemoteCacheResponse?
  /// What it cost, over all attempts.
  public var summary: TransferSummary

  /// A response with those parts. If `freshnessHeaders` is nil, a freshness that says anything counts as said by all headers.
  public init(
    status: Int,
    isNotModified: Bool = false,
    contentType: String? = nil,
    validators: Validators = Validators(),
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
    self.isNotModified = isNotModified
    self.contentType = contentType
    self.validators = validators
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

  /// For how long a stored response of the freshness `stored` may be used again, now that this 304 has confirmed it.
  ///
  /// Headers of the 304 take the stored ones' place, and what it leaves out stays as it was (RFC 9111, sections 3.2 and 4.3.4): so
  /// `no-cache` and `immutable` last, and the stored lifetime begins anew.
  public func freshness(renewing stored: Freshness) -> Freshness {
    if freshnessHeaders.contains(.cacheControl) { return freshness }
    var renewed = stored
    if freshnessHeaders.contains(.expires) { renewed.lifetime = freshness.lifetime }
    return renewed
  }
}

/// What a download cost, over all its attempts.
public struct TransferSummary: Sendable, Hashable {
  /// Requests made, retries included; not those that go on with an attempt: redirects, further ranges of a probe, a probe in
  /// place of a HEAD, a whole body in place of a rest that cannot be had, the second request of
  /// ``DownloadOptions/checksRemoteCache``.
  public var attempts = 0
  /// Bytes of bodies received, as they were coded on the way.
  public var receivedBytes: UInt64 = 0
  /// The sum of the attempts' durations, without waits and second requests.
  public var durationNanoseconds: UInt64 = 0
  /// Waiting between attempts: for the time of a retry, and for pauses that its hosts asked for, from its own 429 or 503 on.
  public var waitedNanoseconds: UInt64 = 0
  /// Whether it joined the transfer of another download: then all this was spent once, for that one.
  public var isShared = false
  /// The last attempt in detail, where ``Download/wantsDetails``.
  public var details: TransferDetails?

  /// The summary of a download that made no request.
  public init() {}
}

/// The last attempt of a download in detail, one that failed too.
public final class TransferDetails: Sendable, Hashable {
  /// The status and headers of the last answer, one that was refused too; nil where none came.
  public let response: ResponseHead?
  /// Where the time went; nil where the last attempt was an ``ImageLoader``'s.
  public let metrics: TransferMetrics?

  public init(response: ResponseHead? = nil, metrics: TransferMetrics? = nil) {
    self.response = response
    self.metrics = metrics
  }

  public static func == (left: TransferDetails, right: TransferDetails) -> Bool {
    left.response == right.response && left.metrics == right.metrics
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(response)
    hasher.combine(metrics)
  }
}

/// Where the time of an attempt's last request went, as libcurl measured it (`CURLINFO_*_TIME_T`).
public struct TransferMetrics: Sendable, Hashable {
  /// Resolving the name; zero on a reused connection.
  public var nameLookup = Duration.zero
  /// Connecting by TCP, without the name; zero on a reused connection.
  public var connect = Duration.zero
  /// The TLS handshake; zero without TLS or on a reused connection.
  public var tls = Duration.zero
  /// From the request's start to the answer's first byte.
  public var firstByte = Duration.zero
  /// From the request's start to its end.
  public var total = Duration.zero
  /// Bytes of the body as they were coded on the way.
  public var receivedBytes: UInt64 = 0
  /// Redirects that were followed before this request.
  public var redirects = 0
  /// Such as `HTTP/1.1`; nil where no answer came.
  public var protocolName: String?
  /// Whether it was sent over a connection that an earlier request had opened.
  public var reusedConnection = false
  /// The peer's IP address; nil where there was no connection.
  public var remoteAddress: String?
  /// The peer's port; nil where there was no connection.
  public var remotePort: Int?

  public init() {}
}
