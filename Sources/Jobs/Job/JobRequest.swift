import ImageCoding
package import ImageDownloading
import ImageManaging

extension Job {
  /// The requests, the time limits, and the rules for good responses.
  package struct Request: Sendable {
    /// A named set of headers with which each entry is fetched once; they replace the job's headers of the same names.
    package struct Variant: Sendable, Hashable {
      /// Its name in rows and identities.
      package var name: String
      /// May include `Accept` and `User-Agent`; each has a value.
      package var headers: [HeaderField]
    }

    /// A server from which each entry is fetched, under the entry's own host name.
    package struct Edge: Sendable, Hashable {
      /// Its name in rows, identities and the hosts of reports.
      package var name: String
      /// A name or an address, IPv6 in brackets.
      package var host: String
      /// From 1 to 65,535.
      package var port: Int
    }

    /// The TLS files as the user wrote them; they are checked before the first request.
    package struct TLSFiles: Sendable {
      /// Certificates that are trusted instead of the system's; nil for the system's.
      package var caFile: JobPath?
      /// The client certificate; nil for none.
      package var clientCertificate: JobPath?
      /// Its key; nil if it is in the same file.
      package var clientKey: JobPath?
    }

    /// The options of each download, except ``tls``, ``acceptStatus``, and the changes of a variant or an edge. Headers
    /// have values, credentials are constant, and `Duration.unlimited` means no time limit.
    package var download = DownloadOptions {
      $0.accept = ImageCoderRegistry.standard.acceptedTypes
      $0.userAgent = "prewarm/\(PrewarmVersion.current)"
    }
    package var tls = TLSFiles()
    /// The statuses of a good response, as the user wrote them.
    package var acceptStatus = [200...200]
    /// If there are any, each entry is fetched once with each of them.
    package var variants: [Variant] = []
    /// If there are any, each entry is fetched once from each of them.
    package var edges: [Edge] = []

    /// Credentials for entries whose URL has none; nil for none.
    package var auth: Credential? {
      get { download.credentials?.fixed }
      set { download.credentials = newValue.map { .fixed($0) } }
    }
  }
}

extension Duration {
  /// No time limit: longer than any transfer, short enough for libcurl's milliseconds, and not a value that a job file
  /// can contain.
  package static let unlimited = Duration.seconds(20 * 86_400) + .microseconds(1)
}

/// The version of prewarm, for reports and the `User-Agent` header.
package enum PrewarmVersion {
  /// The semantic version.
  package static let current = "0.1.0"
}
