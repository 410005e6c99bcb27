public import ImageCaching
public import ImageCoding
public import ImageDownloading
package import Base
import Synchronization

/// Loads images from memory, from disk, or from the network into both.
///
/// ```
///  Entry           created by the reader, one per row; an EntryBatch holds many
///    │ BatchLookUp            caller's thread, one read transaction; a hit or a blacklisted URL ends here
///    ▼
///  Flight          one per identity, with a Waiter for each Entry that requests it
///    │ Download               transfer thread
///    ▼
///  Response        the server's response
///    │ BodyProcessor          store thread; coding threads if it decodes or transforms
///    ▼
///  Judged          the response and its body, with the results of verification and transformer, or the failure
///    │ CommitBatch            store thread, one synced transaction for many
///    ▼
///  Committed       the stored record
///    │ FlightDelivery         store thread
///    ▼
///  LoadCompletion  for each Waiter, with its Entry, to its LoadReceiver
/// ```
///
/// A batch is looked up on the caller's thread, which gets decided entries at once. The others become flights: one per identity, shared
/// by all requests for it until its result is committed. ``image(for:)`` and ``load(_:)`` load batches of one. The
/// blacklist affects requests only: cached images are served, blacklisted or not.
public final class ImageManager: Sendable {
  public struct Configuration: Sendable {
    /// The disk cache of single images; nil (the default): memory only.
    public var cache: ImageCache?
    /// Further caches to look in, in order.
    public var readOnly: [ReadOnlyCache]
    /// The memory layer of single images; none by default.
    public var memory: ImageMemory?
    /// The limits and sources of the manager's own downloader.
    public var downloader: ImageDownloader.Configuration
    /// A downloader that managers share, instead of one with ``downloader``; nil by default.
    public var sharedDownloader: ImageDownloader?
    /// How images are fetched, as far as a request doesn't change it by ``ImageRequest/options``.
    public var options: DownloadOptions
    /// Memory that the coding threads share for pixels and working memory; ``/ImageCoding/DecodingBudget/standard`` by default.
    public var decodingBudget: DecodingBudget
    /// The coders of formats; `ImageCoderRegistry.standard` by default.
    public var coders: ImageCoderRegistry
    /// The part of a URL that identifies a single image.
    public var keyRule: KeyRule
    /// Transforms every single image; none by default.
    public var transformer: (any ImageTransformer)?
    /// How transformed images are encoded for the disk; nil (the default): they are kept in memory only.
    public var encoding: TransformEncoding?
    /// The requirements on single images.
    public var verification: VerificationRules
    /// Which failures of single images are remembered.
    public var blacklist: BlacklistRules
    /// Decisions by code, for single images.
    public var hooks: LoadHooks
    /// Receive the events of single loads and prefetchers; none by default.
    public var observers: [Observer]

    public init(
      cache: ImageCache? = nil,
      readOnly: [ReadOnlyCache] = [],
      memory: ImageMemory? = nil,
      downloader: ImageDownloader.Configuration = ImageDownloader.Configuration(),
      sharedDownloader: ImageDownloader? = nil,
      options: DownloadOptions = DownloadOptions(),
      decodingBudget: DecodingBudget = .standard,
      coders: ImageCoderRegistry = .standard,
      keyRule: KeyRule = .url,
      transformer: (any ImageTransformer)? = nil,
      encoding: TransformEncoding? = nil,
      verification: VerificationRules = VerificationRules(),
      blacklist: BlacklistRules = BlacklistRules(),
      hooks: LoadHooks = LoadHooks(),
      observers: [Observer] = []
    ) {
      self.cache = cache
      self.readOnly = readOnly
      self.memory = memory
      self.downloader = downloader
      self.sharedDownloader = sharedDownloader
      self.options = options
      self.decodingBudget = decodingBudget
      self.coders = coders
      self.keyRule = keyRule
      self.transformer = transformer
      self.encoding = encoding
      self.verification = verification
      self.blacklist = blacklist
      self.hooks = hooks
      self.observers = observers
    }

    /// What is wrong with it, in one sentence without secrets; nil if it can be used.
    var invalidReason: String? {
      downloader.invalidReason ?? options.invalidReason.map { "options: \($0)" } ?? verification.invalidReason
    }
  }

  public let configuration: Configuration
  /// The downloader, whose limits may be changed while it runs.
  public let downloader: ImageDownloader

  let dispatcher: FlightDispatcher
  let contexts: ContextTable
  let observation: Observation
  private let coding: CodingThreads
  private let upkeep = CacheUpkeep()
  private let store: WorkerThread
  private let claim: CacheClaim?
  /// Set when all threads have ended their work.
  private let ended = OneShot<Void>()

  /// Starts the manager's threads. Throws if a value of the configuration can't be used, libcurl lacks features, the system provides no threads, or another manager in this
  /// process has the same cache open with other rules, since each would trim and expire images that the other keeps.
  public init(_ configuration: Configuration) throws(ImageManagerError) {
    if let reason = configuration.invalidReason { throw .invalidConfiguration(reason) }
    claim = try configuration.cache.map { cache throws(ImageManagerError) in try CacheClaim(cache) }
    do throws(DownloaderError) {
      downloader =
        if let shared = configuration.sharedDownloader { shared } else { try ImageDownloader(configuration.downloader) }
    } catch {
      throw .downloader(error)
    }
    self.configuration = configuration
    observation = Observation(configuration.observers)
    contexts = ContextTable(configuration, observation)
    let ownDownloader = configuration.sharedDownloader == nil ? downloader : nil
    do throws(ThreadError) {
      coding = try CodingThreads(meter: downloader.pipeline)
      let inbox = StoreInbox(meter: downloader.pipeline)
      dispatcher = FlightDispatcher(inbox: inbox, downloader: downloader, helpers: coding)
      store = try WorkerThread(name: "store") { [dispatcher, coding, upkeep, configuration, ended] in
        let (coders, budget) = (configuration.coders, configuration.decodingBudget)
        StoreLoop(dispatcher: dispatcher, coders: coders, budget: budget, coding: coding, upkeep: upkeep).run()
        coding.close()
        coding.join()
        ownDownloader?.shutDown()
        ended.set(())
      }
    } catch {
      throw .noThread("\(error)")
    }
  }

  /// Starts a manager with the usual parts: the disk cache in ``/ImageCaching/ImageCache/defaultDirectory(environment:)``, and a memory
  /// layer of 256 MiB.
  public convenience init() throws(ImageManagerError) {
    let cache: ImageCache
    do throws(CacheError) { cache = try ImageCache() } catch { throw .cache(error) }
    try self.init(.standard(cache))
  }

  deinit {
    // The threads end by themselves and aren't joined, as this may be one of them.
    dispatcher.close()
  }

  /// Ends all threads, and waits for that: transfers are cut off, received images are judged and committed, and every load
  /// completes. Loads that this cuts off, and all later ones, throw ``ImageLoadError/shutDown``. A released manager shuts down
  /// without waiting.
  public func shutDown() async {
    dispatcher.close()
    await ended.value()
  }

  /// As the asynchronous form, but blocks the calling thread. A callback of a load (a completion, a hook, a transformer) would
  /// wait for itself, so a shutdown by one traps.
  func shutDownBlocking() {
    let isCallback = store.isCurrent || coding.haveCurrent || dispatcher.isHeldUpByCurrentThread
    trap(unless: !isCallback, "a manager can't be shut down in one of its callbacks: it would deadlock")
    dispatcher.close()
    store.join()
  }

  /// Loads a batch; only copies of entries that aren't decided at once are kept after the call, and `receiver` gets their
  /// completions.
  ///
  /// - Parameter decided: called on this thread, before this returns, with the index of each decided entry: hits, blacklisted
  ///   ones, and misses if the mode allows no requests.
  /// - Returns: false after a shutdown; then every entry is decided as cancelled.
  /// - Throws: if the cache can't be read; entries that haven't started by then are decided as cancelled.
  @discardableResult
  package func load(
    _ batch: EntryBatch,
    context: LoadContext,
    receiver: any LoadReceiver,
    decided: (Int, LoadCompletion) -> Void
  ) throws(CacheError) -> Bool {
    try dispatcher.load(batch, context: context, receiver: receiver, decided: decided)
  }

  /// Cancels the requests of `receiver` that `isMeant` selects, with `includingRunning` also those in flight; each completes
  /// once. Flights that others share continue for them.
  package func cancelAll(for receiver: any LoadReceiver, includingRunning: Bool, where isMeant: (Entry) -> Bool = { _ in true }) {
    let stopped = dispatcher.flights.stop(includingRunning ? .now : .nothingNew, for: receiver, where: isMeant)
    dispatcher.cancelDownloads(stopped.numbers, includingRunning: includingRunning)
    guard !stopped.left.isEmpty else { return }
    receiver.complete(stopped.left.map { ($0, LoadCompletion(EntryResult(.cancelled))) })
  }

  /// Cancels all loads of this manager; each completes once, as cancelled.
  public func cancelAll() { dispatcher.cancelDownloads(dispatcher.flights.stopAll(), includingRunning: true) }

  /// Whether it was shut down, so that every load throws ``ImageLoadError/shutDown``.
  public var isShutDown: Bool { dispatcher.isClosed }

  /// Waits until no cache is trimmed, so that a run can count what was removed.
  package func finishTrimming() { upkeep.finish() }

  public var isRunning: Bool { dispatcher.flights.count > 0 }
}

/// Why a manager couldn't be created.
public enum ImageManagerError: Error, Sendable, Equatable {
  /// The cache of ``ImageManager/init()`` can't be opened.
  case cache(CacheError)
  /// The downloader couldn't be created.
  case downloader(DownloaderError)
  /// Another manager of this process has the cache in that folder open with other rules.
  case conflictingCache(path: String, rules: [String])
  /// A value of the configuration can't be used; the sentence names it, without secrets.
  case invalidConfiguration(String)
  /// The system started no thread; the sentence says why.
  case noThread(String)
}

extension ImageManagerError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .cache(let error): "\(error)"
    case .downloader(let error): error.message
    case .noThread(let sentence), .invalidConfiguration(let sentence): sentence
    case .conflictingCache(let path, let rules):
      "another manager has the cache at \(path) open with different \(rules.joined(separator: ", ")); give both the same rules, or "
        + "separate namespaces"
    }
  }
}

/// A manager's claim on the cache that it trims and expires: while one exists, other managers must use the same rules.
final class CacheClaim: Sendable {
  /// The rules by which entries expire and are trimmed, with their names.
  private static func rules(of configuration: ImageCache.Configuration) -> [(name: String, value: AnyHashable?)] {
    [
      ("maxAge", configuration.maxAge), ("maxBodyBytes", configuration.maxBodyBytes), ("trimTo", configuration.trimTo),
      ("expireBy", configuration.expireBy), ("freshness", configuration.freshness), ("minFresh", configuration.minFresh),
      ("staleIfError", configuration.staleIfError), ("blacklistTTL", configuration.blacklistTTL),
    ]
  }

  private static let held = Mutex<[FolderIdentity: (configuration: ImageCache.Configuration, count: Int)]>([:])

  private let folder: FolderIdentity?

  /// Claims `cache`; no claim is needed for a read-only one.
  init(_ cache: ImageCache) throws(ImageManagerError) {
    guard cache.configuration.access == .readWrite else {
      folder = nil
      return
    }
    let folder = cache.folderIdentity
    self.folder = folder
    let differences = Self.held.withLock { held in
      let own = held[folder, default: (cache.configuration, 0)]
      let pairs = zip(Self.rules(of: cache.configuration), Self.rules(of: own.configuration))
      let differences = pairs.filter { $0.value != $1.value }.map(\.0.name)
      if differences.isEmpty { held[folder] = (own.configuration, own.count + 1) }
      return differences
    }
    if !differences.isEmpty { throw .conflictingCache(path: cache.path, rules: differences) }
  }

  deinit {
    guard let folder else { return }
    Self.held.withLock { held in
      held[folder]?.count -= 1
      if held[folder]?.count == 0 { held[folder] = nil }
    }
  }
}
