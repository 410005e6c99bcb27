public import ImageDownloading

extension Job {
  /// What is asked of a server, how patiently, and what answer is good.
  public struct Request: Sendable {
    /// How an entry is asked for.
    public enum Method: String, Sendable, CaseIterable {
      case get
      /// What the server says of it, without its bytes.
      case head
      /// By a range: its first 64 KiB, and more where its header needs more.
      case probe
    }

    /// A header field that is sent: its name is a token, its value holds no control characters (RFC 9110, section 5), and
    /// it is none that prewarm or libcurl sets itself. Values may be secrets.
    public struct Header: Sendable, Hashable {
      /// As written; its case does not count.
      public var name: String
      /// What is sent, which may be a secret.
      public var value: String

      /// A field; names and values are checked where a job file is read, not here.
      public init(name: String, value: String) {
        self.name = name
        self.value = value
      }
    }

    /// A set of header fields under a name, with which each entry is fetched once; they replace those of ``headers`` of the same names.
    public struct Variant: Sendable, Hashable {
      /// What rows and identities call it.
      public var name: String
      /// `Accept` and `User-Agent` may be among them.
      public var headers: [Header]

      /// A variant of those fields.
      public init(name: String, headers: [Header]) {
        self.name = name
        self.headers = headers
      }
    }

    /// A server from which each entry is fetched, under the entry's own host name.
    public struct Edge: Sendable, Hashable {
      /// What rows, identities and the hosts of reports call it.
      public var name: String
      /// A name or an address, IPv6 in brackets.
      public var host: String
      /// From 1 to 65,535.
      public var port: Int

      /// An edge at that place.
      public init(name: String, host: String, port: Int) {
        self.name = name
        self.host = host
        self.port = port
      }
    }

    /// The version of HTTP.
    public enum HTTPVersion: String, Sendable, CaseIterable {
      /// HTTP/2 where TLS agrees on it, else HTTP/1.1.
      case auto
      case http1 = "1.1"
      /// Alone: a server that speaks another fails.
      case http2 = "2"
    }

    /// Through whom requests go.
    public enum Proxy: Sendable, Hashable {
      case none
      /// As `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say.
      case environment
      /// Which may hold a user and a password.
      case url(String)
    }

    /// Whether `robots.txt` counts.
    public enum Robots: String, Sendable, CaseIterable {
      case ignore, respect
    }

    /// How servers prove who they are, and we.
    public struct TLS: Sendable {
      /// Whether certificates are verified; true by default.
      public var verifies: Bool
      /// Certificates that are trusted instead of the system's; nil: the system's.
      public var caFile: JobPath?
      /// Our own certificate; nil: none.
      public var clientCertificate: JobPath?
      /// Its key; nil: in the same file.
      public var clientKey: JobPath?
    }

    /// Which addresses may be connected to.
    public enum Addresses: String, Sendable, CaseIterable {
      case any
      /// No loopback, private, link-local, special-purpose address.
      case publicOnly = "public"
    }

    /// How entries are asked for; ``Method/get`` by default.
    public var method: Method
    /// Sent to the entry's own scheme, host and port only.
    public var headers: [Header]
    /// The value of `Accept`.
    public var accept: String
    /// The value of `User-Agent`.
    public var userAgent: String
    /// For one transfer, redirects included; nil: none. 60 s by default.
    public var timeout: Duration?
    /// From the start of a transfer to its connection, name look-up included; 10 s by default.
    public var connectTimeout: Duration
    /// How long no byte may come; nil: any time. 15 s by default.
    public var stallTimeout: Duration?
    /// Further attempts after a transient failure; 2 by default.
    public var retries: Int
    /// The bound of the first wait before a retry, doubled for each further one; 500 ms by default.
    public var backoffInitial: Duration
    /// The bound of every wait before a retry; 30 s by default.
    public var backoffMaximum: Duration
    /// What an entry may wait for `Retry-After` in all; 2 minutes by default.
    public var retryAfterMaximum: Duration
    /// Redirects followed in one transfer; 10 by default.
    public var redirects: Int
    /// Statuses of a good answer; 200 alone by default.
    public var acceptStatus: [ClosedRange<Int>]
    /// Bytes of a body; a longer one fails. nil: any number. 64 MiB by default.
    public var maxBytes: Int?
    /// Each entry is fetched once for each of them, where there are any.
    public var variants: [Variant]
    /// The version of HTTP; ``HTTPVersion/auto`` by default.
    public var httpVersion: HTTPVersion
    /// The first that fits a URL counts.
    public var connectTo: [DownloadOptions.ConnectTarget]
    /// Each entry is fetched from each of them, where there are any.
    public var edges: [Edge]
    /// Through whom requests go; nobody by default.
    public var proxy: Proxy
    /// For entries whose URL has no user of its own, sent to the entry's own scheme, host and port only; nil: none.
    public var auth: Credential?
    /// Whether cookies are kept during the job; false by default.
    public var keepsCookies: Bool
    /// Whether `robots.txt` counts; ``Robots/ignore`` by default.
    public var robots: Robots
    /// How servers prove who they are, and we.
    public var tls: TLS
    /// Which addresses may be connected to; ``Addresses/any`` by default.
    public var addresses: Addresses
  }
}
