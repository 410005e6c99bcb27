internal import ImageCoding
internal import ImageManaging

extension JobKeys {
  /// Asks for AVIF where it can be decoded.
  private static let defaultAccept = "\"\(ImageCoderRegistry.available.acceptedTypes)\""

  static let request: [JobKey] = [
    JobKey("request", .section, "what is asked, how patiently, and which answers are good"),
    JobKey(
      "request.method",
      .choice("a method", Job.Request.Method.self),
      default: "get",
      "probe: a ranged GET of the first 64 KiB, for the header; head: no decoding"
    ),
    JobKey("request.headers", .headers, default: "{}", "sent to the entry's own scheme, host and port only"),
    JobKey("request.accept", .text(.headerValue), default: defaultAccept, "the Accept field"),
    JobKey(
      "request.variants",
      .planned("{NAME: {HEADER: VALUE}}"),
      default: "{}",
      works: false,
      "each entry is fetched once a variant"
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
      works: false,
      "what an entry may wait for Retry-After in all"
    ),
    JobKey("request.redirects", .integer(0...100), default: "10", "followed in one transfer"),
    JobKey("request.accept-status", .statuses(200...599), default: "[200]", "statuses of a good answer"),
    JobKey("request.max-bytes", .orNone(.size(1...Int.max)), default: "64MiB", "of a body; a longer one fails"),
    JobKey(
      "request.http",
      .choice(noun: "a version of HTTP", words: ["auto", "1.1", "2"], later: []),
      default: "auto",
      works: false,
      "the version of HTTP"
    ),
    JobKey(
      "request.connect-to",
      .planned("[\"HOST:PORT:CONNECT-HOST:CONNECT-PORT\"]"),
      default: "[]",
      works: false,
      "connect elsewhere, with the same Host and SNI"
    ),
    JobKey("request.edges", .planned("{NAME: HOST:PORT}"), default: "{}", works: false, "each entry is fetched from each edge"),
    JobKey("request.proxy", .planned("none | environment | URL"), default: "none", works: false, "the proxy"),
    JobKey(
      "request.auth",
      .planned("none | {username: TEXT, password-env: NAME}"),
      default: "none",
      works: false,
      "user and password"
    ),
    JobKey("request.cookies", .boolean, default: "false", works: false, "keep cookies during the job"),
    JobKey(
      "request.robots",
      .choice(noun: "a rule", words: ["ignore", "respect"], later: []),
      default: "ignore",
      works: false,
      "robots.txt"
    ),
    JobKey("request.tls", .section, "how servers prove who they are, and we"),
    JobKey("request.tls.verify", .boolean, default: "true", works: false, "refuse what is not proven"),
    JobKey(
      "request.tls.ca-file",
      .orNone(.text(.path)),
      default: "none",
      works: false,
      "certificates to trust, instead of the system's"
    ),
    JobKey("request.tls.client-certificate", .orNone(.text(.path)), default: "none", works: false, "our certificate"),
    JobKey("request.tls.client-key", .orNone(.text(.path)), default: "none", works: false, "its key"),
    JobKey(
      "request.addresses",
      .choice(noun: "a rule", words: ["any", "public"], later: []),
      default: "any",
      works: false,
      "public: no loopback, private, link-local, special-purpose address"
    ),
  ]
}
