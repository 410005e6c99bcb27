import ImageDownloading
import ImagePrimitives

extension Job {
  /// Longer than any transfer, and short enough for libcurl's milliseconds.
  private static let noLimit = Duration.seconds(20 * 86_400)

  /// How the job's entries are fetched, but for variants and edges.
  var downloadOptions: DownloadOptions {
    DownloadOptions(
      method: request.method.downloadMethod,
      headers: request.headers.map { ($0.name, $0.value) },
      accept: request.accept,
      userAgent: request.userAgent,
      credentials: request.auth.map { .fixed($0) },
      handlesCookies: request.keepsCookies,
      allowsInvalidTLSCertificates: !request.tls.verifies,
      connection: request.connection,
      timeout: request.timeout ?? Self.noLimit,
      connectTimeout: request.connectTimeout,
      stallTimeout: request.stallTimeout ?? Self.noLimit,
      retries: request.retries,
      backoff: Backoff(initial: request.backoffInitial, maximum: request.backoffMaximum),
      retryAfterMaximum: request.retryAfterMaximum,
      redirects: request.redirects,
      acceptStatus: request.acceptStatus.reduce(into: []) { $0.formUnion($1) },
      maxBytes: request.maxBytes ?? .max,
      respectsRobots: request.robots == .respect,
      checksRemoteCache: verify.remoteCache != .ignore
    )
  }

  /// How much is fetched at once, and how fast.
  var downloadLimits: DownloadLimits {
    DownloadLimits(
      concurrency: prefetch.concurrency,
      perHost: prefetch.perHost,
      rate: prefetch.rate,
      perHostRate: prefetch.perHostRate,
      isAdaptive: prefetch.isAdaptive
    )
  }
}

extension Job.Request {
  fileprivate var connection: DownloadOptions.Connection {
    var connection = DownloadOptions.Connection()
    connection.httpVersion =
      switch httpVersion {
      case .auto: .automatic
      case .http1: .http1
      case .http2: .http2
      }
    connection.connectTo = connectTo
    connection.proxy =
      switch proxy {
      case .none: .none
      case .environment: .environment
      case .url(let url): .url(url)
      }
    connection.tls.caFile = tls.caFile?.absolute
    connection.tls.clientCertificate = tls.clientCertificate?.absolute
    connection.tls.clientKey = tls.clientKey?.absolute
    connection.addresses = addresses == .publicOnly ? .publicOnly : .any
    return connection
  }
}

extension Job.Request.Method {
  fileprivate var downloadMethod: DownloadOptions.Method {
    switch self {
    case .get: .get
    case .head: .head
    case .probe: .probe
    }
  }
}
