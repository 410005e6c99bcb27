import ImageDownloading
import Base

/// The options with which curl (7.88 or later) repeats the requests of a job, one per word.
///
/// Options that are curl's defaults are omitted. There is one difference: after a redirect to another host, curl sends
/// the job's own headers there, too. The body is discarded; the status and headers are printed.
struct CurlOptions {
  /// Header fields whose values are shown: they select the kind of response, caching, or the referring page, and none
  /// of them authenticates. Any other field may contain a secret, whatever its name.
  private static let harmlessFields: Set<String> = [
    "accept", "accept-ch", "accept-charset", "accept-encoding", "accept-language", "cache-control", "dnt", "downlink", "dpr",
    "ect",
    "origin", "pragma", "priority", "range", "referer", "rtt", "save-data", "user-agent", "viewport-width", "width",
  ]
  private static let harmlessPrefixes = ["sec-ch-", "sec-fetch-"]
  private static let mask = "***"

  private(set) var words: [String] = ["-sS"]

  /// Creates the options for a job that requests each entry in one way.
  init(_ request: Job.Request) {
    let download = request.download
    addMethod(download.method)
    if download.redirects > 0 { add("--location", "--max-redirs", "\(download.redirects)") }
    if download.timeout != .unlimited { add("--max-time", Self.seconds(download.timeout)) }
    add("--connect-timeout", Self.seconds(download.connectTimeout))
    addHeaders(download)
    if let credential = request.auth { add("--user", "\(credential.user):\(Self.mask)") }
    // An empty jar, which a redirect may fill.
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

  /// The fields that replace curl's own; it sends a field without a value only if it is written with a semicolon
  /// instead of the colon (curl(1), `--header`).
  private mutating func addHeaders(_ download: DownloadOptions) {
    var headers = [("Accept", download.sentAccept), ("User-Agent", download.userAgent), ("Accept-Encoding", "identity")]
    headers.removeAll { header in download.headers.contains { $0.name.lowercased() == header.0.lowercased() } }
    for (name, value) in headers + download.headers.map({ ($0.name, $0.value) }) {
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
    // For https it negotiates in the handshake, as prewarm does.
    case .http2: add("--http2-prior-knowledge")
    }
  }

  private mutating func addFiles(_ tls: Job.Request.TLSFiles) {
    if let file = tls.caFile {
      // Otherwise the system's folder of certificates is trusted as well.
      add("--cacert", file.absolute, "--capath", "/dev/null")
    }
    guard let certificate = tls.clientCertificate else { return }
    // A colon would start a pass phrase.
    let escaped = certificate.absolute.split(separator: ":", omittingEmptySubsequences: false).joined(separator: #"\:"#)
    add("--cert", escaped, "--key", (tls.clientKey ?? certificate).absolute)
  }

  /// Seconds, with up to three decimals as needed.
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
  /// The form of curl's `--connect-to`; empty parts match anything.
  var text: String {
    func part(_ host: String?, _ port: Int?) -> String { "\(host ?? ""):\(port.map(String.init) ?? "")" }
    return part(host, port) + ":" + part(targetHost, targetPort)
  }
}
