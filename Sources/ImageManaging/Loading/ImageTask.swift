import ImageCaching
package import ImageCoding
import ImageDownloading
public import Base
import Synchronization

/// The load of one image, running or ended: it waits for one flight after another.
///
/// It ends exactly once: with its image, an error, or as cancelled. Releasing a task doesn't cancel it.
public final class ImageTask: LoadReceiver {
  /// An event before the end.
  public enum Event: Sendable {
    /// The received bytes of the body, and its length if the server declared it; the first event has 0 bytes.
    case progress(receivedBytes: Int, expectedBytes: Int?)
    /// An image before the final one: with ``CacheMode/refresh``, the cached one during revalidation; with
    /// ``ImageRequest/Decoding/isProgressive``, the part received so far, each better than the last.
    case preview(ImageResponse)
  }

  typealias Outcome = Result<ImageResponse, ImageLoadError>

  private struct State {
    /// Whether the cached image is looked up, to be delivered before the refresh.
    var isPreview = false
    /// The class, which may have been raised.
    var priority: LoadPriority
    /// The flights that it has joined, including ended ones: they are few, and leaving an ended one has no effect.
    var flights: [UInt64] = []
    var isEnded = false
  }

  public let request: ImageRequest
  private let manager: ImageManager
  private let deliversFile: Bool
  private let observer: (@Sendable (Event) -> Void)?
  private let broadcast = Broadcast<Event>(keeping: 64)
  private let state: Mutex<State>
  let outcome = OneShot<Outcome>()

  /// Creates a load; with `deliversFile` it delivers the file of the image as requested, and nothing else.
  init(_ request: ImageRequest, manager: ImageManager, deliversFile: Bool = false, observer: (@Sendable (Event) -> Void)? = nil) {
    self.request = request
    self.manager = manager
    self.deliversFile = deliversFile
    self.observer = observer
    state = Mutex(State(priority: request.priority))
  }

  /// The events before the end; each use has its own sequence, which begins with the newest 64 so far. A slow consumer misses older ones.
  public var events: AsyncStream<Event> { broadcast.events }

  /// The image; any number of tasks may wait for it. Cancelling the waiting task is ``cancel()``. Throws the reason if there is no image.
  public var value: ImageResponse { get async throws(ImageLoadError) { try await outcome.value { cancel() }.get() } }

  public var isFinished: Bool { outcome.current != nil }

  /// Cancels the load at once, unless it has ended; other loads of the same image continue.
  public func cancel() {
    finish(.failure(.cancelled), EntryResult(.cancelled))
    for flight in state.withLock({ $0.flights }) { manager.cancel(flight, for: self) }
  }

  /// Raises the class if it hasn't started yet; a lower class has no effect, as others may share the load.
  public func raisePriority(to priority: LoadPriority) {
    let flights = state.withLock { state in
      state.priority = max(state.priority, priority)
      return state.flights
    }
    for flight in flights { manager.dispatcher.raise(flight, to: priority) }
  }

  private func report(_ event: Event) {
    broadcast.send(event)
    observer?(event)
  }

  // MARK: Starting

  /// Looks up the image and requests it; if memory has it, it has ended when this returns.
  func start() {
    // Lazy or undecoded images are delivered only after revalidation.
    let showsPreview = request.cachePolicy.mode == .refresh && request.decoding.policy == .eager && !deliversFile
    if showsPreview { state.withLock { $0.isPreview = true } }
    showsPreview ? begin(.only, servesExpired: true) : begin(request.cachePolicy.mode)
  }

  private func begin(_ mode: CacheMode, servesExpired: Bool = false) {
    let url: RequestedURL
    do throws(InvalidURL) {
      url = try RequestedURL(request.url, loaders: manager.loaders(for: request))
    } catch {
      fail(ImageFailure(.invalidURL, message: error.message))
      return
    }
    if let reason = manager.invalidReason(of: request) { return fail(ImageFailure(invalidOptions: reason)) }
    let context = manager.contexts.context(
      for: request,
      mode: mode,
      servesExpired: servesExpired || request.cachePolicy.servesExpired,
      deliversFile: deliversFile
    )
    var decided: LoadCompletion?
    do throws(CacheError) {
      var batch = EntryBatch()
      batch.bytes = url.bytes
      batch.entries.append(url.entry(priority: request.priority))
      // If the manager is shut down between the steps of a load, the load ends as cancelled.
      try manager.dispatcher.load(batch, context: context, receiver: self) { decided = $1 }
    } catch {
      fail(ImageFailure(.internal, message: "cannot read the cache: \(error)"))
      return
    }
    if let decided { take(decided) }
  }

  // MARK: LoadReceiver

  package func complete(_ completions: [(Entry, LoadCompletion)]) { for (_, completion) in completions { take(completion) } }

  package func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?) {
    report(.progress(receivedBytes: receivedBytes, expectedBytes: expectedBytes))
  }

  package func partialImage(_ entry: Entry, _ image: DecodedImage) {
    if !isFinished { report(.preview(ImageResponse(partial: image, of: request))) }
  }

  package func joined(_ entry: Entry, flight: UInt64) {
    let priority = state.withLock { state in
      state.flights.append(flight)
      return state.priority
    }
    // It was cancelled or raised before it joined the flight.
    if isFinished {
      manager.cancel(flight, for: self)
    } else if priority > request.priority {
      manager.dispatcher.raise(flight, to: priority)
    }
  }

  private func take(_ completion: LoadCompletion) {
    let isPreview = state.withLock { state in
      defer { state.isPreview = false }
      return state.isPreview
    }
    guard isPreview, !isFinished else {
      let outcome = outcome(of: completion)
      if finish(outcome, completion.result), case .success(let response) = outcome { revalidateIfStale(response) }
      return
    }
    if case .success(let response) = outcome(of: completion), response.image != nil {
      report(.preview(response))
    } else if completion.result.outcome == .cancelled {
      finish(outcome(of: completion), completion.result)
    }
    if !isFinished { begin(.refresh) }
  }

  /// Revalidates a stale image that was served (`stale-while-revalidate`), for later loads.
  private func revalidateIfStale(_ response: ImageResponse) {
    guard response.isStale, response.result.staleReason == nil else { return }
    guard request.cachePolicy.mode == .use, !request.cachePolicy.servesExpired else { return }
    var renewal = request
    renewal.cachePolicy.mode = .refresh
    renewal.decoding.policy = .never
    renewal.priority = .low
    ImageTask(renewal, manager: manager).start()
  }

  private func response(_ completion: LoadCompletion) -> ImageResponse {
    var response = ImageResponse(completion, of: request, coders: request.decoding.coders ?? manager.configuration.coders)
    let wasHit = completion.result.outcome == .hitDisk || completion.result.outcome == .hitMemory
    if wasHit, let end = completion.result.freshUntil { response.isStale = end <= manager.now(for: request) }
    return response
  }

  private func outcome(of completion: LoadCompletion) -> Outcome {
    let unknown = ImageFailure(.internal, message: "unknown reason")
    switch completion.result.outcome {
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: return .success(response(completion))
    case .failed: return .failure(.failed(completion.result.failure ?? unknown))
    case .blacklisted: return .failure(.blacklisted(completion.result.failure ?? unknown))
    case .skipped where request.cachePolicy.mode.usesNetwork: return .success(response(completion))
    case .skipped: return .failure(.notCached)
    case .cancelled: return .failure(manager.isShutDown(for: request) ? .shutDown : .cancelled)
    }
  }

  // MARK: The end

  private func fail(_ failure: ImageFailure) { finish(.failure(.failed(failure)), EntryResult(.failed, failure: failure)) }

  /// Ends it unless it has ended; later events are ignored. Returns whether this call has ended it.
  @discardableResult
  private func finish(_ outcome: Outcome, _ result: EntryResult) -> Bool {
    let isFirst = state.withLock { state in
      defer { state.isEnded = true }
      return !state.isEnded
    }
    guard isFirst else { return false }
    // First, so that those who wait for the outcome find it counted.
    manager.observation.ended(request, result)
    self.outcome.set(outcome)
    broadcast.finish()
    return true
  }
}
