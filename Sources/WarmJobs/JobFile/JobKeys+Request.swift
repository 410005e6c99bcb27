internal import ImageDownloading
internal import ImagePrimitives

extension JobKeys {
  @JobKeyList static var request: [JobKey] {
    JobKey("request", "what is asked, how patiently, and which answers are good")
    JobKey(
      "request.method",
      .method,
      \.request.download.method,
      isInDigest: true,
      "probe: a ranged GET of the first 64 KiB, for the header; head: no decoding"
    )
    JobKey("request.headers", .headers, \.request.download.headers, "sent to the entry's own scheme, host and port only")
    JobKey("request.accept", .text(.headerValue), \.request.download.accept, "the Accept field")
    JobKey(
      "request.variants",
      .variants,
      \.request.variants,
      isInDigest: true,
      "header fields by name, such as {webp: {Accept: image/webp}}; each entry is fetched once a variant"
    )
    JobKey(
      "request.user-agent",
      // The default as it is written in the list of keys means the default where it is copied, too.
      .text(.headerValue)
        .map {
          $0 == agentOfNoVersion ? Job.Request().download.userAgent : $0
        } from: {
          $0 == Job.Request().download.userAgent ? agentOfNoVersion : $0
        },
      \.request.download.userAgent,
      "the User-Agent field"
    )
    JobKey(
      "request.timeout",
      .timeLimit,
      \.request.download.timeout,
      "one transfer, redirects included"
    )
    JobKey("request.connect-timeout", .duration(minimum: .milliseconds(1)), \.request.download.connectTimeout, "until connected")
    JobKey(
      "request.stall-timeout",
      .timeLimit,
      \.request.download.stallTimeout,
      "no byte for this long"
    )
    JobKey("request.retries", .integer(0...100), \.request.download.retries, "of transient failures only")
    JobKey("request.backoff", "the wait before a retry: exponential, full jitter")
    JobKey(
      "request.backoff.initial",
      .duration(minimum: .zero),
      \.request.download.backoff.initial,
      "the bound of the first wait"
    )
    JobKey("request.backoff.maximum", .duration(minimum: .zero), \.request.download.backoff.maximum, "the bound of every wait")
    JobKey(
      "request.retry-after-max",
      .duration(minimum: .zero),
      \.request.download.retryAfterMaximum,
      "what an entry may wait for Retry-After in all; such a wait is no retry"
    )
    JobKey("request.redirects", .integer(0...100), \.request.download.redirects, "followed in one transfer")
    JobKey(
      "request.accept-status",
      .statuses(200...599),
      \.request.acceptStatus,
      isInDigest: true,
      "statuses of a good answer"
    )
    JobKey(
      "request.max-bytes",
      .word("none", means: .max, or: .size(1...Int.max)),
      \.request.download.maxBytes,
      isInDigest: true,
      "of a body; a longer one fails"
    )
    JobKey(
      "request.http",
      .words("a version of HTTP", ["auto": .automatic, "1.1": .http1, "2": .http2]),
      \.request.download.connection.httpVersion,
      "the version of HTTP; auto: 2 where TLS agrees on it"
    )
    JobKey(
      "request.connect-to",
      .list(of: .connectTarget),
      \.request.download.connection.connectTo,
      "connect elsewhere, with the same Host and SNI; the first that fits counts, an empty part fits anything"
    )
    JobKey(
      "request.edges",
      .edges,
      \.request.edges,
      isInDigest: true,
      "servers by name; each entry is fetched from each, with its own Host and SNI"
    )
    JobKey(
      "request.proxy",
      .word("none", means: .none, or: .word("environment", means: .environment, or: .proxyURL)),
      \.request.download.connection.proxy,
      "environment: http_proxy, https_proxy, all_proxy, no_proxy"
    )
    JobKey(
      "request.auth",
      .section(or: "none", example: "{username: TEXT, password-env: NAME}"),
      \.request.auth,
      opens: { $0.request.auth = Credential(user: "", password: "") },
      "sent to the entry's own scheme, host and port only; the password stands in that variable of the environment"
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
      "the variable with the password"
    )
    JobKey("request.cookies", .boolean, \.request.download.handlesCookies, "keep cookies during the job")
    JobKey(
      "request.robots",
      .words("a rule", ["ignore": false, "respect": true]),
      \.request.download.respectsRobots,
      isInDigest: true,
      "respect: each host's robots.txt is read first, and kept"
    )
    JobKey("request.tls", "how servers prove who they are, and we")
    JobKey(
      "request.tls.verify",
      .boolean.map({ !$0 }, from: { !$0 }),
      \.request.download.allowsInvalidTLSCertificates,
      "refuse what is not proven"
    )
    JobKey(
      "request.tls.ca-file",
      .orNone(.path),
      \.request.tls.caFile,
      "certificates to trust instead of the system's (PEM)"
    )
    JobKey("request.tls.client-certificate", .orNone(.path), \.request.tls.clientCertificate, "our certificate (PEM)")
    JobKey(
      "request.tls.client-key",
      .orNone(.path),
      \.request.tls.clientKey,
      "its key, where it is a file of its own (PEM)"
    )
    JobKey(
      "request.addresses",
      .words("a rule", ["any": .any, "public": .publicOnly]),
      \.request.download.connection.addresses,
      isInDigest: true,
      "public: no loopback, private, link-local, special-purpose address"
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
