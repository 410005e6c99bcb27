import CCurl
import Platform
import Base

extension DownloadOptions {
  /// How connections to servers are made.
  public struct Connection: Sendable, Hashable {
    /// The version of HTTP; ``HTTPVersion/automatic`` by default.
    public var httpVersion = HTTPVersion.automatic
    /// Other targets for some hosts and ports; none by default. The first match counts.
    package var connectTo: [ConnectTarget] = []
    /// The proxy; none by default, whatever the environment says.
    public var proxy = Proxy.none
    /// TLS trust and client certificates; the system's certificates, and no client certificate, by default.
    public var tls = TLS()
    /// The addresses that connections may use; any by default. Checked on each hop, after the name was resolved.
    public var addresses = AddressRule.any

    /// Creates the defaults: a direct connection.
    public init() {}
  }

  /// The version of HTTP.
  public enum HTTPVersion: Sendable, Hashable {
    /// HTTP/2 if TLS negotiates it (RFC 9113, section 3.2), else HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// HTTP/2 only: by TLS, or without it by prior knowledge (RFC 9113, section 3.3), with one connection per request.
    case http2
  }

  /// A different target for connections to a host: the URL, `Host` and the name that TLS checks stay (as curl's `--connect-to`).
  package struct ConnectTarget: Sendable, Hashable {
    /// The URL's host in lower case, IPv6 addresses in brackets; nil: any.
    package var host: String?
    /// The URL's port; nil: any.
    package var port: Int?
    /// The name or address to connect to, IPv6 addresses in brackets; nil: the URL's.
    package var targetHost: String?
    /// The port to connect to; nil: the URL's.
    package var targetPort: Int?

    /// Creates a rule that connects to the target instead of a host and port.
    package init(host: String? = nil, port: Int? = nil, targetHost: String?, targetPort: Int?) {
      self.host = host
      self.port = port
      self.targetHost = targetHost
      self.targetPort = targetPort
    }
  }

  /// The proxy of requests.
  public enum Proxy: Sendable, Hashable {
    /// No proxy, whatever the environment says.
    case none
    /// The variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, as libcurl reads them.
    case environment
    /// The proxy of that URL, such as `http://user:password@proxy.example.com:3128` or `socks5h://…`: http, https, socks4, socks4a,
    /// socks5 or socks5h, as libcurl reads it (`CURLOPT_PROXY`). Its user and password are sent to the proxy only.
    case url(String)
  }

  /// TLS trust and client certificates.
  public struct TLS: Sendable, Hashable {
    /// A PEM file of trusted certificates, also for a proxy; nil: the system's, or those that `CURL_CA_BUNDLE`, or `SSL_CERT_FILE` and
    /// `SSL_CERT_DIR`, name.
    public var caFile: String?
    /// A PEM file of a client certificate, sent to the download's own origin if that requests one; nil: none.
    public var clientCertificate: String?
    /// A PEM file of its key if it isn't in the same file; a key with a pass phrase isn't supported.
    public var clientKey: String?

    /// Creates the defaults: the system's certificates.
    public init() {}
  }

  /// The addresses that connections may use.
  public enum AddressRule: Sendable, Hashable {
    case any
    /// No address of IANA's special-purpose registries, in any notation: loopback, private, link-local and others (RFC 6890). Not allowed
    /// with a proxy, which makes the connections itself.
    case publicOnly
  }
}

extension DownloadOptions.Connection {
  /// Why these settings are invalid, in one sentence without secrets; nil if they are valid.
  ///
  /// Downloads and managers with invalid ones throw.
  public var invalidReason: String? {
    if let target = connectTo.first(where: { !$0.isValid }) {
      return "connectTo: \(target.text) isn't a valid host and port, such as ::127.0.0.1:8080"
    }
    if case .url(let url) = proxy, !Self.isProxy(url) {
      return
        "proxy: \(maskingCredentials(url)) isn't the URL of a proxy, such as http://proxy.example.com:3128 or socks5h://127.0.0.1:1080"
    }
    if tls.clientKey != nil, tls.clientCertificate == nil { return "tls: a client key requires a client certificate" }
    for path in [tls.caFile, tls.clientCertificate, tls.clientKey] where path?.isEmpty == true || path?.utf8.contains(0) == true {
      return "tls: a file name is empty or contains NUL"
    }
    if addresses == .publicOnly, proxy != .none {
      return "addresses: publicOnly can't be enforced with a proxy, which makes the connections itself; use one of the two"
    }
    return nil
  }

  /// Whether libcurl reads it as a known kind of proxy; libcurl would ignore or misread one of an unknown scheme.
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
    // Decoding rejects control characters.
    for secret in [CURLUPART_USER, CURLUPART_PASSWORD] where part(secret, 0) != nil && part(secret, CURLU_URLDECODE) == nil {
      return false
    }
    return ["", "/"].contains(part(CURLUPART_PATH, 0) ?? "") && part(CURLUPART_QUERY, 0) == nil
      && part(CURLUPART_FRAGMENT, 0) == nil
  }
}

extension DownloadOptions.ConnectTarget {
  /// In curl's form: `HOST:PORT:CONNECT-HOST:CONNECT-PORT`, each of which may be empty.
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
  /// The host that limits count for requests with those options: the server of the connection, whatever names it serves.
  func connecting(by options: DownloadOptions) -> URLOrigin {
    options.connection.target(of: self).map { URLOrigin(isSecure: isSecure, hostAndPort: $0[...]) } ?? self
  }
}

extension DownloadOptions.Connection {
  /// The target of ``connectTo`` for a request to `url`, a normalised one, as `HOST:PORT`; nil if it is the URL's own.
  package func target(for url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard !connectTo.isEmpty, let parts = URLNormalizer.parts(ofNormalForm: url) else { return nil }
    return target(of: URLOrigin(Array(url), parts))
  }

  /// The target for all URLs of an origin.
  func target(of origin: URLOrigin) -> [UInt8]? {
    guard !connectTo.isEmpty else { return nil }
    let (host, port) = (origin.name, origin.port)
    guard let rule = connectTo.first(where: { ($0.host ?? host) == host && ($0.port ?? port) == port }) else { return nil }
    let target = (host: rule.targetHost ?? host, port: rule.targetPort ?? port)
    return target == (host, port) ? nil : Array("\(target.host):\(target.port)".utf8)
  }
}

/// The value of a variable; nil if it isn't set or is empty.
func environmentVariable(_ name: String) -> String? {
  getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
}

/// The proxy of the environment, by the rules of libcurl (libcurl-env(3)).
enum EnvironmentProxy {
  /// The variable whose proxy requests to `host` would use. libcurl doesn't read `HTTP_PROXY`, which servers set from `Proxy`.
  static func variable(isSecure: Bool, host: String) -> String? {
    let names = (isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
    guard let name = names.first(where: { environmentVariable($0) != nil }) else { return nil }
    return excludes(host) ? nil : name
  }

  /// Whether `no_proxy` lists the host, or a domain above it. Networks aren't compared: each may have the host.
  private static func excludes(_ host: String) -> Bool {
    guard let list = environmentVariable("no_proxy") ?? environmentVariable("NO_PROXY") else { return false }
    return list.split { $0 == "," || $0 == " " }.contains { entry in
      let domain = entry.drop { $0 == "." }.lowercased()
      return domain == "*" || domain == host || host.hasSuffix("." + domain) || domain.contains("/")
    }
  }
}
