import ImageCaching
import ImageCoding
import ImageDownloading
import Base
import Synchronization

/// The contexts of single loads: requests with equal options get the same one, so that they share as much as possible.
final class ContextTable: Sendable {
  /// Above this many contexts, a new table is started; running loads keep theirs.
  private static let limit = 256

  /// The options of a request that determine its context.
  private struct Key: Hashable {
    let cache: ObjectIdentifier?
    let memory: ObjectIdentifier?
    let downloader: ObjectIdentifier?
    let mode: CacheMode
    let layers: CacheLayerUse
    let retriesFailed: Bool
    let servesExpired: Bool
    let verifiesHits: Bool
    let decodingPolicy: ImageRequest.Decoding.Policy
    let delivery: LoadDelivery
    let decoding: DecodingOptions
    let showsPartialImages: Bool
    let transformer: String?
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
  private let contexts = Mutex<[Key: Entry]>([:])

  init(_ configuration: ImageManager.Configuration, _ observation: Observation) {
    self.configuration = configuration
    self.observation = observation
  }

  /// The context of `request` in `mode`.
  ///
  /// - Parameter deliversFile: whether it delivers the file of the image as requested, and nothing else.
  func context(for request: ImageRequest, mode: CacheMode, servesExpired: Bool, deliversFile: Bool = false) -> LoadContext {
    let policy = request.cachePolicy
    let decoding = request.decoding
    let cache = policy.cache ?? configuration.cache
    var layers = policy.layers
    let isDecoded = decoding.policy == .eager && !deliversFile
    let transformer = isDecoded || deliversFile ? decoding.transformer ?? configuration.transformer : nil
    let encoding = configuration.encoding ?? (deliversFile ? TransformEncoding() : nil)
    var delivery = deliversFile ? [.data, .transformedData] : delivery(decoding)
    // The bytes are those that the disk has, whether they came from there or not.
    if transformer != nil, encoding != nil, cache != nil, delivery.contains(.data) { delivery.insert(.transformedData) }
    // Without a disk there is nothing to revalidate, but the image is requested nevertheless.
    if cache == nil, mode == .refresh || mode == .loaderOnly { (layers.reads, layers.readsOriginal) = ([], []) }
    var options = LoadOptions(
      mode: cache == nil && mode.writesDisk ? .memoryOnly : mode,
      readOnly: configuration.readOnly,
      memory: policy.memory ?? configuration.memory,
      keepsInMemory: isDecoded,
      layers: layers,
      keyRule: configuration.keyRule,
      verifiesHits: policy.verifiesHits,
      servesExpired: servesExpired,
      servesWhileRevalidating: mode == .use && !delivery.isEmpty,
      delivery: delivery,
      decoding: decodingOptions(decoding),
      showsPartialImages: decoding.isProgressive && isDecoded && !mode.refreshes,
      transformer: transformer,
      encoding: transformer == nil || cache == nil && !deliversFile ? nil : encoding,
      coders: decoding.coders ?? configuration.coders,
      downloader: request.downloader,
      hooks: configuration.hooks,
      reportsProgress: true,
      verification: decoding.verification ?? configuration.verification,
      blacklist: blacklist(policy)
    )
    options.observation = observation
    var download = request.options.applied(to: configuration.options)
    download.accept = download.accept ?? options.coders?.acceptedTypes
    // Contexts with coders of their own can't be compared, so they aren't shared.
    guard decoding.coders == nil else { return make(cache, download, options) }
    let key = Key(
      cache: cache.map { ObjectIdentifier($0) },
      memory: options.memory.map { ObjectIdentifier($0) },
      downloader: options.downloader.map { ObjectIdentifier($0) },
      mode: options.mode,
      layers: options.layers,
      retriesFailed: policy.retriesFailed,
      servesExpired: servesExpired,
      verifiesHits: options.verifiesHits,
      decodingPolicy: decoding.policy,
      delivery: delivery,
      decoding: options.decoding,
      showsPartialImages: options.showsPartialImages,
      transformer: options.transformer?.key,
      verification: options.verification,
      options: request.options
    )
    if let context = contexts.withLock({ $0[key]?.context }) { return context }
    let new = Entry(context: make(cache, download, options), request: request)
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

  private func make(_ cache: ImageCache?, _ download: DownloadOptions, _ options: LoadOptions) -> LoadContext {
    let now = (cache?.configuration.time ?? configuration.downloader.time).wall()
    return LoadContext(cache: cache, download: download, options: options, startedAt: now)
  }

  private func decodingOptions(_ decoding: ImageRequest.Decoding) -> DecodingOptions {
    var options = decoding.options
    // Partial images have the size of the final one, which can't be limited by bytes before all is known.
    if decoding.isProgressive { options.maximumBytes = nil }
    return options
  }

  private func delivery(_ decoding: ImageRequest.Decoding) -> LoadDelivery {
    switch decoding.policy {
    case .eager: decoding.includesData ? [.image, .data] : .image
    case .lazy: .data
    case .never: decoding.includesData ? .data : []
    }
  }

  private func blacklist(_ policy: ImageRequest.CachePolicy) -> BlacklistRules {
    var rules = configuration.blacklist
    if policy.retriesFailed { rules.retriesFailed = true }
    return rules
  }
}
