public import ImageCaching
public import ImageCoding
public import ImageDownloading
public import ImagePrimitives
import ImageURLs
import Threads

/// Loads images: from the cache, or else from the network into the cache.
///
/// ```
///  load ─▶ cache? ─▶ blacklist? ─▶ ImageDownloader ─▶ StoreInbox ─▶ BodyVerifier ─▶ CommitBatch ─▶ LoadReceiver
///           │ hit        │ known bad    transfer thread   store thread   (coding threads   one synced
///           ▼            ▼                                               where full)       transaction
///         decided      decided
/// ```
///
/// A batch is looked up on the caller's thread, in one read transaction; what is decided there is handed back at once. The
/// rest become flights: one for an identity, shared by all who ask for it until its result is committed. The blacklist gates
/// requests only: what is cached is served, blacklisted or not.
public final class ImageManager: Sendable {
  /// How the manager's parts are made.
  public struct Configuration: Sendable {
    /// The downloader's limits and sources.
    public var downloader: ImageDownloader.Configuration
    /// Who decodes which format; by default ``ImageCoderRegistry/standard``.
    public var coders: ImageCoderRegistry

    /// A configuration with the given parts, each with its default.
    public init(
      downloader: ImageDownloader.Configuration = ImageDownloader.Configuration(),
      coders: ImageCoderRegistry = .standard
    ) {
      self.downloader = downloader
      self.coders = coders
    }
  }

  /// The downloader, whose limits may be set while it runs.
  public let downloader: ImageDownloader

  private let flights = FlightTable()
  private let inbox = StoreInbox()
  private let coding = CodingThreads()
  private let store: WorkerThread

  /// Starts the manager's threads; throws where libcurl or the system refuses.
  public init(_ configuration: Configuration = Configuration()) throws(DownloaderError) {
    let downloader = try ImageDownloader(configuration.downloader, receiver: inbox)
    self.downloader = downloader
    store = WorkerThread(name: "store") { [inbox, flights, coding, coders = configuration.coders] in
      StoreLoop(inbox: inbox, flights: flights, downloader: downloader, coders: coders, coding: coding).run()
    }
  }

  /// Ends all threads: transfers are cut off, what has arrived is judged and committed, and every load completes. To be called
  /// once, last.
  public func shutDown() {
    inbox.mailbox.post(.close)
    store.join()
    coding.shutDown()
  }

  /// Loads a batch.
  ///
  /// - Parameters:
  ///   - requests: what to load; their URLs lie in `bytes`.
  ///   - receiver: gets the completions of those that are not decided at once.
  ///   - decided: called on this thread, before this returns, with the index of each request that is decided: hits, known bad
  ///     ones, and misses where the network is not to be asked.
  /// - Throws: where the cache cannot be read; what was not begun by then is decided as cancelled.
  public func load(
    _ requests: [LoadRequest],
    in bytes: UnsafeRawBufferPointer,
    context: LoadContext,
    receiver: any LoadReceiver,
    decided: (Int, EntryResult) -> Void
  ) throws(CacheError) {
    var lookUp = BatchLookUp(requests, in: bytes, context: context)
    var indices = Array(requests.indices)
    while !indices.isEmpty {
      let inFlight = flights.marks(of: indices.map { lookUp.keys[$0] }, for: context)
      do throws(CacheError) {
        try lookUp.run(indices, inFlight: inFlight)
      } catch {
        for index in indices { decided(index, EntryResult(.cancelled)) }
        throw error
      }
      for (index, result) in lookUp.decided { decided(index, result) }
      touch(lookUp.staleTouches, context)
      let undecided = lookUp.undecided
      let flightRequests = undecided.map { request in
        FlightTable.Request(
          flight: lookUp.flight(for: request),
          sharer: Sharer(receiver: receiver, id: requests[request.index].id),
          mustExist: request.wasInFlight
        )
      }
      indices = begin(undecided, flightRequests, joined: flights.join(flightRequests))
    }
  }

  /// Cancels what `receiver` alone waits for; each of its requests completes once, those in flight too where they are included.
  public func cancelAll(for receiver: any LoadReceiver, includingRunning: Bool) {
    let numbers = flights.stop(includingRunning ? .now : .nothingNew, for: receiver)
    downloader.cancel(numbers, includingRunning: includingRunning)
  }

  /// Sends new flights on their way; returns the indices whose flight ended in between, to be looked up again.
  private func begin(
    _ undecided: [BatchLookUp.Undecided],
    _ requests: [FlightTable.Request],
    joined: [FlightTable.Joined]
  ) -> [Int] {
    var downloads: [Download] = []
    var proofs: [StoreMessage] = []
    var ended: [Int] = []
    for (place, joined) in joined.enumerated() {
      switch joined {
      case .shared: break
      case .ended: ended.append(undecided[place].index)
      case .began(let number):
        if let head = undecided[place].unproven {
          proofs.append(.prove(number: number, head: head))
        } else {
          downloads.append(requests[place].flight.download(id: number))
        }
      }
    }
    if !downloads.isEmpty { downloader.submit(downloads) }
    if !proofs.isEmpty { inbox.mailbox.post(contentsOf: proofs) }
    return ended
  }

  private func touch(_ touches: [EntryTouch], _ context: LoadContext) {
    if !touches.isEmpty { inbox.mailbox.post(.touch(context, touches)) }
  }
}
