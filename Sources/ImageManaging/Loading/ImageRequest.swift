public import ImageCaching
public import ImageCoding
public import ImageDownloading
public import Base

/// What names an image to load: an ``ImageRequest``, or a URL as text, which means a request with the manager's settings.
public protocol ImageRequestConvertible: Sendable {
  var imageRequest: ImageRequest { get }
}

extension String: ImageRequestConvertible {
  public var imageRequest: ImageRequest { ImageRequest(url: self) }
}

/// A request for one image, with the options of this load.
///
/// SDWebImage's flags are options in four groups here; see <doc:FromSDWebImage>.
public struct ImageRequest: ImageRequestConvertible {
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
  public var imageRequest: ImageRequest { self }

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
    /// Whether an expired image is served if its server is down, as long as ``/ImageCaching/ImageCache/Configuration/staleIfError`` or the
    /// server allows; true by default. ``ImageResponse/isStale`` shows it. Only ``CacheMode/use`` does that.
    public var servesStaleOnError: Bool
    /// Whether the load fails if the disk can't store the image; false by default: then the image is delivered, and
    /// ``/Base/EntryResult/storeFailure`` says why it isn't stored. A load without pixels and bytes
    /// (``Decoding-swift.struct/Policy-swift.enum/never``) fails in any case, as it has nothing to deliver.
    public var requiresStoring: Bool
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
      servesStaleOnError: Bool = true,
      requiresStoring: Bool = false,
      verifiesHits: Bool = false,
      cache: ImageCache? = nil,
      memory: ImageMemory? = nil
    ) {
      self.mode = mode
      self.layers = layers
      self.retriesFailed = retriesFailed
      self.servesExpired = servesExpired
      self.servesStaleOnError = servesStaleOnError
      self.requiresStoring = requiresStoring
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
    /// How the image is encoded, transformed or not, for ``ImageManager/data(for:)`` and the disk; each encoding is an image of its own in the
    /// cache. Nil: the manager's ``ImageManager/Configuration/encoding`` for transformed images, and the file as received for others.
    public var encoding: TransformEncoding?
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
      encoding: TransformEncoding? = nil,
      coders: ImageCoderRegistry? = nil,
      verification: VerificationRules? = nil
    ) {
      self.policy = policy
      self.options = options
      self.isProgressive = isProgressive
      self.includesData = includesData
      (self.transformer, self.encoding) = (transformer, encoding)
      self.coders = coders
      self.verification = verification
    }
  }
}

/// The URL of a request as written, with its normal form.
struct RequestedURL {
  /// The written URL, followed by the normal form if that differs.
  let bytes: [UInt8]
  private let written: Range<Int>
  private let normalized: Range<Int>
  private let parts: URLParts

  /// Throws if it isn't an http or https URL, unless one of `loaders` can load it: then it is its own normal form.
  init(_ url: String, loaders: [any ImageLoader]) throws(InvalidURL) {
    let text = Array(url.utf8)
    written = 0..<text.count
    do throws(InvalidURL) {
      var normal: [UInt8] = []
      parts = try text.withRawBytes { text throws(InvalidURL) in
        try URLNormalizer().normalize(text, relativeTo: nil, into: &normal)
      }
      bytes = normal == text ? text : text + normal
      normalized = normal == text ? written : text.count..<bytes.count
    } catch {
      guard !url.isEmpty, loaders.contains(where: { $0.canLoad(url) }) else { throw error }
      bytes = text
      normalized = written
      parts = .empty
    }
  }

  /// Creates an entry whose bytes are at `offset` of a batch's.
  func entry(priority: LoadPriority, sequence: Int64 = 0, at offset: Int = 0) -> BatchEntry {
    BatchEntry(
      priority: priority,
      sequence: sequence,
      parts: parts,
      requestRange: offset + normalized.lowerBound..<offset + normalized.upperBound,
      writtenRange: offset + written.lowerBound..<offset + written.upperBound
    )
  }
}

/// The location of a request's image: cache, memory layer, and keys.
struct CacheLocation {
  let context: LoadContext
  /// The context of loads of the file, which may encode what others keep as pixels only; nil if nothing is transformed.
  private let fileContext: LoadContext?
  let cache: ImageCache?
  let name: ImageName
  /// The image that any credentials may get; nil if the request has none.
  let shared: ImageName?
  let shownURL: [UInt8]

  /// The location of `request`; nil if its URL or its options are invalid.
  init?(_ request: ImageRequest, _ manager: ImageManager) {
    guard manager.invalidReason(of: request) == nil else { return nil }
    var request = request
    request.cachePolicy.mode = .use
    let context = manager.context(for: request)
    do throws(InvalidURL) {
      let url = try RequestedURL(request.url, loaders: manager.loaders(for: request))
      let entry = url.entry(priority: .normal)
      (name, shared, shownURL) = url.bytes.withRawBytes { bytes in
        let identities = RequestIdentities([entry], in: bytes, context: context)
        let name = ImageName(key: identities.keys[0], identity: identities.withIdentity(0) { Array($0) })
        return (name, identities.shared(0), identities.withWrittenURL(0) { maskingCredentials($0) })
      }
    } catch {
      return nil
    }
    self.context = context
    fileContext =
      manager.transforms(request)
      ? manager.contexts.context(for: request, mode: .use, servesExpired: false, deliversFile: true) : nil
    cache = request.cachePolicy.cache ?? manager.configuration.cache
  }

  var memory: ImageMemory? { context.options.memory }

  /// The images that the request may get, before a transformer.
  var names: [ImageName] { [name, shared].compactMap(\.self) }

  /// Removes the images and all that were made of them from the memory layer.
  func forgetInMemory() {
    for name in names { memory?.removeAll(of: name.key, namespace: memoryKey.namespace) }
  }

  /// The memory layer's key of the image as requested.
  var memoryKey: MemoryKey { context.memoryKey(name.key) }

  /// The identities of the transformed image on disk: as a file, and as stored by loads of pixels; empty if nothing is transformed.
  var transformedIdentities: [[UInt8]] {
    names.flatMap { name in
      let file = fileContext?.transform?.identity(of: name.identity)
      let other = context.transform?.identity(of: name.identity)
      return (file == other ? [file] : [file, other]).compactMap(\.self)
    }
  }

  /// All identities that the request may be stored under, transformed first.
  var identities: [[UInt8]] { transformedIdentities + names.map(\.identity) }
}
