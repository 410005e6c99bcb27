public import ImageCaching
public import ImageCoding
public import ImageDownloading
import ImagePrimitives
package import ImageURLs
import Synchronization
import Threads

/// Loads images: from the memory, the disk, or else from the network into both.
///
/// ```
///  Entry           made by the reader, one per row; an EntryBatch holds them side by side
///    │ BatchLookUp            caller's thread, one read transaction; a hit or a known bad URL ends here
///    ▼
///  Flight          one per identity, with a Waiter for each Entry that asks for it
///    │ Download               transfer thread
///    ▼
///  Response        what the server sent
///    │ BodyProcessor          store thread; coding threads if it decodes or transforms
///    ▼
///  Judged          the response and its body, with what verification and the transformer made of it, or why it is bad
///    │ CommitBatch            store thread, one synced transaction for many
///    ▼
///  Committed       what was stored
///    │ FlightDelivery         store thread
///    ▼
///  LoadCompletion  for each Waiter, with its Entry, to its LoadReceiver
/// ```
///
/// A batch is looked up on the caller's thread, which gets back at once what is decided there. The rest become flights: one per identity,
/// shared by all who ask for it until its result is committed. ``image(for:)`` and ``load(_:)-(ImageRequest)`` load batches of one. The
/// blacklist gates requests only: what is cached is served, blacklisted or not.
public final class ImageManager: Sendable {
  /// The manager's parts, and what holds for its loads unless their requests say otherwise.
  public struct Configuration: Sendable {
    /// The disk cache of single images; nil, the default: they are kept in memory only.
    public var cache: ImageCache?
    /// Further caches to look in, in order.
    public var readOnly: [ReadOnlyCache]
    /// The memory layer of single images; nil, the default: none.
    public var memory: ImageMemory?
    /// The downloader; nil, the default: one of its own, made of ``downloads``. Managers may share one.
    public var downloader: ImageDownloader?
    /// The limits and sources of a downloader of its own.
    public var downloads: ImageDownloader.Configuration
    /// How single images are fetched; by default with an `Accept` of what ``coders`` read by default.
    public var downloadOptions: DownloadOptions
    /// Memory that the coding threads share for pixels and what it takes to make them; ``/ImageCoding/DecodingBudget/standard`` by default.
    public var decodingBudget: DecodingBudget
    /// Who decodes which format; by default `ImageCoderRegistry.standard`.
    public var coders: ImageCoderRegistry
    /// What of a URL tells single images apart.
    public var keyRule: KeyRule
    /// What is made of every single image; nothing by default.
    public var transformer: (any ImageTransformer)?
    /// How transformed images are encoded for the disk; nil, the default: they are kept in memory only.
    public var encoding: TransformEncoding?
    /// What a single image must be to be good.
    public var verification: VerificationRules
    /// Which failures of single images are remembered.
    public var blacklist: BlacklistRules
    /// What is decided by code, for single images.
    public var hooks: LoadHooks

    /// A configuration with the given parts, each with its default.
    public init(
      cache: ImageCache? = nil,
      readOnly: [ReadOnlyCache] = [],
      memory: ImageMemory? = nil,
      downloader: ImageDownloader? = nil,
      downloads: ImageDownloader.Configuration = ImageDownloader.Configuration(),
      downloadOptions: DownloadOptions = DownloadOptions { $0.accept = ImageCoderRegistry.standard.acceptedTypes },
      decodingBudget: DecodingBudget = .standard,
      coders: ImageCoderRegistry = .standard,
      keyRule: KeyRule = .url,
      transformer: (any ImageTransformer)? = nil,
      encoding: TransformEncoding? = nil,
      verification: VerificationRules = VerificationRules(),
      blacklist: BlacklistRules = BlacklistRules(),
      hooks: LoadHooks = LoadHooks()
    ) {
      self.cache = cache
      self.readOnly = readOnly
      self.memory = memory
      self.downloader = downloader
      self.downloads = downloads
      self.downloadOptions = downloadOptions
      self.decodingBudget = decodingBudget
      self.coders = coders
      self.keyRule = keyRule
      self.transformer = transformer
      self.encoding = encoding
      self.verification = verification
      self.blacklist = blacklist
      self.hooks = hooks
    }
  }

  /// The manager's parts.
  public let configuration: Configuration
  /// The downloader, whose limits may be set while it runs.
  public let downloader: ImageDownloader

  let dispatcher: FlightDispatcher
  let contexts: ContextTable
  private let coding: CodingThreads
  private let store: WorkerThread
  private let claim: CacheClaim?
  private let hasShutDown = Atomic(false)

  /// Starts the manager's threads.
  ///
  /// Throws where libcurl or the system refuses (threads too), and where another manager in this process has the same cache open under other rules,
  /// since each would trim and expire what the other keeps.
  public init(_ configuration: Configuration = Configuration()) throws(ImageManagerError) {
    claim = try configuration.cache.map { cache throws(ImageManagerError) in try CacheClaim(cache) }
    do throws(DownloaderError) {
      if let shared = configuration.downloader {
        downloader = shared
      } else {
        downloader = try ImageDownloader(configuration.downloads)
      }
    } catch {
      throw .downloader(error)
    }
    self.configuration = configuration
    contexts = ContextTable(configuration)
    let ownDownloader = configuration.downloader == nil ? downloader : nil
    do throws(ThreadError) {
      let coding = try CodingThreads(meter: downloader.pipeline)
      self.coding = coding
      let inbox = StoreInbox(meter: downloader.pipeline)
      let dispatcher = FlightDispatcher(inbox: inbox, downloader: downloader, helpers: coding)
      self.dispatcher = dispatcher
      do throws(ThreadError) {
        store = try WorkerThread(name: "store") { [coders = configuration.coders, budget = configuration.decodingBudget] in
          StoreLoop(dispatcher: dispatcher, coders: coders, budget: budget, coding: coding).run()
          coding.close()
          ownDownloader?.shutDown()
        }
      } catch {
        coding.close()
        throw error
      }
    } catch {
      throw .noThread("\(error)")
    }
  }

  deinit {
    // The threads end by themselves; nobody waits for them, as this may be one of them.
    dispatcher.close()
  }

  /// Ends all threads: transfers are cut off, what has arrived is judged and committed, and every load completes. A second call
  /// does nothing.
  ///
  /// Loads started during shutdown are cancelled; one after it is a programmer error and traps. So is a shutdown by a callback (a
  /// completion, a hook, a transformer, or anything else that a load calls), which would wait for its caller. A manager that is released
  /// shuts down too, without waiting.
  public func shutDown() {
    let isCallback = store.isCurrent || coding.haveCurrent || dispatcher.isHeldUpByCurrentThread
    trap(unless: !isCallback, "a callback of a manager cannot shut it down: it would wait for its own end")
    dispatcher.close()
    store.join()
    coding.join()
    hasShutDown.store(true, ordering: .sequentiallyConsistent)
  }

  /// Loads a batch.
  ///
  /// - Parameters:
  ///   - batch: what to load; nothing of it is kept beyond the call but copies of the entries that are not decided at once.
  ///   - context: what holds for all of them.
  ///   - receiver: gets the entries that are not decided at once, with their completions.
  ///   - decided: called on this thread, before this returns, with the index of each entry that is decided: hits, known bad ones, and misses
  ///     if the network is not to be asked.
  /// - Throws: if the cache cannot be read; what was not begun by then is decided as cancelled.
  package func load(
    _ batch: EntryBatch,
    context: LoadContext,
    receiver: any LoadReceiver,
    decided: (Int, LoadCompletion) -> Void
  ) throws(CacheError) {
    requireOpen()
    try dispatcher.load(batch, context: context, receiver: receiver, decided: decided)
  }

  /// As ``load(_:context:receiver:decided:)``, for who cannot know whether the manager was shut down: then every entry is decided as
  /// cancelled, and this returns false.
  package func loadUnlessShutDown(
    _ batch: EntryBatch,
    context: LoadContext,
    receiver: any LoadReceiver,
    decided: (Int, LoadCompletion) -> Void
  ) throws(CacheError) -> Bool {
    try dispatcher.load(batch, context: context, receiver: receiver, decided: decided)
  }

  /// Cancels what `receiver` waits for; each of its requests completes once, those in flight too where they are included. What others
  /// share goes on for them.
  package func cancelAll(for receiver: any LoadReceiver, includingRunning: Bool) {
    let stopped = dispatcher.flights.stop(includingRunning ? .now : .nothingNew, for: receiver)
    dispatcher.cancelDownloads(stopped.numbers, includingRunning: includingRunning)
    guard !stopped.left.isEmpty else { return }
    receiver.complete(stopped.left.map { ($0, LoadCompletion(EntryResult(.cancelled))) })
  }

  /// Cancels every load of this manager, whoever waits for it; each completes once, as cancelled.
  public func cancelAll() {
    dispatcher.cancelDownloads(dispatcher.flights.stopAll(), includingRunning: true)
  }

  /// Whether it takes no further loads.
  var isClosed: Bool { dispatcher.isClosed }

  /// Traps where it was shut down, and that was waited for: whoever loads then could have known.
  func requireOpen() {
    trap(unless: !hasShutDown.load(ordering: .sequentiallyConsistent), "a manager that is shut down loads nothing")
  }

  /// Whether any load is under way.
  public var isRunning: Bool { dispatcher.flights.count > 0 }
}

/// Why a manager could not be made.
public enum ImageManagerError: Error, Sendable, Equatable {
  /// There is no downloader.
  case downloader(DownloaderError)
  /// Another manager of this process has the cache in that folder open under other rules.
  case conflictingCache(path: String, rules: [String])
  /// The system starts no thread, as the sentence says.
  case noThread(String)
}

extension ImageManagerError: CustomStringConvertible {
  /// One sentence.
  public var description: String {
    switch self {
    case .downloader(let error): error.message
    case .noThread(let sentence): sentence
    case .conflictingCache(let path, let rules):
      "another manager has the cache at \(path) open with another \(rules.joined(separator: ", ")); give both the same rules, or each a "
        + "namespace of its own"
    }
  }
}
