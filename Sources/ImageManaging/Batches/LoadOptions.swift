package import ImageCaching
package import ImageCoding
package import ImageDownloading
import ImagePrimitives
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
  /// Further ways to ask, beside the plain one of ``LoadContext/download``; none by default. Requests name theirs by
  /// ``/ImageURLs/Entry/variant``.
  package var variants: [LoadVariant]
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

  package init(
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

/// One of several ways in which a context's images are asked for, each of which brings images of its own: other request headers, or another
/// server under the same host name.
package struct LoadVariant: Sendable, Hashable {
  /// What identities call its headers: `#variant=NAME`; nil: they are the plain ones. It holds no `#`.
  package var name: String?
  /// What identities call its server: `#edge=NAME`, in place of where it connects to; nil: it is the URL's own. It holds no `#`.
  package var edge: String?
  /// How its images are fetched, by the same method as the context's plain ones.
  package var download: DownloadOptions

  /// A variant of that name, from that edge.
  package init(name: String?, edge: String? = nil, download: DownloadOptions) {
    self.name = name
    self.edge = edge
    self.download = download
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
  init(_ variant: LoadVariant) {
    let names = [("variant", variant.name), ("edge", variant.edge)]
    trap(unless: !names.contains { $0.1?.utf8.contains(UInt8(ascii: "#")) ?? false }, "a variant's name may hold no '#'")
    suffix = Array(names.map { key, name in name.map { "#\(key)=\($0)" } ?? "" }.joined().utf8)
    isEdge = variant.edge != nil
    connection = variant.download.connection
    isAny = !suffix.isEmpty || !connection.connectTo.isEmpty
  }

  /// What goes behind the identity of `url`, a normalised one; nil where nothing does.
  func suffix(for url: UnsafeRawBufferPointer) -> [UInt8]? {
    if isEdge { return suffix }
    guard let target = connection.target(for: url) else { return suffix.isEmpty ? nil : suffix }
    return suffix + Array("#connect=".utf8) + target
  }
}
