package import ImageCaching
package import ImageDownloading
package import ImagePrimitives
import Synchronization

/// What one job asks of its loads: the cache, and the rules for requests, verification and the blacklist.
///
/// Loads share everything within one context. Loads of two contexts over one cache whose requests are the same share the request, and
/// each is judged by its own rules.
package final class LoadContext: Sendable {
  /// The cache; nil where there is none to look in or to fill.
  package let cache: ImageCache?
  /// How images are fetched.
  package let download: PreparedOptions
  /// When this context was made: what it stores is trimmed last.
  package let startedAt: Timestamp
  /// When its run began, from and to which ages count; nil if the loads belong to no run.
  package var runStart: Timestamp? { options.isOfRun ? startedAt : nil }
  let options: LoadOptions
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
  /// Reads the cache's index ahead; nil unless a run looks up there.
  let readAhead: RunReadAhead?

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
  package init(cache: ImageCache?, download: DownloadOptions, options: LoadOptions = LoadOptions(), startedAt: Timestamp) {
    let usesDisk = options.mode.writesDisk || options.mode.reads
    trap(
      unless: cache != nil || !options.mode.writesDisk || !options.layers.writes.contains(.disk),
      "a load that keeps images on disk needs a cache"
    )
    self.cache = usesDisk ? cache : nil
    self.options = options
    readAhead = cache.flatMap { options.isOfRun && options.mode.reads ? RunReadAhead($0) : nil }
    transform = TransformIdentity(options)
    placeholders = options.verification.placeholderURLs.map { PlaceholderJudge(threshold: $0) }
    self.startedAt = startedAt
    processing = transform?.key ?? options.decoding.key
    credentialHasher = cache?.credentialHasher ?? Self.hasherWithoutCache
    let keepsOnDisk = options.mode.writesDisk && cache != nil
    // A body that is needed whole and not kept has no file to be read from.
    let needsPixels =
      !options.delivery.isEmpty || options.memory != nil && options.keepsInMemory || options.verification.depth == .full
    needsWholeBody = !keepsOnDisk && needsPixels || options.hooks.cacheSerializer != nil
    let (decodes, needsWholeBody) = (!options.delivery.isEmpty || options.encoding != nil, needsWholeBody)
    let judge = PrefixJudge(options.verification, decodes: decodes, coders: options.coders)
    let ways = [(RequestVariant.plain, download)] + options.variants
    trap(unless: ways.allSatisfy { $0.1.method == download.method }, "a variant asks by the method of the plain requests")
    trap(unless: ways.count <= Int(UInt16.max), "a context has at most \(UInt16.max) ways to ask")
    variantIdentities = ways.map { VariantIdentity($0, $1.connection) }
    let streamed = ways.map { _, way in
      if options.showsPartialImages {
        way.with { ($0.streamAbove, $0.chunkBytes) = (0, Self.partialImageBytes) }
      } else if needsWholeBody {
        way.with { $0.streamAbove = .max }
      } else {
        way
      }
    }
    // Contexts of other rules share requests all the same: what a judge refuses is asked for again by who does not.
    share = LoadSharing.object(for: cache, streamed.map(PreparedOptions.init), options) ?? LoadSharing.Token()
    downloads = streamed.map { way in PreparedOptions(way.with { $0.prefixJudge = $0.prefixJudge ?? judge }) }
    self.download = downloads[0]
    usesURLsAsIdentities =
      options.hooks.cacheKeyFilter == nil && options.keyRule == .url && download.credentials == nil && !variantIdentities[0].isAny
  }

  var mode: CacheMode { options.mode }
  var verification: VerificationRules { options.verification }
  var blacklist: BlacklistRules { options.blacklist }
  var layers: CacheLayerUse { options.layers }

  /// The cache where images and failures are written.
  var writeCache: ImageCache? { mode.writesDisk ? cache : nil }
  /// Whether the image's pixels are needed.
  var needsPixels: Bool { fetchesBodies && (options.delivery.contains(.image) || writesMemory) }
  /// Whether what is made of an image is encoded for the disk.
  var encodesTransformed: Bool { fetchesBodies && options.encoding != nil && writeCache != nil && layers.writes.contains(.disk) }
  /// Whether images that are not transformed yet are decoded.
  var decodesOriginals: Bool { needsPixels || encodesTransformed }
  /// Whether the bytes of the body are.
  var needsData: Bool { fetchesBodies && options.delivery.contains(.data) }
  /// Whether images are fetched whole, and not only probed.
  var fetchesBodies: Bool { download.options.method == .get }
  /// Whether the memory layer is used at all.
  var keepsInMemory: Bool { options.memory != nil && options.keepsInMemory }
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
  package var trimmed: TrimResult { notes.withLock { $0.trimmed } }

  /// Sentences on what went wrong beside the loads themselves, each once; the first ones, and how many there were beside them.
  package var warnings: [String] {
    notes.withLock { $0.warnings + ($0.furtherWarnings > 0 ? ["\($0.furtherWarnings) further warnings of this kind"] : []) }
  }

  /// Ends reading ahead: the run has no further look-ups.
  package func endLookUps() { readAhead?.end() }

  /// Adds what a trim removed.
  package func recordTrim(_ result: TrimResult) {
    notes.withLock { notes in
      notes.trimmed.expired += result.expired
      notes.trimmed.trimmed += result.trimmed
      notes.trimmed.evictedProtected += result.evictedProtected
      notes.trimmed.bytesRemoved += result.bytesRemoved
    }
  }

  /// Adds a warning, unless it is there already.
  package func recordWarning(_ sentence: String) {
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
  func originalMemoryKey(_ key: CacheKey) -> MemoryKey { memoryKey(key, processing: options.decoding.key) }

  func memoryKey(_ key: CacheKey, processing: String) -> MemoryKey {
    MemoryKey(namespace: cache?.path ?? "", image: key, processing: processing)
  }
}

/// Finds the contexts whose loads may share a request: those over one cache that write and read it, and ask in the same way.
///
/// Whoever shares another context's request looks into the cache when that has ended, so there must be one, written by the first and
/// read by the second.
enum LoadSharing {
  /// What contexts that share have in common; it lives as long as one of them.
  final class Token: Sendable {}

  private struct Key: Hashable {
    let cache: FolderIdentity
    let downloads: [PreparedOptions]
    /// Those of ``LoadOptions/variants``.
    let variants: [RequestVariant]
    let keyRule: KeyRule
  }

  private struct Weak: Sendable {
    weak let token: Token?
  }

  private static let tokens = Mutex<[Key: Weak]>([:])

  /// The object that contexts of these options share; nil where they share with nobody.
  static func object(for cache: ImageCache?, _ downloads: [PreparedOptions], _ options: LoadOptions) -> Token? {
    guard let cache, options.mode.writesDisk, options.mode.reads, options.hooks.cacheKeyFilter == nil else { return nil }
    guard options.downloader == nil else { return nil }
    let key = Key(
      cache: cache.folderIdentity,
      downloads: downloads,
      variants: options.variants.map(\.0),
      keyRule: options.keyRule
    )
    return tokens.withLock { tokens in
      if let token = tokens[key]?.token { return token }
      // Contexts are few, and made seldom: those that are gone are found whenever one is added.
      tokens = tokens.filter { $0.value.token != nil }
      let token = Token()
      tokens[key] = Weak(token: token)
      return token
    }
  }
}
