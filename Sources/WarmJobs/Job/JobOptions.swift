internal import Glibc
public import ImageCaching
public import ImageCoding
public import ImageDownloading
public import ImageManaging
public import Manifests

// What a job has beside the options of a single module: they are held together as the job file's sections are.
extension Job {
  /// The order, concurrency and rates of requests.
  public struct Prefetch: Sendable {
    /// The order within a priority class; last in, first out reverses across manifests too.
    public var order = EntryOrder.fifo
    /// How much is fetched at once, and how fast.
    public var limits = DownloadLimits(concurrency: 32)
    /// For the whole job; nil: none.
    public var deadline: Duration?
  }

  /// The cache, how long and how much it keeps, and how it is used.
  public struct Cache: Sendable {
    /// The limits of the memory layer; nil: none.
    public struct Memory: Sendable, Hashable {
      /// Bytes of pixels.
      public var maxCost: Int?
      /// Images.
      public var maxCount: Int?

      public init(maxCost: Int? = 256 << 20, maxCount: Int? = nil) {
        self.maxCost = maxCost
        self.maxCount = maxCount
      }
    }

    /// The cache on disk, the absolute path of its folder included.
    public var disk = ImageCache.Configuration(directory: "")
    /// When it is read and written.
    public var mode = CacheMode.use
    /// The layer of decoded images; nil, the default: none.
    public var memory: Memory?
    /// Further places to look in, in order.
    public var readOnly: [JobPath] = []
    /// What of a URL tells images apart.
    public var key = KeyRule.url
    /// Whether every hit's body is read and its sum checked.
    public var verifiesHits = false
  }

  /// The rules for good images.
  public struct Verify: Sendable {
    /// What becomes of an image that a host gives for ten URLs or more: the same bytes behind different URLs, as soft 404s have them.
    ///
    /// One that is shared on purpose, such as a spacer of one pixel or a logo, counts as well: nothing in it tells the two apart, and hosts do answer with
    /// a single pixel for what they lack. Leave its URLs out (a manifest's `exclude`), or check them by a job of their own that ignores placeholders.
    /// A HEAD has no bytes to compare; a probe compares small images whole, and larger ones by their beginning and their length.
    /// With `transform` a report tells what was fetched now from what was in the cache, since it knows the latter by what it
    /// became; `fail` does not.
    public enum Placeholders: Sendable, Hashable {
      case ignore
      /// The report names it, and as HTML shows it where it was fetched in this run.
      case report
      /// From the tenth URL on it is a failure.
      case fail
    }

    /// The rules for one image, as somebody wrote them.
    public var rules = VerificationRules()
    public var placeholders = Placeholders.report
  }

  /// What is asked of caches on the way.
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

  /// What is stored in place of the original.
  public struct Transform: Sendable, Hashable {
    /// A size in pixels; with neither side, images stay as large as they are.
    public struct Resize: Sendable, Hashable {
      /// nil: as the height and the aspect have it.
      public var width: Int?
      /// nil: as the width and the aspect have it.
      public var height: Int?
      /// How an image of another aspect gets into the box.
      public var fit: ResizingTransformer.Fit

      public init(width: Int? = nil, height: Int? = nil, fit: ResizingTransformer.Fit = .inside) {
        self.width = width
        self.height = height
        self.fit = fit
      }

      /// What makes images that large; nil if they stay as they are.
      var transformer: ResizingTransformer? {
        width == nil && height == nil ? nil : ResizingTransformer(width: width, height: height, fit: fit)
      }
    }

    public var resize = Resize()
    public var encoding = TransformEncoding()
    /// Whether the original is stored too.
    public var keepsOriginal = false
  }
}

/// The absolute path of the current folder; `/` where it has been deleted.
package func currentFolder() -> String {
  guard let path = getcwd(nil, 0) else { return "/" }
  defer { free(path) }
  return String(cString: path)
}
