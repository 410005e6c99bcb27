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
