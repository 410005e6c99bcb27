public import ImageCaching
public import ImageCoding
public import ImageDownloading
public import ImagePrimitives

/// One image to be loaded, with what holds for this load alone.
///
/// SDWebImage's flags are here as options in four groups; <doc:FromSDWebImage> lists which flag is where.
public struct ImageRequest: Sendable {
  /// Where the image is.
  public var url: String
  /// Which caches are read and filled, and when the network is asked.
  public var cachePolicy: CachePolicy
  /// The class: a higher one starts first.
  public var priority: Priority
  /// What is made of the bytes.
  public var decoding: Decoding
  /// How the network is asked.
  public var network: Network

  /// A request for the image at `url`, with the manager's own ways unless others are given.
  public init(
    url: String,
    cachePolicy: CachePolicy = CachePolicy(),
    priority: Priority = .normal,
    decoding: Decoding = Decoding(),
    network: Network = Network()
  ) {
    self.url = url
    self.cachePolicy = cachePolicy
    self.priority = priority
    self.decoding = decoding
    self.network = network
  }

  /// Which caches are read and filled, and when the network is asked.
  public struct CachePolicy: Sendable {
    /// How the cache and the network are used; ``CacheMode/use`` by default.
    public var mode: CacheMode
    /// Which layers are read and filled; all by default.
    public var layers: CacheLayerUse
    /// Whether a URL on the blacklist is asked all the same (`retryFailed`); false by default.
    public var retriesFailed: Bool
    /// Whether what is too old is served; false by default.
    public var servesExpired: Bool
    /// Whether the bytes of every hit are read and their sum checked; false by default.
    public var verifiesHits: Bool
    /// The disk cache in place of the manager's; nil: the manager's.
    public var cache: ImageCache?
    /// The memory layer in place of the manager's; nil: the manager's.
    public var memory: ImageMemory?

    /// A policy of those parts, each with its default.
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

  /// What is made of the bytes.
  public struct Decoding: Sendable {
    /// When pixels are made.
    public enum Time: Sendable, Hashable {
      /// Before the load ends, on the coding threads (SDWebImage's default).
      case eager
      /// When ``ImageResponse/decoded()`` is called (`avoidDecodeImage`): the response has the bytes. It is neither transformed nor kept in
      /// memory.
      case lazy
      /// Never: the response has neither pixels nor bytes, for who only wants the image kept.
      case never
    }

    /// When pixels are made; ``Time/eager`` by default.
    public var time: Time
    /// The box that the image has to fit in (`imageThumbnailPixelSize`), the bytes that its pixels may have (`scaleDownLargeImages`), and
    /// whether only the first frame is decoded (`decodeFirstFrameOnly`); all frames in full size by default.
    public var options: DecodingOptions
    /// Whether ``ImageTask/events`` have the image while it arrives (`progressiveLoad`), each better than the last; false by default. It is
    /// not while what is cached is refreshed, and ``/ImageCoding/DecodingOptions/maximumBytes`` then does not count.
    public var isProgressive: Bool
    /// Whether the response has the bytes beside the image (`queryMemoryData`); false by default.
    public var includesData: Bool
    /// What is made of the image, in place of the manager's transformer; nil: the manager's.
    public var transformer: (any ImageTransformer)?
    /// Who decodes, in place of the manager's coders; nil: the manager's.
    public var coders: ImageCoderRegistry?
    /// What the image must be to be good; nil: the manager's rules.
    public var verification: VerificationRules?

    /// Decoding of those parts, each with its default.
    public init(
      time: Time = .eager,
      options: DecodingOptions = DecodingOptions(),
      isProgressive: Bool = false,
      includesData: Bool = false,
      transformer: (any ImageTransformer)? = nil,
      coders: ImageCoderRegistry? = nil,
      verification: VerificationRules? = nil
    ) {
      self.time = time
      self.options = options
      self.isProgressive = isProgressive
      self.includesData = includesData
      self.transformer = transformer
      self.coders = coders
      self.verification = verification
    }
  }

  /// How the network is asked.
  public struct Network: Sendable {
    /// Headers, limits, credentials, cookies, modifiers; nil: the manager's.
    public var options: DownloadOptions?
    /// Who fetches, in place of the manager's downloader; nil: the manager's.
    public var downloader: ImageDownloader?

    /// Network ways of those parts, each with its default.
    public init(options: DownloadOptions? = nil, downloader: ImageDownloader? = nil) {
      self.options = options
      self.downloader = downloader
    }
  }
}
