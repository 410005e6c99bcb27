internal import ImageDownloading
internal import Base

extension JobKeys {
  @JobKeyList static var request: [JobKey] {
    JobKey("request", "how images are requested")
    JobKey(
      "request.method",
      .method,
      \.request.download.method,
      isInDigest: true,
      "probe: GET of the first 64 KiB, for format and size; head: no image"
    )
    JobKey(
      "request.headers",
      .headers,
      \.request.download.headers,
      "header fields, sent only to the scheme, host and port of the entry"
    )
    JobKey("request.accept", .text(.headerValue), \.request.download.sentAccept, isAdvanced: true, "the Accept header")
    JobKey(
      "request.variants",
      .variants,
      \.request.variants,
      isInDigest: true,
      "request each URL with these headers: {webp: {Accept: image/webp}}"
    )
    JobKey(
      "request.user-agent",
      // The list of keys shows the default without a version; copied into a job, it means the default, too.
      .text(.headerValue)
        .map {
          $0 == agentOfNoVersion ? Job.Request().download.userAgent : $0
        } from: {
          $0 == Job.Request().download.userAgent ? agentOfNoVersion : $0
        },
      \.request.download.userAgent,
      "the User-Agent header"
    )
    JobKey(
      "request.timeout",
      .timeLimit,
      \.request.download.timeout,
      "limit the time of a transfer, redirects included"
    )
    JobKey(
      "request.connect-timeout",
      .duration(minimum: .milliseconds(1)),
      \.request.download.connectTimeout,
      isAdvanced: true,
      "limit the time to connect"
    )
    JobKey(
      "request.stall-timeout",
      .timeLimit,
      \.request.download.stallTimeout,
      isAdvanced: true,
      "fail transfers that receive nothing for this time"
    )
    JobKey("request.retries", .integer(0...100), \.request.download.retries, "limit retries of transient failures")
    JobKey("request.backoff", isAdvanced: true, "the wait before a retry: exponential, with full jitter")
    JobKey(
      "request.backoff.initial",
      .duration(minimum: .zero),
      \.request.download.backoff.initial,
      isAdvanced: true,
      "the maximum of the first wait"
    )
    JobKey(
      "request.backoff.maximum",
      .duration(minimum: .zero),
      \.request.download.backoff.maximum,
      isAdvanced: true,
      "the maximum of every wait"
    )
    JobKey(
      "request.retry-after-max",
      .duration(minimum: .zero),
      \.request.download.retryAfterMaximum,
      isAdvanced: true,
      "limit an entry's waits for Retry-After, which aren't retries"
    )
    JobKey(
      "request.redirects",
      .integer(0...100),
      \.request.download.redirects,
      isAdvanced: true,
      "follow at most this many redirects"
    )
    JobKey(
      "request.accept-status",
      .statuses(200...599),
      \.request.acceptStatus,
      isAdvanced: true,
      isInDigest: true,
      "HTTP statuses that count as success"
    )
    JobKey(
      "request.max-bytes",
      .word("none", means: .max, or: .size(1...Int.max)),
      \.request.download.maxBytes,
      isInDigest: true,
      "fail bodies larger than this"
    )
    JobKey(
      "request.http",
      .words("a version of HTTP", ["auto": .automatic, "1.1": .http1, "2": .http2]),
      \.request.download.connection.httpVersion,
      isAdvanced: true,
      "the HTTP version; auto: 2 if TLS negotiates it"
    )
    JobKey(
      "request.connect-to",
      .list(of: .connectTarget),
      \.request.download.connection.connectTo,
      isAdvanced: true,
      "connect elsewhere with the same Host and SNI; the first match counts"
    )
    JobKey(
      "request.edges",
      .edges,
      \.request.edges,
      isInDigest: true,
      "request each URL from these servers, with its own Host and SNI"
    )
    JobKey(
      "request.proxy",
      .word("none", means: .none, or: .word("environment", means: .environment, or: .proxyURL)),
      \.request.download.connection.proxy,
      "environment: http_proxy, https_proxy, all_proxy and no_proxy"
    )
    JobKey(
      "request.auth",
      .section(or: "none", example: "{username: TEXT, password-env: NAME}"),
      \.request.auth,
      opens: { $0.request.auth = Credential(user: "", password: "") },
      "Basic credentials; only for the scheme, host and port of the entry"
    )
    JobKey(
      "request.auth.username",
      .text(.username),
      \.request.auth!.user,
      example: "prewarm",
      isRequired: true,
      "the user"
    )
    JobKey(
      "request.auth.password-env",
      .secretVariable,
      \.request.auth!.password,
      example: "IMAGES_PASSWORD",
      isRequired: true,
      "the environment variable with the password"
    )
    JobKey("request.cookies", .boolean, \.request.download.handlesCookies, isAdvanced: true, "keep cookies during the job")
    JobKey(
      "request.robots",
      .words("a rule", ["ignore": false, "respect": true]),
      \.request.download.respectsRobots,
      isInDigest: true,
      "respect: follow each host's robots.txt"
    )
    JobKey("request.tls", isAdvanced: true, "TLS trust and client certificates")
    JobKey(
      "request.tls.verify",
      .boolean.map({ !$0 }, from: { !$0 }),
      \.request.download.allowsInvalidTLSCertificates,
      isAdvanced: true,
      "fail if a certificate is invalid"
    )
    JobKey(
      "request.tls.ca-file",
      .orNone(.path),
      \.request.tls.caFile,
      isAdvanced: true,
      "trust these certificates instead of the system's (PEM)"
    )
    JobKey(
      "request.tls.client-certificate",
      .orNone(.path),
      \.request.tls.clientCertificate,
      isAdvanced: true,
      "the client certificate (PEM)"
    )
    JobKey(
      "request.tls.client-key",
      .orNone(.path),
      \.request.tls.clientKey,
      isAdvanced: true,
      "the key of the client certificate, if in another file (PEM)"
    )
    JobKey(
      "request.addresses",
      .words("a rule", ["any": .any, "public": .publicOnly]),
      \.request.download.connection.addresses,
      isAdvanced: true,
      isInDigest: true,
      "public: reject loopback, private and other special addresses"
    )
  }

  private static let agentOfNoVersion = "prewarm/VERSION"
}

extension JobCodec<DownloadOptions.Method> {
  static var method: JobCodec { words("a method", ["get": .get, "head": .head, "probe": .probe]) }
}

extension JobCodec<Duration> {
  fileprivate static var timeLimit: JobCodec {
    .word("none", means: .unlimited, or: .duration(minimum: .milliseconds(1)))
  }
}

extension JobCodec<DownloadOptions.Proxy> {
  fileprivate static var proxyURL: JobCodec {
    JobCodec(.text(.proxyURL), { if case .text(let url) = $0 { .url(url) } else { nil } }, text: { _ in "***" })
  }
}
