public import ImageCaching
public import ImageCoding
public import ImageDownloading
public import ImagePrimitives
import Synchronization

/// What one job asks of its loads: the cache, and the rules for requests, verification and the blacklist.
///
/// Loads share everything within one context. Loads of two contexts over one cache whose requests are the same share the request, and
/// each is judged by its own rules.
public final class LoadContext: Sendable {
  /// The parts of a context, each with its default.
  public struct Parts: Sendable {
    /// How the cache and the network are used.
    public var mode: CacheMode
    /// Further caches to look in, in order, after the own one.
    public var readOnly: [ReadOnlyCache]
    /// The memory layer; nil, the default: none. With one, every image is decoded and put there, unless ``keepsInMemory`` is false.
    public var memory: ImageMemory?
    /// Whether images are read from the memory layer and put there; true by default. Without it, what is stored anew is still removed there.
    public var keepsInMemory: Bool
    /// Which layers are read and written.
    public var layers: CacheLayerUse
    /// What of a URL tells images apart.
    public var keyRule: KeyRule
    /// Whether every hit's body is read and its sum checked; false by default.
    public var verifiesHits: Bool
    /// Whether what is too old is served all the same; false by default.
    public var servesExpired: Bool
    /// Whether what the server allows to be used while it is asked for again (`stale-while-revalidate`, RFC 5861) is served; the caller then
    /// has to ask. False by default.
    public var servesWhileRevalidating: Bool
    /// What completions bring; nothing by default.
    public var delivery: LoadDelivery
    /// What is wanted of the pixels; all frames in full size by default.
    public var decoding: DecodingOptions
    /// Whether receivers are shown the image while it arrives; false by default.
    public var showsPartialImages: Bool
    /// What is made of the decoded image; nothing by default.
    public var transformer: (any ImageTransformer)?
    /// How what the transformer made is encoded for the disk, the image as it is where there is no transformer; nil, the default: it goes there only through a
    /// ``LoadHooks/cacheSerializer``.
    public var encoding: TransformEncoding?
    /// Who decodes; nil: the manager's coders.
    public var coders: ImageCoderRegistry?
    /// Further ways to ask, beside the plain one of ``LoadContext/download``; none by default. Requests name theirs by
    /// ``/ImageURLs/Entry/variant``.
    public var variants: [LoadVariant]
    /// Who fetches; nil: the manager's downloader.
    public var downloader: ImageDownloader?
    /// What the user decides by code.
    public var hooks: LoadHooks
    /// Whether receivers are told how many bytes have come; false by default.
    public var reportsProgress: Bool
    /// What an image must be to be good.
    public var verification: VerificationRules
    /// Which failures are remembered.
    public var blacklist: BlacklistRules
    /// Who is shown every image that came; nil, the default: nobody.
    public var observer: (any ImageObserver)?

    /// The defaults.
    public init(
      mode: CacheMode = .use,
      readOnly: [ReadOnlyCache] = [],
      memory: ImageMemory? = nil,
      keepsInMemory: Bool = true,
      layers: CacheLayerUse = CacheLayerUse(),
      keyRule: KeyRule = .url,
      verifiesHits: Bool = false,
      servesExpired: Bool = false,
      servesWhileRevalidating: Bool = false,
      delivery: LoadDelivery = [],
      decoding: DecodingOptions = DecodingOptions(),
      showsPartialImages: Bool = false,
      transformer: (any ImageTransformer)? = nil,
      encoding: TransformEncoding? = nil,
      coders: ImageCoderRegistry? = nil,
      variants: [LoadVariant] = [],
      downloader: ImageDownloader? = nil,
      hooks: LoadHooks = LoadHooks(),
      reportsProgress: Bool = false,
      verification: VerificationRules = VerificationRules(),
      blacklist: BlacklistRules = BlacklistRules(),
      observer: (any ImageObserver)? = nil
    ) {
      self.mode = mode
      self.readOnly = readOnly
      self.memory = memory
      self.keepsInMemory = keepsInMemory
      self.layers = layers
      self.keyRule = keyRule
      self.verifiesHits = verifiesHits
      self.servesExpired = servesExpired
      self.servesWhileRevalidating = servesWhileRevalidating
      self.delivery = delivery
      self.decoding = decoding
      self.showsPartialImages = showsPartialImages
      self.transformer = transformer
      self.encoding = encoding
      self.coders = coders
      self.variants = variants
      self.downloader = downloader
      self.hooks = hooks
      self.reportsProgress = reportsProgress
      self.verification = verification
      self.blacklist = blacklist
      self.observer = observer
    }
  }

  /// The cache; nil where there is none to look in or to fill.
  public let cache: ImageCache?
  /// How images are fetched.
  public let download: PreparedOptions
  /// When the run of this context began: what it stores is trimmed last.
  public let startedAt: Timestamp
  let parts: Parts
  /// How images are fetched, by ``/ImageURLs/Entry/variant``.
  private let downloads: [PreparedOptions]
  /// What tells their images apart, likewise.
  private let variantIdentities: [VariantIdentity]
  /// What is made of the images; nil where they stay as they are.
  let transform: TransformIdentity?
  /// Who refuses images that stand for many URLs; nil where they are good.
  let placeholders: PlaceholderJudge?

  /// Whether URLs without user name and password are their own identities where they are asked for in the plain way.
  let usesURLsAsIdentities: Bool
  /// Hashes the credentials of URLs for their identities.
  let credentialHasher: CredentialHasher
  /// The same for all that have no cache, as a memory layer may be shared by any of them.
  private static let hasherWithoutCache = CredentialHasher.random()
  /// Loads whose contexts have the same object may share a request.
  let share: any AnyObject & Sendable
  /// Whether a body must be in memory as a whole once it has come.
  let needsWholeBody: Bool
  /// What tells images in memory apart that are made of the same one.
  let processing: String
  private let notes = Mutex(Notes())

  private struct Notes {
    var trimmed = TrimResult()
    var warnings: [String] = []
    var furtherWarnings = 0
  }

  /// So many warnings are kept, and the others counted.
  private static let warningLimit = 50

  /// After so many bytes there may be more of an image to be shown.
  private static let partialImageBytes = 16 << 10

  /// A context; a mode that writes to disk without a cache is a programmer's error and traps.
  public init(cache: ImageCache?, download: DownloadOptions, parts: Parts = Parts(), startedAt: Timestamp) {
    let usesDisk = parts.mode.writesDisk || parts.mode.reads
    trap(
      unless: cache != nil || !parts.mode.writesDisk || !parts.layers.writes.contains(.disk),
      "a load that keeps images on disk needs a cache"
    )
    self.cache = usesDisk ? cache : nil
    self.parts = parts
    transform = TransformIdentity(parts)
    placeholders = parts.verification.placeholderURLs.map { PlaceholderJudge(threshold: $0) }
    self.startedAt = startedAt
    processing = transform?.key ?? parts.decoding.key
    credentialHasher = cache?.credentialHasher ?? Self.hasherWithoutCache
    let keepsOnDisk = parts.mode.writesDisk && cache != nil
    // A body that is needed whole and not kept has no file to be read from.
    let needsPixels = !parts.delivery.isEmpty || parts.memory != nil && parts.keepsInMemory || parts.verification.depth == .full
    needsWholeBody = !keepsOnDisk && needsPixels || parts.hooks.cacheSerializer != nil
    let (decodes, needsWholeBody) = (!parts.delivery.isEmpty || parts.encoding != nil, needsWholeBody)
    let judge = PrefixJudge(parts.verification, decodes: decodes, coders: parts.coders)
    let ways = [LoadVariant(name: nil, download: download)] + parts.variants
    trap(unless: ways.allSatisfy { $0.download.method == download.method }, "a variant asks by the method of the plain requests")
    trap(unless: ways.count <= Int(UInt16.max), "a context has at most \(UInt16.max) ways to ask")
    variantIdentities = ways.map(VariantIdentity.init)
    let streamed = ways.map { way in
      if parts.showsPartialImages {
        way.download.with { ($0.streamAbove, $0.chunkBytes) = (0, Self.partialImageBytes) }
      } else if needsWholeBody {
        way.download.with { $0.streamAbove = .max }
      } else {
        way.download
      }
    }
    // Contexts of other rules share requests all the same: what a judge refuses is asked for again by who does not.
    share = LoadSharing.object(for: cache, streamed.map(PreparedOptions.init), parts) ?? LoadSharing.Token()
    downloads = streamed.map { way in PreparedOptions(way.with { $0.prefixJudge = $0.prefixJudge ?? judge }) }
    self.download = downloads[0]
    usesURLsAsIdentities =
      parts.hooks.cacheKeyFilter == nil && parts.keyRule == .url && download.credentials == nil && !variantIdentities[0].isAny
  }

  var mode: CacheMode { parts.mode }
  var verification: VerificationRules { parts.verification }
  var blacklist: BlacklistRules { parts.blacklist }
  var layers: CacheLayerUse { parts.layers }

  /// The cache where images and failures are written.
  var writeCache: ImageCache? { mode.writesDisk ? cache : nil }
  /// Whether the image's pixels are needed.
  var needsPixels: Bool { fetchesBodies && (parts.delivery.contains(.image) || writesMemory) }
  /// Whether what is made of an image is encoded for the disk.
  var encodesTransformed: Bool { fetchesBodies && parts.encoding != nil && writeCache != nil && layers.writes.contains(.disk) }
  /// Whether images that are not transformed yet are decoded.
  var decodesOriginals: Bool { needsPixels || encodesTransformed }
  /// Whether the bytes of the body are.
  var needsData: Bool { fetchesBodies && parts.delivery.contains(.data) }
  /// Whether images are fetched whole, and not only probed.
  var fetchesBodies: Bool { download.options.method == .get }
  /// Whether the memory layer is used at all.
  var keepsInMemory: Bool { parts.memory != nil && parts.keepsInMemory }
  /// Whether images are put into the memory layer.
  var writesMemory: Bool {
    fetchesBodies && keepsInMemory && mode.writesMemory
      && (layers.writes.contains(.memory) || transform != nil && layers.writesOriginal.contains(.memory))
  }
  /// Whether the server's word on freshness counts.
  var followsHTTPFreshness: Bool { cache?.configuration.freshness == .http }
  /// Whether what is on the blacklist is asked for all the same, or would be.
  var retriesBlacklisted: Bool { blacklist.retriesFailed && mode != .only }
  /// Whether the blacklist is read.
  var readsBlacklist: Bool { blacklist.isEnabled && mode != .bypass }

  /// What trimming has removed from the cache on behalf of this context so far.
  public var trimmed: TrimResult { notes.withLock { $0.trimmed } }

  /// Sentences on what went wrong beside the loads themselves, each once; the first ones, and how many there were beside them.
  public var warnings: [String] {
    notes.withLock { $0.warnings + ($0.furtherWarnings > 0 ? ["\($0.furtherWarnings) further warnings of this kind"] : []) }
  }

  /// Adds what a trim removed.
  public func recordTrim(_ result: TrimResult) {
    notes.withLock { notes in
      notes.trimmed.expired += result.expired
      notes.trimmed.trimmed += result.trimmed
      notes.trimmed.evictedProtected += result.evictedProtected
      notes.trimmed.bytesRemoved += result.bytesRemoved
    }
  }

  /// Adds a warning, unless it is there already.
  public func recordWarning(_ sentence: String) {
    notes.withLock { notes in
      if notes.warnings.contains(sentence) { return }
      if notes.warnings.count < Self.warningLimit { notes.warnings.append(sentence) } else { notes.furtherWarnings += 1 }
    }
  }
}

extension LoadContext {
  /// How the images of a variant are fetched; one that the context has not is a programmer's error and traps.
  func download(_ variant: UInt16) -> PreparedOptions { downloads[Int(variant)] }

  /// What goes behind the identity of `url` with that variant; nil where nothing does.
  func identitySuffix(_ variant: UInt16, for url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard variantIdentities[Int(variant)].isAny else { return nil }
    return variantIdentities[Int(variant)].suffix(for: url)
  }

  /// Whether the image that came is kept on disk; where the context transforms, that is the original.
  var keepsOriginalOnDisk: Bool {
    fetchesBodies && mode.writesDisk && (transform == nil ? layers.writes : layers.writesOriginal).contains(.disk)
  }

  /// The time by which freshness is judged.
  var now: Timestamp { cache?.configuration.time.wall() ?? TimeSource.system.wall() }

  /// The name in the memory layer of the image that this context makes of the one of `key`.
  func memoryKey(_ key: CacheKey) -> MemoryKey { memoryKey(key, processing: processing) }

  /// The name there of what is decoded of it, before it is transformed.
  func originalMemoryKey(_ key: CacheKey) -> MemoryKey { memoryKey(key, processing: parts.decoding.key) }

  func memoryKey(_ key: CacheKey, processing: String) -> MemoryKey {
    MemoryKey(namespace: cache?.path ?? "", image: key, processing: processing)
  }
}
