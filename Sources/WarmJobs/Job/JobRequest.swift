import ImageCoding
public import ImageDownloading
import ImageManaging

extension Job {
  /// What is sent to servers, the time limits, and which responses are good.
  public struct Request: Sendable {
    /// A set of headers under a name, with which each entry is fetched once; they replace those of the job with the same names.
    public struct Variant: Sendable, Hashable {
      /// What rows and identities call it.
      public var name: String
      /// `Accept` and `User-Agent` may be among them; each has a value.
      public var headers: [DownloadOptions.Header]

      public init(name: String, headers: [DownloadOptions.Header]) {
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

    /// The files of TLS as somebody wrote them; they are checked before the first request.
    public struct TLSFiles: Sendable {
      /// Certificates that are trusted instead of the system's; nil: the system's.
      public var caFile: JobPath?
      /// The client certificate; nil: none.
      public var clientCertificate: JobPath?
      /// Its key; nil: in the same file.
      public var clientKey: JobPath?
    }

    /// The options of each download, except ``tls`` and ``acceptStatus``, and except what a variant or an edge changes. Its headers have
    /// values, its credentials are fixed, and a time of `Duration.unlimited` is no limit.
    public var download = DownloadOptions {
      $0.accept = ImageCoderRegistry.standard.acceptedTypes
      $0.userAgent = "prewarm/\(PrewarmVersion.current)"
    }
    public var tls = TLSFiles()
    /// Statuses of a good response, as somebody wrote them.
    public var acceptStatus = [200...200]
    /// Each entry is fetched once with each of them, if there are any.
    public var variants: [Variant] = []
    /// Each entry is fetched once from each of them, if there are any.
    public var edges: [Edge] = []

    /// For entries whose URL has no user of its own; nil: none.
    public var auth: Credential? {
      get { download.credentials?.fixed }
      set { download.credentials = newValue.map { .fixed($0) } }
    }
  }
}

extension Duration {
  /// Stands for no limit: longer than any transfer, short enough for libcurl's milliseconds, and none that a job file can write.
  package static let unlimited = Duration.seconds(20 * 86_400) + .microseconds(1)
}

/// The version of prewarm, for reports and the `User-Agent` header.
public enum PrewarmVersion {
  /// By semantic versioning.
  public static let current = "0.1.0"
}
