package import ImageCaching
package import ImageDownloading
package import Base
import Synchronization
import ImageCoding

/// The settings that one job's loads have in common: the cache, and the rules for requests, verification and the blacklist. Loads
/// share everything within one context. Loads of two contexts over one cache with the same requests share the request, and each
/// is judged by its own rules.
package final class LoadContext: Sendable {
  /// The cache to look in or to fill; nil if there is none.
  package let cache: ImageCache?
  package let download: PreparedOptions
  /// When this context was created: images that it stores are trimmed last.
  package let startedAt: Timestamp
  /// The start of its run, the reference of ages; nil if the loads don't belong to a run.
  package var runStart: Timestamp? { options.run == nil ? nil : startedAt }
  let options: LoadOptions
  let defaultHeaders: [HeaderField]
  /// How images are fetched, by ``/Base/Entry/variant``.
  private let downloads: [PreparedOptions]
  /// The same for images that are fetched whole whatever the method, since their bytes are needed.
  private let wholeDownloads: [PreparedOptions]
  private let variantIdentities: [VariantIdentity]
  let transform: TransformIdentity?
  /// Rejects images that many URLs share; nil if they are accepted.
  let placeholders: PlaceholderJudge?

  /// Whether plain requests of URLs without credentials use the URL as identity.
  let usesURLsAsIdentities: Bool
  let credentialHasher: CredentialHasher
  /// Who may get the images of this context's requests.
  let audience: ImageAudience
  /// Who the requests come from, by ``/Base/Entry/variant``, besides the credentials of each URL; empty for nobody known.
  private let senders: [String]
  private let mayShowSender: Bool
  /// The hasher of all contexts without a cache, since they may share a memory layer.
  private static let hasherWithoutCache = CredentialHasher.random()
  /// Loads whose contexts have the same object may share a request.
  let share: any AnyObject & Sendable
  /// Whether a received body must be in memory as a whole.
  let needsWholeBody: Bool
  /// Distinguishes images in memory that are made from the same original.
  let processing: String
  private let notes = Mutex(Notes())
  /// Reads the cache's index ahead; nil unless a run looks up there.
  let readAhead: RunReadAhead?

  /// The entries that a run found in its cache, which its trims remove last; nil if they remove none to save space.
  package let used: UsedEntries?

  private struct Notes {
    var trimmed = TrimResult()
    var warnings: [String] = []
    var furtherWarnings = 0
  }

  private static let warningLimit = 50

  /// The number of bytes after which a partial image is updated.
  private static let partialImageBytes = 16 << 10

  /// Creates a context; a mode that writes to disk without a cache traps. `defaultHeaders` are those that the downloader sends with all
  /// requests; none by default.
  package init(
    cache: ImageCache?,
    download: DownloadOptions,
    options: LoadOptions = .standard,
    defaultHeaders: [HeaderField] = [],
    startedAt: Timestamp
  ) {
    let usesDisk = options.mode.writesDisk || options.mode.reads
    trap(
      unless: cache != nil || !options.mode.writesDisk || !options.layers.writes.contains(.disk),
      "a load that stores images on disk requires a cache"
    )
    self.cache = usesDisk ? cache : nil
    self.defaultHeaders = defaultHeaders
    self.options = options
    readAhead = cache.flatMap { options.run != nil && options.mode.reads ? RunReadAhead($0) : nil }
    used = options.run != nil && options.mode.writesDisk && cache?.configuration.maxBodyBytes != nil ? UsedEntries() : nil
    transform = TransformIdentity(options)
    placeholders = options.verification.placeholderURLs.map { PlaceholderJudge(threshold: $0) }
    self.startedAt = startedAt
    processing = transform?.key ?? options.decoding.key
    credentialHasher = cache?.credentialHasher ?? Self.hasherWithoutCache
    let keepsOnDisk = options.mode.writesDisk && cache != nil
    // A whole body that isn't stored can't be read from a file.
    let needsPixels =
      !options.delivery.isEmpty || options.memory != nil && options.keepsInMemory || options.verification.depth == .full
    needsWholeBody = !keepsOnDisk && needsPixels || options.hooks.cacheSerializer != nil
    let (decodes, needsWholeBody) = (!options.delivery.isEmpty || options.encoding != nil, needsWholeBody)
    let judge = PrefixJudge(options.verification, decodes: decodes, coders: options.coders)
    let ways = [(RequestVariant.plain, download)] + options.variants
    trap(unless: ways.allSatisfy { $0.1.method == download.method }, "a variant must have the method of the plain requests")
    trap(unless: ways.count <= Int(UInt16.max), "a context has at most \(UInt16.max) variants, including the plain one")
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
    // Contexts with other rules share requests nevertheless: images that a judge rejects are requested again by the others.
    share = LoadSharing.object(for: cache, streamed.map(PreparedOptions.init), options) ?? LoadSharing.Token()
    downloads = streamed.map { way in PreparedOptions(way.with { $0.purpose.prefixJudge = $0.purpose.prefixJudge ?? judge }) }
    wholeDownloads =
      download.method == .get ? downloads : downloads.map { way in PreparedOptions(way.options.with { $0.method = .get }) }
    self.download = downloads[0]
    let senders = ways.map { $1.senderLines(defaults: defaultHeaders).joined(separator: "\n") }
    self.senders = senders
    mayShowSender = ways.contains { $1.credentials != nil } || senders.contains { !$0.isEmpty }
    audience = download.sharesAcrossCredentials ? .everyone : .sender(credentialHasher)
    usesURLsAsIdentities =
      options.hooks.cacheKeyFilter == nil && options.keyRule == .url && !variantIdentities[0].isAny
      && (download.sharesAcrossCredentials || download.credentials == nil && senders[0].isEmpty)
  }

  var mode: CacheMode { options.mode }
  var verification: VerificationRules { options.verification }
  var blacklist: BlacklistRules { options.blacklist }
  var layers: CacheLayerUse { options.layers }

  /// Who a request comes from, as a secret text; nil if it shows nobody.
  func sender(_ variant: UInt16, of url: UnsafeRawBufferPointer) -> String? {
    guard mayShowSender else { return nil }
    let (sender, way) = (senders[Int(variant)], download(variant))
    let line = way.credential(for: url).flatMap { way.options.senderLine($0, defaults: defaultHeaders) }
    let lines = [sender, line ?? ""].filter { !$0.isEmpty }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  /// The cache where images and failures are written.
  var writeCache: ImageCache? { mode.writesDisk ? cache : nil }
  var needsPixels: Bool { fetchesBodies && (options.delivery.contains(.image) || writesMemory) }
  /// Whether transformed images are encoded, for the disk or for their requests.
  var encodesTransformed: Bool { fetchesBodies && options.encoding != nil && (storesTransformed || deliversTransformed) }
  var storesTransformed: Bool { writeCache != nil && layers.writes.contains(.disk) }
  /// Whether requests get the bytes of the transformed image instead of the original's.
  var deliversTransformed: Bool { options.delivery.contains(.transformedData) && transform != nil }
  var decodesOriginals: Bool { needsPixels || encodesTransformed }
  /// Whether callers wait for the images themselves, not only for their storage.
  var isAwaited: Bool { !options.delivery.isEmpty }
  var needsData: Bool { fetchesBodies && options.delivery.contains(.data) }
  /// Whether images are fetched whole instead of probed.
  var fetchesBodies: Bool { download.options.method == .get }
  /// Whether the memory layer is used at all.
  var keepsInMemory: Bool { options.memory != nil && options.keepsInMemory }
  var writesMemory: Bool {
    fetchesBodies && keepsInMemory && mode.writesMemory
      && (layers.writes.contains(.memory) || transform != nil && layers.writesOriginal.contains(.memory))
  }
  /// Whether the server's freshness headers count.
  var followsHTTPFreshness: Bool { cache?.configuration.freshness == .http }
  /// Whether blacklisted URLs are requested nevertheless, if the mode allows requests.
  var retriesBlacklisted: Bool { blacklist.retriesFailed && mode != .only }
  var readsBlacklist: Bool { blacklist.isEnabled && mode != .bypass }

  /// The images that trimming has removed from the cache for this context so far.
  package var trimmed: TrimResult { notes.withLock { $0.trimmed } }

  /// Warnings about problems besides failed loads, without duplicates; the first ones, and the number of others.
  package var warnings: [String] {
    notes.withLock { $0.warnings + ($0.furtherWarnings > 0 ? ["\($0.furtherWarnings) further warnings of this kind"] : []) }
  }

  /// The outcome of a cached image: an earlier attempt of this run downloaded what was stored since its start.
  @inline(__always)
  func outcome(ofHit head: EntryHead) -> LoadOutcome {
    guard let start = options.run?.earlierAttempt else { return .hitDisk }
    return head.storedAt >= start && head.storedAt < startedAt ? .downloaded : .hitDisk
  }

  /// The result for a blacklisted URL: a failure, if an earlier attempt of this run requested it.
  func result(forKnownBad known: BlacklistHead) -> EntryResult {
    guard let start = options.run?.earlierAttempt, known.lastAt >= start, known.lastAt < startedAt else {
      return EntryResult(knownBad: known)
    }
    return EntryResult(failedBefore: known)
  }

  /// Ends reading ahead: the run has no further look-ups.
  package func endLookUps() { readAhead?.end() }

  package func recordTrim(_ result: TrimResult) {
    notes.withLock { $0.trimmed.add(result) }
    options.observation?.trimmed(result)
  }

  /// Adds a warning, unless it exists already.
  package func recordWarning(_ sentence: String) {
    let isNew = notes.withLock { notes in
      if notes.warnings.contains(sentence) { return false }
      if notes.warnings.count < Self.warningLimit { notes.warnings.append(sentence) } else { notes.furtherWarnings += 1 }
      return true
    }
    if isNew { options.observation?.warned(sentence) }
  }
}

extension LoadContext {
  /// How the images of a variant are fetched, whole if their bytes are needed; traps if the context doesn't have it.
  func download(_ variant: UInt16, whole: Bool = false) -> PreparedOptions {
    whole ? wholeDownloads[Int(variant)] : downloads[Int(variant)]
  }

  /// Whether results say how images were delivered.
  var describesDelivery: Bool { download.options.purpose.describesDelivery }

  /// The addition to the identity of `url` with that variant; nil if there is none.
  func identitySuffix(_ variant: UInt16, for url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard variantIdentities[Int(variant)].isAny else { return nil }
    return variantIdentities[Int(variant)].suffix(for: url)
  }

  /// Whether the received image is stored on disk; if the context transforms, the original.
  var keepsOriginalOnDisk: Bool {
    fetchesBodies && mode.writesDisk && (transform == nil ? layers.writes : layers.writesOriginal).contains(.disk)
  }

  /// The time by which freshness is judged.
  var now: Timestamp { cache?.configuration.time.wall() ?? TimeSource.system.wall() }

  /// The memory layer's key of the image that this context makes from the one of `key`.
  func memoryKey(_ key: CacheKey) -> MemoryKey { memoryKey(key, processing: processing) }

  /// The memory layer's key of the decoded image, before it is transformed.
  func originalMemoryKey(_ key: CacheKey) -> MemoryKey { memoryKey(key, processing: options.decoding.key) }

  func memoryKey(_ key: CacheKey, processing: String) -> MemoryKey {
    MemoryKey(namespace: cache?.path ?? "", image: key, processing: processing)
  }
}

/// Finds contexts whose loads may share a request: those that read and write one cache, and make equal requests. A load that
/// shares another context's request looks into the cache after it has ended, so the first must write the cache and the second
/// must read it.
enum LoadSharing {
  /// The object that sharing contexts have in common; it lives as long as one of them.
  final class Token: Sendable {}

  private struct Key: Hashable {
    let cache: FolderIdentity
    let downloads: [PreparedOptions]
    /// Of ``LoadOptions/variants``.
    let variants: [RequestVariant]
    let keyRule: KeyRule
  }

  private struct Weak: Sendable {
    weak let token: Token?
  }

  private static let tokens = Mutex<[Key: Weak]>([:])

  /// The object that contexts with these options share; nil if they share no requests.
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
      // Contexts are few and rarely created, so released ones are removed whenever one is added.
      tokens = tokens.filter { $0.value.token != nil }
      let token = Token()
      tokens[key] = Weak(token: token)
      return token
    }
  }
}

/// The contexts of single loads: requests with equal options get the same one, so that they share as much as possible.
final class ContextTable: Sendable {
  /// Above this many contexts, a new table is started; running loads keep theirs.
  private static let limit = 256

  /// The options of a request that determine its context.
  fileprivate struct Key: Hashable {
    let cache: ObjectIdentifier?
    let memory: ObjectIdentifier?
    let downloader: ObjectIdentifier?
    let mode: CacheMode
    let layers: CacheLayerUse
    let retriesFailed: Bool
    let servesExpired: Bool
    let faults: FaultRules
    let verifiesHits: Bool
    let decodingPolicy: ImageRequest.Decoding.Policy
    let delivery: LoadDelivery
    let decoding: DecodingOptions
    let showsPartialImages: Bool
    let transformer: String?
    let encoding: TransformEncoding?
    let verification: VerificationRules
    let options: DownloadOptions.Changes
  }

  /// A context, and the request that retains the objects named by its key.
  private struct Entry {
    let context: LoadContext
    let request: ImageRequest
  }

  private let configuration: ImageManager.Configuration
  private let observation: Observation
  /// The headers of the manager's downloader.
  private let defaultHeaders: [HeaderField]
  private let contexts = Mutex<[Key: Entry]>([:])

  init(_ configuration: ImageManager.Configuration, _ observation: Observation) {
    self.configuration = configuration
    defaultHeaders = configuration.sharedDownloader?.headers ?? configuration.downloader.headers
    self.observation = observation
  }

  /// The context of `request` in `mode`.
  ///
  /// - Parameter deliversFile: whether it delivers the file of the image as requested, and nothing else.
  func context(for request: ImageRequest, mode: CacheMode, servesExpired: Bool, deliversFile: Bool = false) -> LoadContext {
    let cache = request.cachePolicy.cache ?? configuration.cache
    let options = options(for: request, cache, mode: mode, servesExpired: servesExpired, deliversFile: deliversFile)
    // Contexts with coders of their own can't be compared, so they aren't shared.
    let key = request.decoding.coders == nil ? Key(request, cache, options) : nil
    if let key, let context = contexts.withLock({ $0[key]?.context }) { return context }
    var download = request.options.applied(to: configuration.options)
    download.accept = download.accept ?? options.coders?.acceptedTypes
    let now = (cache?.configuration.time ?? configuration.downloader.time).wall()
    let new = Entry(
      context: LoadContext(
        cache: cache,
        download: download,
        options: options,
        defaultHeaders: request.downloader?.headers ?? defaultHeaders,
        startedAt: now
      ),
      request: request
    )
    guard let key else { return new.context }
    let (context, _) = contexts.withLock { contexts in
      if let entry = contexts[key] { return (entry.context, [Key: Entry]()) }
      var dropped: [Key: Entry] = [:]
      if contexts.count >= Self.limit { swap(&contexts, &dropped) }
      contexts[key] = new
      // The caller releases them, outside of the lock: releasing the last reference to a downloader waits for its thread.
      return (new.context, dropped)
    }
    return context
  }

  /// The manager's settings with the request's changes.
  private func options(
    for request: ImageRequest,
    _ cache: ImageCache?,
    mode: CacheMode,
    servesExpired: Bool,
    deliversFile: Bool
  ) -> LoadOptions {
    let (policy, decoding) = (request.cachePolicy, request.decoding)
    let isDecoded = decoding.policy == .eager && !deliversFile
    var options = LoadOptions(
      mode: cache == nil && mode.writesDisk ? .memoryOnly : mode,
      readOnly: configuration.readOnly,
      memory: policy.memory ?? configuration.memory,
      keepsInMemory: isDecoded,
      layers: policy.layers,
      keyRule: configuration.keyRule,
      verifiesHits: policy.verifiesHits,
      servesExpired: servesExpired,
      decoding: decoding.options,
      showsPartialImages: decoding.isProgressive && isDecoded && !mode.refreshes,
      transformer: isDecoded || deliversFile ? decoding.transformer ?? configuration.transformer : nil,
      coders: decoding.coders ?? configuration.coders,
      downloader: request.downloader,
      hooks: configuration.hooks,
      reportsProgress: true,
      verification: decoding.verification ?? configuration.verification,
      blacklist: configuration.blacklist
    )
    options.observation = observation
    if policy.retriesFailed { options.blacklist.retriesFailed = true }
    // Without a disk there is nothing to revalidate, but the image is requested nevertheless.
    if cache == nil, mode == .refresh || mode == .loaderOnly { (options.layers.reads, options.layers.readsOriginal) = ([], []) }
    // Partial images have the size of the final one, which can't be limited by bytes before all is known.
    if decoding.isProgressive { options.decoding.maximumBytes = nil }
    if isDecoded || deliversFile, cache != nil || deliversFile {
      let others = options.transformer == nil ? nil : configuration.encoding ?? (deliversFile ? TransformEncoding() : nil)
      options.encoding = decoding.encoding ?? others
    }
    options.delivery =
      switch decoding.policy {
      case _ where deliversFile: [.data, .transformedData]
      case .eager: decoding.includesData ? [.image, .data] : .image
      case .lazy: .data
      case .never: decoding.includesData ? .data : []
      }
    // The bytes are those that the disk has, whether they came from there or not.
    if options.encoding != nil, cache != nil, options.delivery.contains(.data) { options.delivery.insert(.transformedData) }
    options.faults.requiresStoring = policy.requiresStoring || options.delivery.isEmpty
    options.faults.servesStale = policy.servesStaleOnError && mode == .use
    return options
  }
}

extension ContextTable.Key {
  fileprivate init(_ request: ImageRequest, _ cache: ImageCache?, _ options: LoadOptions) {
    self.cache = cache.map { ObjectIdentifier($0) }
    memory = options.memory.map { ObjectIdentifier($0) }
    downloader = options.downloader.map { ObjectIdentifier($0) }
    (mode, layers, verification) = (options.mode, options.layers, options.verification)
    (retriesFailed, servesExpired, verifiesHits) = (
      request.cachePolicy.retriesFailed, options.servesExpired, options.verifiesHits
    )
    faults = options.faults
    (decodingPolicy, decoding, delivery) = (request.decoding.policy, options.decoding, options.delivery)
    (showsPartialImages, transformer, encoding) = (options.showsPartialImages, options.transformer?.key, options.encoding)
    self.options = request.options
  }
}
