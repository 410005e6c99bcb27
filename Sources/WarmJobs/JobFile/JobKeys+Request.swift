internal import ImageCoding
internal import ImageManaging

extension JobKeys {
  /// Asks for AVIF where it can be decoded.
  private static let defaultAccept = "\"\(ImageCoderRegistry.standard.acceptedTypes)\""

  static let request: [JobKey] = [
    JobKey("request", .section, "what is asked, how patiently, and which answers are good"),
    JobKey(
      "request.method",
      .choice("a method", Job.Request.Method.self),
      default: "get",
      "probe: a ranged GET of the first 64 KiB, for the header; head: no decoding"
    ),
    JobKey("request.headers", .headers(ofVariant: false), default: "{}", "sent to the entry's own scheme, host and port only"),
    JobKey("request.accept", .text(.headerValue), default: defaultAccept, "the Accept field"),
    JobKey(
      "request.variants",
      .mapping(of: .headers(ofVariant: true)),
      default: "{}",
      "header fields by name, such as {webp: {Accept: image/webp}}; each entry is fetched once a variant"
    ),
    JobKey("request.user-agent", .text(.headerValue), default: "prewarm/VERSION", "the User-Agent field"),
    JobKey("request.timeout", .orNone(.duration(minimum: .milliseconds(1))), default: "60s", "one transfer, redirects included"),
    JobKey("request.connect-timeout", .duration(minimum: .milliseconds(1)), default: "10s", "until connected"),
    JobKey("request.stall-timeout", .orNone(.duration(minimum: .milliseconds(1))), default: "15s", "no byte for this long"),
    JobKey("request.retries", .integer(0...100), default: "2", "of transient failures only"),
    JobKey("request.backoff", .section, "the wait before a retry: exponential, full jitter"),
    JobKey("request.backoff.initial", .duration(minimum: .zero), default: "500ms", "the bound of the first wait"),
    JobKey("request.backoff.maximum", .duration(minimum: .zero), default: "30s", "the bound of every wait"),
    JobKey(
      "request.retry-after-max",
      .duration(minimum: .zero),
      default: "2m",
      "what an entry may wait for Retry-After in all; such a wait is no retry"
    ),
    JobKey("request.redirects", .integer(0...100), default: "10", "followed in one transfer"),
    JobKey("request.accept-status", .statuses(200...599), default: "[200]", "statuses of a good answer"),
    JobKey("request.max-bytes", .orNone(.size(1...Int.max)), default: "64MiB", "of a body; a longer one fails"),
    JobKey(
      "request.http",
      .choice("a version of HTTP", Job.Request.HTTPVersion.self),
      default: "auto",
      "the version of HTTP; auto: 2 where TLS agrees on it"
    ),
    JobKey(
      "request.connect-to",
      .list(of: .connectTarget),
      default: "[]",
      "connect elsewhere, with the same Host and SNI; the first that fits counts, an empty part fits anything"
    ),
    JobKey(
      "request.edges",
      .mapping(of: .hostAndPort),
      default: "{}",
      "servers by name; each entry is fetched from each, with its own Host and SNI"
    ),
    JobKey(
      "request.proxy",
      .either(word: "none", .either(word: "environment", .text(.proxyURL))),
      default: "none",
      "environment: http_proxy, https_proxy, all_proxy, no_proxy"
    ),
    JobKey(
      "request.auth",
      .wordOrSection(["none"], example: "{username: TEXT, password-env: NAME}"),
      default: "none",
      "sent to the entry's own scheme, host and port only; the password stands in that variable of the environment"
    ),
    JobKey("request.auth.username", .text(.username), example: "prewarm", isRequired: true, "the user"),
    JobKey(
      "request.auth.password-env",
      .secretVariable,
      example: "IMAGES_PASSWORD",
      isRequired: true,
      "the variable with the password"
    ),
    JobKey("request.cookies", .boolean, default: "false", "keep cookies during the job"),
    JobKey(
      "request.robots",
      .choice("a rule", Job.Request.Robots.self),
      default: "ignore",
      "respect: each host's robots.txt is read first, and kept"
    ),
    JobKey("request.tls", .section, "how servers prove who they are, and we"),
    JobKey("request.tls.verify", .boolean, default: "true", "refuse what is not proven"),
    JobKey(
      "request.tls.ca-file",
      .orNone(.text(.path)),
      default: "none",
      "certificates to trust instead of the system's (PEM)"
    ),
    JobKey("request.tls.client-certificate", .orNone(.text(.path)), default: "none", "our certificate (PEM)"),
    JobKey("request.tls.client-key", .orNone(.text(.path)), default: "none", "its key, where it is a file of its own (PEM)"),
    JobKey(
      "request.addresses",
      .choice("a rule", Job.Request.Addresses.self),
      default: "any",
      "public: no loopback, private, link-local, special-purpose address"
    ),
  ]
}
