import ImageCoding
public import ImageDownloading
import ImageManaging
public import ImagePrimitives

extension Job {
  /// What is asked of a server, how patiently, and what answer is good.
  public struct Request: Sendable {
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

      public init(name: String, host: String, port: Int) {
        self.name = name
        self.host = host
        self.port = port
      }
    }

    /// How servers prove who they are, and we: files that are checked before the first request.
    public struct TLS: Sendable {
      /// Whether certificates are verified.
      public var verifies = true
      /// Certificates that are trusted instead of the system's; nil: the system's.
      public var caFile: JobPath?
      /// Our own certificate; nil: none.
      public var clientCertificate: JobPath?
      /// Its key; nil: in the same file.
      public var clientKey: JobPath?
    }

    public var method = DownloadOptions.Method.get
    /// Sent to the entry's own scheme, host and port only.
    public var headers: [Header] = []
    /// The value of `Accept`; AVIF is asked for where it can be decoded.
    public var accept = ImageCoderRegistry.standard.acceptedTypes
    /// The value of `User-Agent`.
    public var userAgent = "prewarm/\(PrewarmVersion.current)"
    /// For one transfer, redirects included; nil: none.
    public var timeout: Duration? = .seconds(60)
    /// From the start of a transfer to its connection, name look-up included.
    public var connectTimeout = Duration.seconds(10)
    /// How long no byte may come; nil: any time.
    public var stallTimeout: Duration? = .seconds(15)
    /// Further attempts after a transient failure.
    public var retries = 2
    /// The bounds of the waits before a retry.
    public var backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(30))
    /// What an entry may wait for `Retry-After` in all.
    public var retryAfterMaximum = Duration.seconds(120)
    /// Redirects followed in one transfer.
    public var redirects = 10
    /// Statuses of a good answer.
    public var acceptStatus = [200...200]
    /// Bytes of a body; a longer one fails. nil: any number.
    public var maxBytes: Int? = 64 << 20
    /// Each entry is fetched once for each of them, where there are any.
    public var variants: [Variant] = []
    public var httpVersion = DownloadOptions.HTTPVersion.automatic
    /// The first that fits a URL counts.
    public var connectTo: [DownloadOptions.ConnectTarget] = []
    /// Each entry is fetched from each of them, where there are any.
    public var edges: [Edge] = []
    public var proxy = DownloadOptions.Proxy.none
    /// For entries whose URL has no user of its own, sent to the entry's own scheme, host and port only; nil: none.
    public var auth: Credential?
    /// Whether cookies are kept during the job.
    public var keepsCookies = false
    /// Whether `robots.txt` counts.
    public var respectsRobots = false
    public var tls = TLS()
    public var addresses = DownloadOptions.AddressRule.any
  }
}

/// The version of prewarm, for reports and the `User-Agent` field.
public enum PrewarmVersion {
  /// By semantic versioning.
  public static let current = "0.1.0"
}
