internal import Glibc
package import ImageCaching
package import ImageCoding
package import ImageDownloading
package import ImageManaging
package import Lists

// Options of a job that combine those of several modules, grouped like the job file's sections.
extension Job {
  package struct Prefetch: Sendable {
    /// The order for each priority; LIFO reverses across lists, too.
    package var order = EntryOrder.fifo
    package var limits = DownloadLimits(concurrency: 32)
    /// The time limit of the whole job; nil for none.
    package var deadline: Duration?
  }

  package struct Cache: Sendable {
    package struct Memory: Sendable, Hashable {
      /// The maximum size of pixels in bytes.
      package var maxCost: Int? = 256 << 20
      package var maxCount: Int?
    }

    /// The cache on disk, including the absolute path of its folder.
    package var disk = ImageCache.Configuration(directory: "")
    package var mode = CacheMode.use
    package var memory: Memory?
    /// More caches to look in, in order.
    package var readOnly: [JobPath] = []
    /// The parts of a URL that identify an image.
    package var key = KeyRule.url
    /// Whether every hit's body is read and its checksum verified.
    package var verifiesHits = false
  }

  package struct Verify: Sendable {
    /// The handling of an image that a host returns for at least ten URLs: the same bytes at different URLs, typical of
    /// soft 404s.
    ///
    /// An intentionally shared image, such as a spacer or a logo, counts as well: hosts also return a single pixel for
    /// missing images, and the bytes don't show the difference. Skip its URLs (a list's `exclude`), or check them
    /// in a separate job that ignores placeholders. HEAD requests have no bytes to compare; probes compare small images
    /// whole, and larger ones by their first bytes and their length. With `transform`, a report counts fetched and
    /// cached images separately, since cached ones are only known transformed; `fail` doesn't.
    package enum Placeholders: Sendable, Hashable {
      case ignore
      /// The report lists it; the HTML report also shows it if it was fetched in this run.
      case report
      /// From the tenth URL on it is a failure.
      case fail
    }

    package var rules = VerificationRules()
    package var placeholders = Placeholders.report
  }

  /// The check of caches between prewarm and the server.
  package enum RemoteCache: Sendable, Hashable {
    case ignore
    /// A second request shows whether they have the image.
    case report
    /// They must have it.
    case hit
  }

  package var remoteCache: RemoteCache {
    get { !request.download.purpose.checksRemoteCache ? .ignore : verify.rules.requiresRemoteHit ? .hit : .report }
    set {
      request.download.purpose.checksRemoteCache = newValue != .ignore
      verify.rules.requiresRemoteHit = newValue == .hit
    }
  }

  package struct Transform: Sendable, Hashable {
    /// A size in pixels; without width and height, images keep their size.
    package struct Resize: Sendable, Hashable {
      /// nil: derived from the height and the aspect ratio.
      package var width: Int?
      /// nil: derived from the width and the aspect ratio.
      package var height: Int?
      /// How an image of a different aspect ratio is fitted into the box.
      package var fit = ImageTransform.Fit.inside

      /// The transformer to that size; nil if images keep their size.
      var transformer: ResizingTransformer? {
        width == nil && height == nil ? nil : ResizingTransformer(width: width, height: height, fit: fit)
      }
    }

    package var resize = Resize()
    package var encoding = TransformEncoding()
    package var keepsOriginal = false
  }
}

/// The absolute path of the current folder; `/` if it was deleted.
package func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}

extension Job {
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
      package var clientCertificate: JobPath?
      /// Its key; nil if it is in the same file.
      package var clientKey: JobPath?
    }

    /// The options of each download, except ``tls``, ``acceptStatus``, and the changes of a variant or an edge. Headers
    /// have values, credentials are constant, and `Duration.unlimited` means no time limit.
    package var download = DownloadOptions {
      $0.accept = ImageCoderRegistry.standard.acceptedTypes
      $0.patience = .long
      $0.userAgent = "prewarm/\(PrewarmVersion.current)"
    }
    package var tls = TLSFiles()
    /// The statuses of a good response, as the user wrote them.
    package var acceptStatus = [200...200]
    /// The pause before entries whose failure may be temporary are requested once more, at the end of the run; nil: they aren't.
    package var recheck: Duration?
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

package enum PrewarmVersion {
  package static let current = "0.1.0"
}
