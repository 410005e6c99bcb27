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

  /// Details with those parts.
  public init(response: ResponseHead? = nil, metrics: TransferMetrics? = nil) {
    self.response = response
    self.metrics = metrics
  }

  /// Whether both parts are equal.
  public static func == (left: TransferDetails, right: TransferDetails) -> Bool {
    left.response == right.response && left.metrics == right.metrics
  }

  /// Hashes both parts.
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

  /// Metrics of nothing.
  public init() {}
}
