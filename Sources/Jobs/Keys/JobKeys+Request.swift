internal import ImageDownloading
internal import Base

extension JobKeys {
  @JobKeyList static var request: [JobKey] {
    JobKey("request", "how images are requested")
    JobKey("request.method", "probe: GET of the first 64 KiB, for format and size; head: no image")
      .value(.method, \.request.download.method, .inDigest)
    JobKey("request.headers", "header fields, sent only to the scheme, host and port of the entry")
      .value(.headers(), \.request.download.headers)
    JobKey("request.accept", "the Accept header")
      .value(.text(.headerValue), \.request.download.sentAccept, .advanced)
    JobKey("request.variants", "request each URL with these headers: {webp: {Accept: image/webp}}")
      .value(.variants, \.request.variants, .inDigest)
    JobKey("request.user-agent", "the User-Agent header")
      // The list of keys shows the default without a version; copied into a job, it means the default, too.
      .value(
        .text(.headerValue)
          .map {
            $0 == agentOfNoVersion ? Job.Request().download.userAgent : $0
          } from: {
            $0 == Job.Request().download.userAgent ? agentOfNoVersion : $0
          },
        \.request.download.userAgent
      )
    JobKey("request.timeout", "limit the time of a transfer, redirects included")
      .value(.timeLimit, \.request.download.timeout)
    JobKey("request.connect-timeout", "limit the time to connect")
      .value(.duration(minimum: .milliseconds(1)), \.request.download.connectTimeout, .advanced)
    JobKey("request.stall-timeout", "fail transfers that receive nothing for this time")
      .value(.timeLimit, \.request.download.stallTimeout, .advanced)
    JobKey("request.retries", "limit retries of transient failures")
      .value(.integer(0...100), \.request.download.retries)
    JobKey("request.backoff", "the wait before a retry: exponential, with full jitter", .advanced)
    JobKey("request.backoff.initial", "the maximum of the first wait")
      .value(.duration(minimum: .zero), \.request.download.backoff.initial, .advanced)
    JobKey("request.backoff.maximum", "the maximum of every wait")
      .value(.duration(minimum: .zero), \.request.download.backoff.maximum, .advanced)
    JobKey("request.retry-after-max", "limit an entry's waits for Retry-After, which aren't retries")
      .value(.duration(minimum: .zero), \.request.download.retryAfterMaximum, .advanced)
    JobKey("request.recheck", "request temporary failures again at the end, after this pause")
      .value(.or("off", .duration(minimum: .zero)), \.request.recheck, .inDigest)
    JobKey("request.redirects", "follow at most this many redirects")
      .value(.integer(0...100), \.request.download.redirects, .advanced)
    JobKey("request.accept-status", "HTTP statuses that count as success")
      .value(.statuses(200...599), \.request.acceptStatus, [.advanced, .inDigest])
    JobKey("request.max-bytes", "fail bodies larger than this")
      .value(.word("none", means: .max, or: .size(1...Int.max)), \.request.download.maxBytes, .inDigest)
  }

  @JobKeyList static var connection: [JobKey] {
    JobKey("request.http", "the HTTP version; auto: 2 if TLS negotiates it")
      .value(
        .words("a version of HTTP", ["auto": .automatic, "1.1": .http1, "2": .http2]),
        \.request.download.connection.httpVersion,
        .advanced
      )
    JobKey("request.connect-to", "connect elsewhere with the same Host and SNI; the first match counts")
      .value(.connectTargets, \.request.download.connection.connectTo, .advanced)
    JobKey("request.edges", "request each URL from these servers, with its own Host and SNI")
      .value(.edges, \.request.edges, .inDigest)
    JobKey("request.proxy", "environment: http_proxy, https_proxy, all_proxy and no_proxy")
      .value(
        .word("none", means: .none, or: .word("environment", means: .environment, or: .proxyURL)),
        \.request.download.connection.proxy
      )
    JobKey("request.auth", "Basic credentials; only for the scheme, host and port of the entry")
      .value(.section(or: "none", example: "{username: TEXT, password-env: NAME}"), \.request.auth) {
        $0.request.auth = Credential(user: "", password: "")
      }
    JobKey("request.auth.username", "the user")
      .value(.text(.username), \.request.auth!.user, .required, example: "prewarm")
    JobKey("request.auth.password-env", "the environment variable with the password")
      .value(.secretVariable, \.request.auth!.password, .required, example: "IMAGES_PASSWORD")
    JobKey("request.cookies", "keep cookies during the job")
      .value(.boolean, \.request.download.handlesCookies, .advanced)
    JobKey("request.robots", "respect: follow each host's robots.txt")
      .value(.words("a rule", ["ignore": false, "respect": true]), \.request.download.respectsRobots, .inDigest)
    JobKey("request.tls", "TLS trust and client certificates", .advanced)
    JobKey("request.tls.verify", "fail if a certificate is invalid")
      .value(.boolean.map({ !$0 }, from: { !$0 }), \.request.download.allowsInvalidTLSCertificates, .advanced)
    JobKey("request.tls.ca-file", "trust these certificates instead of the system's (PEM)")
      .value(.orNone(.path), \.request.tls.caFile, .advanced)
    JobKey("request.tls.client-certificate", "the client certificate (PEM)")
      .value(.orNone(.path), \.request.tls.clientCertificate, .advanced)
    JobKey("request.tls.client-key", "the key of the client certificate, if in another file (PEM)")
      .value(.orNone(.path), \.request.tls.clientKey, .advanced)
    JobKey("request.addresses", "public: reject loopback, private and other special addresses")
      .value(
        .words("a rule", ["any": .any, "public": .publicOnly]),
        \.request.download.connection.addresses,
        [.advanced, .inDigest]
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
    let url = JobCodec<String>.text(.proxyURL)
    return JobCodec(url.form, { url.value($1, $0).map { .url($0) } }, text: { _ in "***" })
  }
}

private let host = #"\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]]+"#
private let port = "0*[1-9][0-9]{0,4}"

extension JobCodec<[DownloadOptions.ConnectTarget]> {
  /// Servers to connect to instead of hosts and ports.
  static var connectTargets: JobCodec {
    let form = JobForm.scalar(
      "HOST:PORT:CONNECT-HOST:CONNECT-PORT, like curl's --connect-to",
      "HOST:PORT:CONNECT-HOST:CONNECT-PORT",
      pattern: "(?!.*::$)(?:\(host))?:(?:\(port))?:(?:\(host))?:(?:\(port))?"
    )
    let target = JobCodec<DownloadOptions.ConnectTarget>
      .scalar(form) {
        ConnectionRules.connectTarget($0.text)
      } text: {
        quotedUnlessWord($0.text)
      }
    var list = form.list
    list.isShown = true
    return .list(of: target, list)
  }
}

extension JobCodec<[Job.Request.Variant]> {
  static var variants: JobCodec {
    mapping(of: .headers(ofVariant: true)) {
      .init(name: $0, headers: $1)
    } parts: {
      ($0.name, $0.headers)
    }
  }
}

extension JobCodec<[Job.Request.Edge]> {
  static var edges: JobCodec {
    let form = JobForm.scalar(
      "a host and port such as edge.example.com:443 or [2001:db8::1]:443",
      "HOST:PORT",
      pattern: "(?:\(host)):\(port)"
    )
    let target = JobCodec<(host: String, port: Int)>
      .scalar(form) {
        ConnectionRules.hostAndPort($0.text)
      } text: {
        "\($0.host):\($0.port)"
      }
    return mapping(of: target) {
      .init(name: $0, host: $1.host, port: $1.port)
    } parts: {
      ($0.name, ($0.host, $0.port))
    }
  }
}
