import ImageDownloading
import ImageURLs

/// The options with which curl (7.88 or later) makes the requests of a job again, a word each.
///
/// What curl does by itself is left out. It differs in one thing: to other hosts, to which a redirect leads, it sends the job's own
/// headers, too. The body is thrown away, and the answer's status and headers are shown.
struct CurlOptions {
  /// Header fields whose values are shown. They say what kind of answer is wanted, by which cache or from which page; none of them proves
  /// who asks. Any other field may hold a secret, whatever its name.
  private static let harmlessFields: Set<String> = [
    "accept", "accept-ch", "accept-charset", "accept-encoding", "accept-language", "cache-control", "dnt", "downlink", "dpr",
    "ect",
    "origin", "pragma", "priority", "range", "referer", "rtt", "save-data", "user-agent", "viewport-width", "width",
  ]
  private static let harmlessPrefixes = ["sec-ch-", "sec-fetch-"]
  private static let mask = "***"

  private(set) var words: [String] = ["-sS"]

  /// The options for a job whose requests are all made in one way.
  init(_ request: Job.Request) {
    let download = request.download
    addMethod(download.method)
    if download.redirects > 0 { add("--location", "--max-redirs", "\(download.redirects)") }
    if download.timeout != .unlimited { add("--max-time", Self.seconds(download.timeout)) }
    add("--connect-timeout", Self.seconds(download.connectTimeout))
    addHeaders(download)
    if let credential = request.auth { add("--user", "\(credential.user):\(Self.mask)") }
    // An empty jar, which a redirect may find filled.
    if download.handlesCookies { add("--cookie", "") }
    addConnection(download.connection)
    if download.allowsInvalidTLSCertificates { add("--insecure") }
    addFiles(request.tls)
  }

  private mutating func add(_ words: String...) { self.words += words }

  private mutating func addMethod(_ method: DownloadOptions.Method) {
    switch method {
    case .head: return add("--head")
    case .probe: add("--range", "0-\(DownloadOptions.probeBytes - 1)")
    case .get: break
    }
    words += ["-D", "-", "-o", "/dev/null"]
  }

  /// The fields in place of curl's own; it takes a field without a value only with a semicolon in the colon's place (curl(1), `--header`).
  private mutating func addHeaders(_ download: DownloadOptions) {
    var headers = [("Accept", download.accept), ("User-Agent", download.userAgent), ("Accept-Encoding", "identity")]
    headers.removeAll { header in download.headers.contains { $0.name.lowercased() == header.0.lowercased() } }
    for (name, value) in headers + download.headers.map({ ($0.name, $0.value ?? "") }) {
      let shown = Self.isHarmless(name) ? maskingCredentials(value) : Self.mask
      add("-H", value.isEmpty ? "\(name);" : "\(name): \(shown)")
    }
  }

  private static func isHarmless(_ name: String) -> Bool {
    let name = name.lowercased()
    return harmlessFields.contains(name) || harmlessPrefixes.contains { name.hasPrefix($0) }
  }

  private mutating func addConnection(_ connection: DownloadOptions.Connection) {
    switch connection.proxy {
    case .none: add("--noproxy", "*")
    case .environment: break
    case .url(let url): add("--proxy", maskingCredentials(url))
    }
    for target in connection.connectTo { add("--connect-to", target.text) }
    switch connection.httpVersion {
    case .automatic: break
    case .http1: add("--http1.1")
    // Of https it asks in the handshake, as we do.
    case .http2: add("--http2-prior-knowledge")
    }
  }

  private mutating func addFiles(_ tls: Job.Request.TLSFiles) {
    if let file = tls.caFile {
      // Else the system's folder of certificates is trusted as well.
      add("--cacert", file.absolute, "--capath", "/dev/null")
    }
    guard let certificate = tls.clientCertificate else { return }
    // A colon would begin a pass phrase.
    let escaped = certificate.absolute.split(separator: ":", omittingEmptySubsequences: false).joined(separator: #"\:"#)
    add("--cert", escaped, "--key", (tls.clientKey ?? certificate).absolute)
  }

  /// Seconds, with as many decimals as are needed, down to milliseconds.
  private static func seconds(_ duration: Duration) -> String {
    let milliseconds = max(1, duration / .milliseconds(1))
    let whole = Int64(milliseconds)
    guard whole % 1000 != 0 else { return "\(whole / 1000)" }
    var fraction = String(1000 + whole % 1000).dropFirst()
    while fraction.last == "0" { fraction.removeLast() }
    return "\(whole / 1000).\(fraction)"
  }
}

extension DownloadOptions.ConnectTarget {
  /// As curl's `--connect-to` takes it; what is not named is any.
  var text: String {
    func part(_ host: String?, _ port: Int?) -> String { "\(host ?? ""):\(port.map(String.init) ?? "")" }
    return part(host, port) + ":" + part(targetHost, targetPort)
  }
}
