import CCurl
import ImagePrimitives

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

/// What libcurl knows of a transfer beyond its result, read only where it is asked for.
extension Transfer {
  func details(redirects: Int) -> TransferDetails {
    TransferDetails(response: responseHead, metrics: metrics(redirects: redirects))
  }

  /// The status and all headers of the last answer; nil where none came.
  var responseHead: ResponseHead? {
    let status = status
    guard status > 0 else { return nil }
    if let modifiedHead { return modifiedHead }
    var head = ResponseHead(status: status)
    var last: UnsafeMutablePointer<curl_header>?
    while let header = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), -1, last) {
      head.headers.append(HeaderField(String(cString: header.pointee.name), String(cString: header.pointee.value)))
      last = header
    }
    return head
  }

  private func metrics(redirects: Int) -> TransferMetrics {
    var metrics = TransferMetrics()
    let (nameLookup, connect) = (time(CURLINFO_NAMELOOKUP_TIME_T), time(CURLINFO_CONNECT_TIME_T))
    let handshake = time(CURLINFO_APPCONNECT_TIME_T)
    metrics.nameLookup = nameLookup
    metrics.connect = max(.zero, connect - nameLookup)
    metrics.tls = handshake > .zero ? handshake - connect : .zero
    metrics.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
    metrics.total = time(CURLINFO_TOTAL_TIME_T)
    metrics.receivedBytes = receivedBytes
    metrics.redirects = redirects
    metrics.protocolName = protocolName
    metrics.reusedConnection = phase == .connected && number(CURLINFO_NUM_CONNECTS) == 0
    var address: UnsafeMutablePointer<CChar>?
    curl_get_text(easy, CURLINFO_PRIMARY_IP, &address)
    if let address, address.pointee != 0 {
      metrics.remoteAddress = String(cString: address)
      metrics.remotePort = number(CURLINFO_PRIMARY_PORT)
    }
    return metrics
  }

  private var protocolName: String? {
    switch number(CURLINFO_HTTP_VERSION) {
    case CURL_HTTP_VERSION_1_0: "HTTP/1.0"
    case CURL_HTTP_VERSION_1_1: "HTTP/1.1"
    case CURL_HTTP_VERSION_2_0: "HTTP/2"
    case CURL_HTTP_VERSION_3: "HTTP/3"
    default: nil
    }
  }

  private func number(_ info: CURLINFO) -> Int {
    var value = 0
    curl_get_long(easy, info, &value)
    return value
  }

  private func time(_ info: CURLINFO) -> Duration {
    var microseconds: curl_off_t = 0
    curl_get_offset(easy, info, &microseconds)
    return .microseconds(Int64(microseconds))
  }
}
