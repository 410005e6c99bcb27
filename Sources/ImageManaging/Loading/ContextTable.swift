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
  fileprivate struct Key: Hashable {
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
    let cache = request.cachePolicy.cache ?? configuration.cache
    let options = options(for: request, cache, mode: mode, servesExpired: servesExpired, deliversFile: deliversFile)
    // Contexts with coders of their own can't be compared, so they aren't shared.
    let key = request.decoding.coders == nil ? Key(request, cache, options) : nil
    if let key, let context = contexts.withLock({ $0[key]?.context }) { return context }
    var download = request.options.applied(to: configuration.options)
    download.accept = download.accept ?? options.coders?.acceptedTypes
    let now = (cache?.configuration.time ?? configuration.downloader.time).wall()
    let new = Entry(
      context: LoadContext(cache: cache, download: download, options: options, startedAt: now),
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
    if options.transformer != nil, cache != nil || deliversFile {
      options.encoding = configuration.encoding ?? (deliversFile ? TransformEncoding() : nil)
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
    (decodingPolicy, decoding, delivery) = (request.decoding.policy, options.decoding, options.delivery)
    (showsPartialImages, transformer) = (options.showsPartialImages, options.transformer?.key)
    self.options = request.options
  }
}
