import CCurl
import ImageURLs

extension DownloadOptions {
  /// How the servers of a download are reached.
  public struct Connection: Sendable, Hashable {
    /// The version of HTTP; ``HTTPVersion/automatic`` by default.
    public var httpVersion = HTTPVersion.automatic
    /// Who is connected to in place of some hosts and ports; nobody by default. The first that fits counts.
    public var connectTo: [ConnectTarget] = []
    /// The way there; direct by default, whatever the environment says.
    public var proxy = Proxy.none
    /// Whom TLS trusts, and what we show; the system's certificates, and nothing, by default.
    public var tls = TLS()
    /// Which addresses may be connected to; any by default. It counts on each hop, after the name was resolved.
    public var addresses = AddressRule.any

    /// A direct connection.
    public init() {}
  }

  /// The version of HTTP that is spoken.
  public enum HTTPVersion: Sendable, Hashable {
    /// HTTP/2 where TLS agrees on it (RFC 9113, section 3.2), else HTTP/1.1.
    case automatic
    /// HTTP/1.1, offered alone.
    case http1
    /// HTTP/2 alone: by TLS, or without it by prior knowledge (RFC 9113, section 3.3), then with a connection for each request. A
    /// server that speaks another fails.
    case http2
  }

  /// Who is connected to in place of a host: the URL, `Host` and the name that TLS asks for stay (as curl's `--connect-to`).
  public struct ConnectTarget: Sendable, Hashable {
    /// The URL's host in lower case, IPv6 addresses in brackets; nil: any.
    public var host: String?
    /// The URL's port; nil: any.
    public var port: Int?
    /// The name or address to connect to, IPv6 addresses in brackets; nil: the URL's.
    public var targetHost: String?
    /// The port to connect to; nil: the URL's.
    public var targetPort: Int?

    /// Connects to the target in place of a host and port.
    public init(host: String? = nil, port: Int? = nil, targetHost: String?, targetPort: Int?) {
      self.host = host
      self.port = port
      self.targetHost = targetHost
      self.targetPort = targetPort
    }
  }

  /// Through whom requests go.
  public enum Proxy: Sendable, Hashable {
    /// Nobody, whatever the environment says.
    case none
    /// As the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say, in libcurl's reading.
    case environment
    /// The proxy of that URL, such as `http://user:password@proxy.example.com:3128` or `socks5h://…`: http, https, socks4, socks4a,
    /// socks5 or socks5h, in libcurl's reading (`CURLOPT_PROXY`). Its user and password are for the proxy alone.
    case url(String)
  }

  /// Whom TLS trusts, and what it shows of us.
  public struct TLS: Sendable, Hashable {
    /// A PEM file of the certificates that are trusted instead of the system's, also for a proxy; nil: the system's.
    public var caFile: String?
    /// A PEM file of our own certificate, shown to the download's own origin where that asks for one; nil: none is shown.
    public var clientCertificate: String?
    /// A PEM file of its key, where it is not in the same file; one that needs a pass phrase cannot be used.
    public var clientKey: String?

    /// The system's certificates.
    public init() {}
  }

  /// Which addresses may be connected to.
  public enum AddressRule: Sendable, Hashable {
    case any
    /// None that IANA's special-purpose registries hold: loopback, private, link-local and the like, in whatever form (RFC 6890). Not
    /// with a proxy, which connects itself.
    case publicOnly
  }
}

extension DownloadOptions.Connection {
  /// Why no request can be made so, in one sentence without secrets; nil where nothing is in the way.
  ///
  /// What comes from a file is asked before it becomes options, which trap on a problem.
  public var invalidReason: String? {
    if let target = connectTo.first(where: { !$0.isValid }) {
      return "connectTo: \(target.text) is no host and port to connect to"
    }
    if case .url(let url) = proxy, !Self.isProxy(url) {
      return "proxy: \(maskingCredentials(url)) is no http, https, socks4, socks4a, socks5 or socks5h URL of a host alone"
    }
    if tls.clientKey != nil, tls.clientCertificate == nil { return "tls: a client key needs its client certificate" }
    for path in [tls.caFile, tls.clientCertificate, tls.clientKey] where path?.isEmpty == true || path?.utf8.contains(0) == true {
      return "tls: a file needs a name"
    }
    if addresses == .publicOnly, proxy != .none {
      return "addresses: with a proxy, which connects itself, nobody can hold them to public ones"
    }
    return nil
  }

  /// Whether libcurl reads it as a proxy of a kind that it knows; one of an unknown scheme would not be used, or as another kind.
  private static func isProxy(_ text: String) -> Bool {
    guard text.utf8.allSatisfy({ $0 > 32 && $0 < 127 }), let handle = curl_url() else { return false }
    defer { curl_url_cleanup(handle) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
    guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else { return false }
    let part = { (part: CURLUPart, flags: Int32) -> String? in
      var text: UnsafeMutablePointer<CChar>?
      guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
      defer { curl_free(text) }
      return String(cString: text)
    }
    let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
    guard let scheme = part(CURLUPART_SCHEME, 0), schemes.contains(scheme), part(CURLUPART_HOST, 0)?.isEmpty == false else {
      return false
    }
    // Decoding refuses control characters.
    for secret in [CURLUPART_USER, CURLUPART_PASSWORD] where part(secret, 0) != nil && part(secret, CURLU_URLDECODE) == nil {
      return false
    }
    return ["", "/"].contains(part(CURLUPART_PATH, 0) ?? "") && part(CURLUPART_QUERY, 0) == nil
      && part(CURLUPART_FRAGMENT, 0) == nil
  }
}

extension DownloadOptions.ConnectTarget {
  /// As curl writes it: `HOST:PORT:CONNECT-HOST:CONNECT-PORT`, each of which may be empty.
  var text: String {
    "\(host ?? ""):\(port.map(String.init) ?? ""):\(targetHost ?? ""):\(targetPort.map(String.init) ?? "")"
  }

  var isValid: Bool {
    [host, targetHost].allSatisfy { $0.map(Self.isHost) ?? true }
      && [port, targetPort].allSatisfy { $0.map { 1...65535 ~= $0 } ?? true }
  }

  private static func isHost(_ text: String) -> Bool {
    let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
    let inner = isBracketed ? text.dropFirst().dropLast() : text[...]
    return !inner.isEmpty
      && inner.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        case UInt8(ascii: ":"): isBracketed
        default: "-._".utf8.contains(byte)
        }
      }
  }
}

extension URLOrigin {
  /// Whom limits count as the host of requests with those options: the server that is connected to, whatever names it serves.
  func connecting(by options: DownloadOptions) -> URLOrigin {
    options.connection.target(of: self).map { URLOrigin(isSecure: isSecure, hostAndPort: $0[...]) } ?? self
  }
}

extension DownloadOptions.Connection {
  /// Who is connected to for a request to `url`, a normalised one, by ``connectTo``: `HOST:PORT`; nil where that is the URL's own.
  public func target(for url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard !connectTo.isEmpty, let parts = URLNormalizer.parts(ofNormalForm: url) else { return nil }
    return target(of: URLOrigin(Array(url), parts))
  }

  /// The same for all URLs of an origin.
  func target(of origin: URLOrigin) -> [UInt8]? {
    guard !connectTo.isEmpty else { return nil }
    let (host, port) = (origin.name, origin.port)
    guard let rule = connectTo.first(where: { ($0.host ?? host) == host && ($0.port ?? port) == port }) else { return nil }
    let target = (host: rule.targetHost ?? host, port: rule.targetPort ?? port)
    return target == (host, port) ? nil : Array("\(target.host):\(target.port)".utf8)
  }
}
