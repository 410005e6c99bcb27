public import ImageCaching
public import ImageCoding
public import ImageDownloading
public import Base

/// A request for one image, with the options of this load.
///
/// SDWebImage's flags are options in four groups here; see <doc:FromSDWebImage>.
public struct ImageRequest: Sendable {
  public var url: String
  /// Which caches are read and filled, and when the network is used.
  public var cachePolicy: CachePolicy
  /// The class: a higher one starts first.
  public var priority: LoadPriority
  /// How the bytes are decoded.
  public var decoding: Decoding
  /// Changes of the manager's download options: headers, time limits, credentials and others.
  public var options: DownloadOptions.Changes
  /// The downloader; nil: the manager's.
  public var downloader: ImageDownloader?

  /// Creates a request for the image at `url`, with the manager's settings unless others are given.
  public init(
    url: String,
    cachePolicy: CachePolicy = CachePolicy(),
    priority: LoadPriority = .normal,
    decoding: Decoding = Decoding(),
    options: DownloadOptions.Changes = DownloadOptions.Changes(),
    downloader: ImageDownloader? = nil
  ) {
    self.url = url
    self.cachePolicy = cachePolicy
    self.priority = priority
    self.decoding = decoding
    self.options = options
    self.downloader = downloader
  }

  /// Which caches are read and filled, and when the network is used.
  public struct CachePolicy: Sendable {
    /// How the cache and the network are used; ``CacheMode/use`` by default.
    public var mode: CacheMode
    /// Which layers are read and filled; all by default.
    public var layers: CacheLayerUse
    /// Whether a blacklisted URL is requested nevertheless (`retryFailed`); false by default.
    public var retriesFailed: Bool
    /// Whether expired images are served; false by default.
    public var servesExpired: Bool
    /// Whether the bytes of every hit are read and their checksum verified; false by default.
    public var verifiesHits: Bool
    /// The disk cache; nil: the manager's.
    public var cache: ImageCache?
    /// The memory layer; nil: the manager's.
    public var memory: ImageMemory?

    public init(
      mode: CacheMode = .use,
      layers: CacheLayerUse = CacheLayerUse(),
      retriesFailed: Bool = false,
      servesExpired: Bool = false,
      verifiesHits: Bool = false,
      cache: ImageCache? = nil,
      memory: ImageMemory? = nil
    ) {
      self.mode = mode
      self.layers = layers
      self.retriesFailed = retriesFailed
      self.servesExpired = servesExpired
      self.verifiesHits = verifiesHits
      self.cache = cache
      self.memory = memory
    }
  }

  /// How the bytes are decoded.
  public struct Decoding: Sendable {
    /// When the image is decoded.
    public enum Policy: Sendable, Hashable {
      /// Before the load ends, on the coding threads (SDWebImage's default).
      case eager
      /// When ``ImageResponse/decoded()`` is called (`avoidDecodeImage`): the response has the bytes. The image is neither transformed nor
      /// kept in memory.
      case lazy
      /// Never: the response has neither pixels nor bytes, so that the image is only cached.
      case never
    }

    /// When the image is decoded; ``Policy-swift.enum/eager`` by default.
    public var policy: Policy
    /// The box that the image must fit in (`imageThumbnailPixelSize`), the maximum bytes of its pixels (`scaleDownLargeImages`), and
    /// whether only the first frame is decoded (`decodeFirstFrameOnly`); all frames in full size by default.
    public var options: DecodingOptions
    /// Whether ``ImageTask/events`` show the image while it arrives (`progressiveLoad`), each better than the last; false by default. No
    /// effect while a cached image is refreshed; ``/ImageCoding/DecodingOptions/maximumBytes`` is ignored with it.
    public var isProgressive: Bool
    /// Whether the response has the bytes besides the image (`queryMemoryData`); false by default.
    public var includesData: Bool
    /// Transforms the image; nil: the manager's transformer.
    public var transformer: (any ImageTransformer)?
    /// The coders; nil: the manager's.
    public var coders: ImageCoderRegistry?
    /// The requirements on the image; nil: the manager's.
    public var verification: VerificationRules?

    public init(
      policy: Policy = .eager,
      options: DecodingOptions = DecodingOptions(),
      isProgressive: Bool = false,
      includesData: Bool = false,
      transformer: (any ImageTransformer)? = nil,
      coders: ImageCoderRegistry? = nil,
      verification: VerificationRules? = nil
    ) {
      self.policy = policy
      self.options = options
      self.isProgressive = isProgressive
      self.includesData = includesData
      self.transformer = transformer
      self.coders = coders
      self.verification = verification
    }
  }
}
