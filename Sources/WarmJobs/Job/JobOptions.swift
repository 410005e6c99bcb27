internal import Glibc
public import ImageCaching
public import ImageCoding
public import ImageDownloading
public import ImageManaging
public import Manifests

// Options of a job that combine those of several modules, grouped like the job file's sections.
extension Job {
  /// The order, concurrency and rates of requests.
  public struct Prefetch: Sendable {
    /// The order for each priority; LIFO reverses across manifests, too.
    public var order = EntryOrder.fifo
    /// The limits of concurrency and rates.
    public var limits = DownloadLimits(concurrency: 32)
    /// The time limit of the whole job; nil for none.
    public var deadline: Duration?
  }

  /// The cache, its limits and freshness rules, and how it is used.
  public struct Cache: Sendable {
    /// The limits of the memory layer; nil for none.
    public struct Memory: Sendable, Hashable {
      /// The maximum size of pixels in bytes.
      public var maxCost: Int?
      /// The maximum number of images.
      public var maxCount: Int?

      public init(maxCost: Int? = 256 << 20, maxCount: Int? = nil) {
        self.maxCost = maxCost
        self.maxCount = maxCount
      }
    }

    /// The cache on disk, including the absolute path of its folder.
    public var disk = ImageCache.Configuration(directory: "")
    /// How it is read and written.
    public var mode = CacheMode.use
    /// The layer of decoded images. Default: nil, none.
    public var memory: Memory?
    /// More caches to look in, in order.
    public var readOnly: [JobPath] = []
    /// The parts of a URL that identify an image.
    public var key = KeyRule.url
    /// Whether every hit's body is read and its checksum verified.
    public var verifiesHits = false
  }

  /// The rules for good images.
  public struct Verify: Sendable {
    /// The handling of an image that a host returns for at least ten URLs: the same bytes at different URLs, typical of
    /// soft 404s.
    ///
    /// An intentionally shared image, such as a spacer or a logo, counts as well: hosts also return a single pixel for
    /// missing images, and the bytes don't show the difference. Skip its URLs (a manifest's `exclude`), or check them
    /// in a separate job that ignores placeholders. HEAD requests have no bytes to compare; probes compare small images
    /// whole, and larger ones by their first bytes and their length. With `transform`, a report counts fetched and
    /// cached images separately, since cached ones are only known transformed; `fail` doesn't.
    public enum Placeholders: Sendable, Hashable {
      case ignore
      /// The report lists it; the HTML report also shows it if it was fetched in this run.
      case report
      /// From the tenth URL on it is a failure.
      case fail
    }

    /// The rules for one image, as the user set them.
    public var rules = VerificationRules()
    public var placeholders = Placeholders.report
  }

  /// The check of caches between prewarm and the server.
  public enum RemoteCache: Sendable, Hashable {
    case ignore
    /// A second request shows whether they have the image.
    case report
    /// They must have it.
    case hit
  }

  public var remoteCache: RemoteCache {
    get { !request.download.checksRemoteCache ? .ignore : verify.rules.requiresRemoteHit ? .hit : .report }
    set {
      request.download.checksRemoteCache = newValue != .ignore
      verify.rules.requiresRemoteHit = newValue == .hit
    }
  }

  /// The transformation of stored images.
  public struct Transform: Sendable, Hashable {
    /// A size in pixels; without width and height, images keep their size.
    public struct Resize: Sendable, Hashable {
      /// nil: derived from the height and the aspect ratio.
      public var width: Int?
      /// nil: derived from the width and the aspect ratio.
      public var height: Int?
      /// How an image of a different aspect ratio is fitted into the box.
      public var fit: ImageTransform.Fit

      public init(width: Int? = nil, height: Int? = nil, fit: ImageTransform.Fit = .inside) {
        self.width = width
        self.height = height
        self.fit = fit
      }

      /// The transformer to that size; nil if images keep their size.
      var transformer: ResizingTransformer? {
        width == nil && height == nil ? nil : ResizingTransformer(width: width, height: height, fit: fit)
      }
    }

    public var resize = Resize()
    public var encoding = TransformEncoding()
    /// Whether the original is stored, too.
    public var keepsOriginal = false
  }
}

/// The absolute path of the current folder; `/` if it was deleted.
package func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}
