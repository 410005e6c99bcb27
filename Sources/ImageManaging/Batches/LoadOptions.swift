package import ImageCaching
public import ImageCoding
package import ImageDownloading
public import ImagePrimitives
import ImageURLs

/// How a context loads, each option with its default.
package struct LoadOptions: Sendable {
  /// How the cache and the network are used.
  package var mode: CacheMode
  /// Further caches to look in, in order, after the own one.
  package var readOnly: [ReadOnlyCache]
  /// The memory layer; nil, the default: none. With one, every image is decoded and put there, unless ``keepsInMemory`` is false.
  package var memory: ImageMemory?
  /// Whether images are read from the memory layer and put there; true by default. Without it, what is stored anew is still removed there.
  package var keepsInMemory: Bool
  /// Which layers are read and written.
  package var layers: CacheLayerUse
  /// What of a URL tells images apart.
  package var keyRule: KeyRule
  /// Whether every hit's body is read and its sum checked; false by default.
  package var verifiesHits: Bool
  /// Whether what is too old is served all the same; false by default.
  package var servesExpired: Bool
  /// Whether the loads belong to a run that begins with the context: ages count from its start, and to it. False by default.
  package var isOfRun: Bool
  /// Whether what the server allows to be used while it is asked for again (`stale-while-revalidate`, RFC 5861) is served; the caller then
  /// has to ask. False by default.
  package var servesWhileRevalidating: Bool
  /// What completions bring; nothing by default.
  package var delivery: LoadDelivery
  /// What is wanted of the pixels; all frames in full size by default.
  package var decoding: DecodingOptions
  /// Whether receivers are shown the image while it arrives; false by default.
  package var showsPartialImages: Bool
  /// What is made of the decoded image; nothing by default.
  package var transformer: (any ImageTransformer)?
  /// How what the transformer made is encoded for the disk, the image as it is where there is no transformer; nil, the default: it goes there only through a
  /// ``LoadHooks/cacheSerializer``.
  package var encoding: TransformEncoding?
  /// Who decodes; nil: the manager's coders.
  package var coders: ImageCoderRegistry?
  /// Further ways to ask, each by the method of the plain one, ``LoadContext/download``; none by default. Requests name theirs by
  /// ``/ImageURLs/Entry/variant``.
  package var variants: [(RequestVariant, DownloadOptions)]
  /// Who fetches; nil: the manager's downloader.
  package var downloader: ImageDownloader?
  /// What the user decides by code.
  package var hooks: LoadHooks
  /// Whether receivers are told how many bytes have come; false by default.
  package var reportsProgress: Bool
  /// What an image must be to be good.
  package var verification: VerificationRules
  /// Which failures are remembered.
  package var blacklist: BlacklistRules
  /// Who is shown every image that came; nil, the default: nobody.
  package var observer: (any ImageObserver)?
  /// Words errors by the settings' names of the program; nil, the default: as the errors describe themselves.
  package var wording: (any Wording)?

  package init(
    mode: CacheMode = .use,
    readOnly: [ReadOnlyCache] = [],
    memory: ImageMemory? = nil,
    keepsInMemory: Bool = true,
    layers: CacheLayerUse = CacheLayerUse(),
    keyRule: KeyRule = .url,
    verifiesHits: Bool = false,
    servesExpired: Bool = false,
    isOfRun: Bool = false,
    servesWhileRevalidating: Bool = false,
    delivery: LoadDelivery = [],
    decoding: DecodingOptions = DecodingOptions(),
    showsPartialImages: Bool = false,
    transformer: (any ImageTransformer)? = nil,
    encoding: TransformEncoding? = nil,
    coders: ImageCoderRegistry? = nil,
    variants: [(RequestVariant, DownloadOptions)] = [],
    downloader: ImageDownloader? = nil,
    hooks: LoadHooks = LoadHooks(),
    reportsProgress: Bool = false,
    verification: VerificationRules = VerificationRules(),
    blacklist: BlacklistRules = BlacklistRules(),
    observer: (any ImageObserver)? = nil,
    wording: (any Wording)? = nil
  ) {
    self.mode = mode
    self.readOnly = readOnly
    self.memory = memory
    self.keepsInMemory = keepsInMemory
    self.layers = layers
    self.keyRule = keyRule
    self.verifiesHits = verifiesHits
    self.servesExpired = servesExpired
    self.isOfRun = isOfRun
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
    self.wording = wording
  }
}

/// Words errors for the users of a program, who know settings by other names than the library's.
package protocol Wording: Sendable {
  /// The sentence of a failure by a setting.
  func sentence(_ reason: FailureReason) -> String
  func sentence(_ error: CacheError) -> String
}

extension LoadContext {
  func sentence(_ error: CacheError) -> String { options.wording?.sentence(error) ?? "\(error)" }

  /// The same failure in the program's words.
  func worded(_ failure: Failure) -> Failure {
    guard let reason = failure.reason, let wording = options.wording else { return failure }
    var failure = failure
    failure.message = wording.sentence(reason)
    return failure
  }
}

/// What tells one variant's images from those of others: it goes behind the URL, which has no fragment in normal form.
struct VariantIdentity: Sendable {
  /// Whether there may be anything.
  let isAny: Bool
  private let suffix: [UInt8]
  private let isEdge: Bool
  private let connection: DownloadOptions.Connection

  /// A name with a `#` in it is a programmer's error and traps.
  init(_ variant: RequestVariant, _ connection: DownloadOptions.Connection) {
    let names = [("variant", variant.name), ("edge", variant.edge)]
    trap(unless: !names.contains { $0.1?.utf8.contains(UInt8(ascii: "#")) ?? false }, "a variant's name may hold no '#'")
    suffix = Array(names.map { key, name in name.map { "#\(key)=\($0)" } ?? "" }.joined().utf8)
    isEdge = variant.edge != nil
    self.connection = connection
    isAny = !suffix.isEmpty || !connection.connectTo.isEmpty
  }

  /// What goes behind the identity of `url`, a normalised one; nil where nothing does.
  func suffix(for url: UnsafeRawBufferPointer) -> [UInt8]? {
    if isEdge { return suffix }
    guard let target = connection.target(for: url) else { return suffix.isEmpty ? nil : suffix }
    return suffix + Array("#connect=".utf8) + target
  }
}

/// What a manager's user decides by code of their own.
///
/// A hook is called on whatever thread the load is on, under no lock, and may be called for several loads at once. It is to be quick:
/// others wait for it. URLs are as they were first written, credentials included.
public struct LoadHooks: Sendable {
  /// Whether an image that is not cached, or is to be refreshed, is asked for. False on a miss ends the load without image and
  /// without error, as ``/ImagePrimitives/Outcome/skipped``; false on a refresh serves what is cached.
  public var shouldDownload: (@Sendable (_ url: String) -> Bool)?
  /// Whether a failure is remembered on the blacklist: overrides ``BlacklistRules``.
  public var shouldBlockFailedURL: (@Sendable (_ url: String, _ failure: Failure) -> Bool)?
  /// The identity that an image is cached under, in place of the URL's own. Text that holds a secret must not come out of it.
  public var cacheKeyFilter: (@Sendable (_ url: String) -> String)?
  /// The bytes that go to disk, in place of those that came; nil: none do.
  ///
  /// `data` is nil for a transformed image, which has no bytes of its own: without a serializer or ``LoadOptions/encoding`` it stays in memory. `image` is there where
  /// the load decodes. What comes out must be an image of a format that can be probed.
  public var cacheSerializer: (@Sendable (_ url: String, _ image: DecodedImage?, _ data: [UInt8]?) -> [UInt8]?)?

  /// Hooks, of which none is set unless given.
  public init(
    shouldDownload: (@Sendable (_ url: String) -> Bool)? = nil,
    shouldBlockFailedURL: (@Sendable (_ url: String, _ failure: Failure) -> Bool)? = nil,
    cacheKeyFilter: (@Sendable (_ url: String) -> String)? = nil,
    cacheSerializer: (@Sendable (_ url: String, _ image: DecodedImage?, _ data: [UInt8]?) -> [UInt8]?)? = nil
  ) {
    self.shouldDownload = shouldDownload
    self.shouldBlockFailedURL = shouldBlockFailedURL
    self.cacheKeyFilter = cacheKeyFilter
    self.cacheSerializer = cacheSerializer
  }
}

/// Which failures are remembered, and whether a remembered URL is asked again.
public struct BlacklistRules: Sendable {
  /// Whether the blacklist is read and written at all; default true.
  public var isEnabled: Bool
  /// Whether blacklisted URLs are asked all the same; a success takes them off. Default false.
  public var retriesFailed: Bool
  /// The HTTP statuses that are for good, by default those that do not heal by themselves.
  public var statuses: [ClosedRange<Int>]

  /// Rules with the given parts, each with its default.
  public init(isEnabled: Bool = true, retriesFailed: Bool = false, statuses: [ClosedRange<Int>] = BlacklistRules.lastingStatuses)
  {
    self.isEnabled = isEnabled
    self.retriesFailed = retriesFailed
    self.statuses = statuses
  }

  /// 400, 404–406, 410–415, 417, 422 and 451: what does not heal by itself. Not 401 and 403, since one expired token
  /// would silence a whole site.
  public static let lastingStatuses: [ClosedRange<Int>] = [400...400, 404...406, 410...415, 417...417, 422...422, 451...451]

  /// Whether a failure that was final for this run is remembered for the next.
  ///
  /// Never what depends on the job, and never what may heal by itself, unless its status is named.
  func remembers(_ failure: Failure) -> Bool {
    guard isEnabled else { return false }
    switch failure.kind {
    case .httpStatus:
      guard let status = failure.status else { return false }
      return statuses.contains { $0.contains(status) }
    case .notAnImage, .empty, .undecodable:
      return true
    case .dns, .connect, .timeout, .stalled, .reset, .truncated, .hostDown, .tls,
      .redirects, .tooLarge, .contentType, .remoteCache, .refusedAddress, .robots,
      .size, .format, .dimensions, .animated, .placeholder, .invalidURL, .cacheWrite, .internal:
      return false
    }
  }
}

/// How a transformed image is written to disk.
public struct TransformEncoding: Sendable, Hashable {
  /// The format; nil: the one that ``/ImageCoding/ImageCoderRegistry/encodingFormat(for:options:)`` chooses.
  public var format: ImageFormat?
  /// Quality and limits.
  public var options: EncodingOptions

  /// An encoding; by default in the format that suits the image, of quality 85.
  public init(format: ImageFormat? = nil, options: EncodingOptions = EncodingOptions()) {
    self.format = format
    self.options = options
  }

  /// Whether it writes one frame alone, whatever the image has.
  var isStill: Bool { options.firstFrameOnly || format == .jpeg || format == .png }

  /// What tells its files from those of others, such as `encode(webp,85)`: it becomes part of the identity of what is stored, as a transformer's key does.
  public var key: String {
    var parts = [format?.name ?? "auto", "\(options.quality)"]
    if options.isLossless { parts.append("lossless") }
    if let bytes = options.maximumBytes { parts.append("max-bytes=\(bytes)") }
    if let size = options.maximumSize { parts.append("max-size=\(size.width)x\(size.height)") }
    if options.firstFrameOnly { parts.append("first-frame") }
    return "encode(\(parts.joined(separator: ",")))"
  }
}
