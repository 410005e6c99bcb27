import ImageCaching
import ImageCoding
public import ImagePrimitives
import ImageURLs
import Synchronization

/// One load of one image, under way or ended.
///
/// It ends exactly once: by its image, by an error, or as cancelled. Letting go of a task does not cancel it.
public final class ImageTask: Sendable {
  /// What is told before the end.
  public enum Event: Sendable {
    /// So many bytes of the body have come, of so many where the server said; first with none.
    case progress(receivedBytes: Int, expectedBytes: Int?)
    /// An image before the final one: with ``CacheMode/refresh``, the cached one while the network is asked; with
    /// ``ImageRequest/Decoding/isProgressive``, what has come of it, each better than the last.
    case preview(ImageResponse)
  }

  /// What is loaded.
  public let request: ImageRequest
  /// What is told before the end, for one consumer; it ends when the task does. Who does not keep up misses progress.
  public let events: AsyncStream<Event>
  private let load: SingleLoad

  init(_ request: ImageRequest, manager: ImageManager, observer: (@Sendable (Event) -> Void)?) {
    self.request = request
    let (events, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(64))
    self.events = events
    load = SingleLoad(request, manager: manager) { event in
      continuation.yield(event)
      observer?(event)
    }
    load.whenFinished { _ in continuation.finish() }
  }

  func start() { load.start() }

  /// The image, once it is there.
  ///
  /// Any number of callers may wait. That a waiting caller is cancelled does not cancel the load. Throws why there is no image.
  public var value: ImageResponse {
    get async throws(ImageLoadError) { try await load.result().get() }
  }

  /// Whether it has ended.
  public var isFinished: Bool { load.isFinished }

  /// Ends the load as cancelled, at once, unless it has ended; others who load the same image are left alone.
  public func cancel() { load.cancel() }

  /// Raises the class of what has not started yet; a lower class than before changes nothing, as others may share the load.
  public func raisePriority(to priority: Priority) { load.raise(to: priority) }

  func outcome() async -> Result<ImageResponse, ImageLoadError> { await load.result() }

  /// Calls `body` once the task has ended, on the thread that ends it, or now where it has; under no lock.
  func whenFinished(_ body: @escaping @Sendable (Result<ImageResponse, ImageLoadError>) -> Void) { load.whenFinished(body) }
}

/// What stands behind an ``ImageTask``: it waits for one flight after another, and ends once.
final class SingleLoad: LoadReceiver {
  typealias Outcome = Result<ImageResponse, ImageLoadError>

  private enum Step {
    /// What is cached is looked up, to be delivered before it is refreshed.
    case preview
    case final
  }

  private struct State {
    var outcome: Outcome?
    var step = Step.final
    /// The class, which may have been raised.
    var priority: Priority
    /// The flights that it has joined, the ended ones included: they are few, and leaving those does nothing.
    var flights: [UInt64] = []
    var waiters: [@Sendable (Outcome) -> Void] = []
  }

  private let request: ImageRequest
  private let manager: ImageManager
  private let report: @Sendable (ImageTask.Event) -> Void
  private let state: Mutex<State>

  init(_ request: ImageRequest, manager: ImageManager, report: @escaping @Sendable (ImageTask.Event) -> Void) {
    self.request = request
    self.manager = manager
    self.report = report
    state = Mutex(State(priority: request.priority))
  }

  private var coders: ImageCoderRegistry { request.decoding.coders ?? manager.configuration.coders }

  // MARK: Starting

  /// Looks the image up and sends for it; what memory has has ended when this returns.
  func start() {
    // What is lazy or not decoded is shown when it is right, not before.
    let showsPreview = request.cachePolicy.mode == .refresh && request.decoding.time == .eager
    if showsPreview { state.withLock { $0.step = .preview } }
    showsPreview ? ask(.only, servesExpired: true) : ask(request.cachePolicy.mode)
  }

  private func ask(_ mode: CacheMode, servesExpired: Bool = false) {
    let url: RequestedURL
    do throws(InvalidURL) {
      url = try RequestedURL(request.url, loaders: manager.loaders(for: request))
    } catch {
      finish(.failure(.failed(Failure(.invalidURL, message: error.message))))
      return
    }
    let context = manager.contexts.context(
      for: request,
      mode: mode,
      servesExpired: servesExpired || request.cachePolicy.servesExpired
    )
    var decided: LoadCompletion?
    do throws(CacheError) {
      var batch = EntryBatch()
      batch.bytes = url.bytes
      batch.entries.append(url.entry(priority: request.priority))
      // A manager may be shut down between the steps of a load, which ends as cancelled then.
      try manager.dispatcher.load(batch, context: context, receiver: self) { decided = $1 }
    } catch {
      let failure = Failure(.internal, message: "the cache could not be read: \(error)")
      finish(.failure(.failed(failure)))
      return
    }
    if let decided { take(decided) }
  }

  // MARK: LoadReceiver

  func complete(_ completions: [(Entry, LoadCompletion)]) { for (_, completion) in completions { take(completion) } }

  func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?) {
    report(.progress(receivedBytes: receivedBytes, expectedBytes: expectedBytes))
  }

  func partialImage(_ entry: Entry, _ image: DecodedImage) {
    if !isFinished { report(.preview(ImageResponse(partial: image, of: request))) }
  }

  func joined(_ entry: Entry, flight: UInt64) {
    let (hasEnded, priority) = state.withLock { state in
      state.flights.append(flight)
      return (state.outcome != nil, state.priority)
    }
    // It was cancelled or raised before it knew what to leave or to raise.
    if hasEnded {
      manager.cancel(flight, for: self)
    } else if priority > request.priority {
      manager.dispatcher.raise(flight, to: priority)
    }
  }

  private func take(_ completion: LoadCompletion) {
    let isPreview = state.withLock { state in
      defer { state.step = .final }
      return state.step == .preview && state.outcome == nil
    }
    guard isPreview else {
      if finish(outcome(of: completion)) { revalidateIfStale(completion.result) }
      return
    }
    if case .success(let response) = outcome(of: completion), response.image != nil {
      report(.preview(response))
    } else if completion.result.outcome == .cancelled {
      finish(.failure(.cancelled))
    }
    if !isFinished { ask(.refresh) }
  }

  /// What was served while it may be (`stale-while-revalidate`) is asked for again, for who comes next.
  private func revalidateIfStale(_ result: EntryResult) {
    let wasHit = result.outcome == .hitDisk || result.outcome == .hitMemory
    guard wasHit, request.cachePolicy.mode == .use, !request.cachePolicy.servesExpired else { return }
    guard let end = result.freshUntil, end <= manager.now(for: request) else { return }
    var renewal = request
    renewal.cachePolicy.mode = .refresh
    renewal.decoding.time = .never
    renewal.priority = .low
    SingleLoad(renewal, manager: manager) { _ in }.start()
  }

  private func response(_ completion: LoadCompletion) -> ImageResponse {
    ImageResponse(completion, of: request, coders: coders)
  }

  private func outcome(of completion: LoadCompletion) -> Outcome {
    let unknown = Failure(.internal, message: "no reason is known")
    switch completion.result.outcome {
    case .hitMemory, .hitDisk, .downloaded, .revalidated, .checked: return .success(response(completion))
    case .failed: return .failure(.failed(completion.result.failure ?? unknown))
    case .blacklisted: return .failure(.blacklisted(completion.result.failure ?? unknown))
    case .skipped where request.cachePolicy.mode.asksNetwork: return .success(response(completion))
    case .skipped: return .failure(.notCached)
    case .cancelled: return .failure(.cancelled)
    }
  }

  // MARK: The end

  var isFinished: Bool { state.withLock { $0.outcome != nil } }

  func cancel() {
    finish(.failure(.cancelled))
    for flight in state.withLock({ $0.flights }) { manager.cancel(flight, for: self) }
  }

  func raise(to priority: Priority) {
    let flights = state.withLock { state in
      state.priority = max(state.priority, priority)
      return state.flights
    }
    for flight in flights { manager.dispatcher.raise(flight, to: priority) }
  }

  /// Ends it, unless it has ended: what comes later is passed over. True where this has ended it.
  @discardableResult
  private func finish(_ outcome: Outcome) -> Bool {
    let waiters: [@Sendable (Outcome) -> Void]? = state.withLock { state in
      guard state.outcome == nil else { return nil }
      state.outcome = outcome
      defer { state.waiters = [] }
      return state.waiters
    }
    guard let waiters else { return false }
    waiters.forEach { $0(outcome) }
    return true
  }

  func whenFinished(_ body: @escaping @Sendable (Outcome) -> Void) {
    let outcome = state.withLock { state in
      if state.outcome == nil { state.waiters.append(body) }
      return state.outcome
    }
    if let outcome { body(outcome) }
  }

  func result() async -> Outcome {
    await withCheckedContinuation { continuation in whenFinished { continuation.resume(returning: $0) } }
  }
}
