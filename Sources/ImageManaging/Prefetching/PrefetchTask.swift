import Base
import Synchronization
import ImageDownloading

/// The counts of a batch; every request counts in exactly one of the first four when it ends.
public struct PrefetchProgress: Sendable, Hashable {
  public var loaded = 0
  public var alreadyCached = 0
  /// Failed requests, including blacklisted ones.
  public var failed = 0
  /// Requests that were cancelled or rejected by a hook.
  public var cancelled = 0
  /// Requests read so far; all of them once the batch has ended.
  public var total = 0

  public var ended: Int { loaded + alreadyCached + failed + cancelled }
  public init() {}

  mutating func count(_ outcome: LoadOutcome) {
    switch outcome {
    case .downloaded, .revalidated, .checked: loaded += 1
    case .hitMemory, .hitDisk: alreadyCached += 1
    case .failed, .blacklisted: failed += 1
    case .skipped, .cancelled: cancelled += 1
    }
  }
}

/// One batch of an ``ImagePrefetcher``: the handle to cancel, pause and await it.
public final class PrefetchTask: Sendable {
  let number: Int
  let manager: ImageManager
  let configuration: ImagePrefetcher.Configuration
  private let thread: PrefetchThread
  private let run: PrefetchRun
  private let latest = Broadcast<PrefetchProgress>(keeping: 1)
  private let ended = OneShot<PrefetchProgress>()
  /// The URLs that the batch skips from now on.
  private let cancelledURLs = Mutex<Set<String>>([])

  init(manager: ImageManager, configuration: ImagePrefetcher.Configuration, thread: PrefetchThread) {
    let number = thread.nextNumber()
    self.number = number
    self.manager = manager
    self.configuration = configuration
    self.thread = thread
    run = PrefetchRun(
      manager: manager,
      context: manager.context(for: ImageRequest(url: "").prefetching(to: configuration)),
      window: configuration.concurrency
    ) { thread.post($0, to: number) }
  }

  /// Runs the batch on the prefetcher's thread, which calls `andThen` at its end.
  func start(
    _ requests: sending some Sequence<ImageRequest>,
    whenEnded: (@Sendable (ImageRequest, EntryResult) -> Void)?,
    andThen: @escaping @Sendable () -> Void
  ) {
    let source = RequestSource(requests, of: self, whenEnded: whenEnded)
    thread.start(PrefetchRun.Running(run, source), number: number) { [self] counts in
      latest.send(counts)
      latest.finish()
      ended.set(counts)
      andThen()
    }
  }

  func report(_ counts: PrefetchProgress) { latest.send(counts) }
  func isCancelled(_ url: String) -> Bool { cancelledURLs.withLock { !$0.isEmpty && $0.contains(url) } }

  /// The counts at the batch's end; any number of tasks may wait for it. Cancelling the waiting task is ``cancel()``. If the
  /// manager is shut down, the batch ends with requests counted as cancelled.
  public var value: PrefetchProgress { get async { await ended.value { cancel() } } }

  /// The progress, only the latest; each use has its own sequence, which ends with the batch.
  public var progress: AsyncStream<PrefetchProgress> { latest.events }

  /// Ends the batch: nothing more starts, and running transfers for it alone are cut off. Requests that were read but not yet
  /// started count as cancelled.
  public func cancel() { run.stop(gracefully: false) }

  /// Cancels the batch's requests for these URLs, as they were written, whether they run, wait or haven't been read yet; each counts as
  /// cancelled.
  public func cancel(urls: some Sequence<String>) {
    let urls = Set(urls)
    cancelledURLs.withLock { $0.formUnion(urls) }
    run.cancel { urls.contains(String(decoding: $0.writtenURL, as: UTF8.self)) }
  }

  /// Reads no further requests until ``resume()``; requests in flight continue.
  public func pause() { run.setPaused(true) }
  public func resume() { run.setPaused(false) }
}

extension ImageRequest {
  func prefetching(to configuration: ImagePrefetcher.Configuration) -> ImageRequest {
    var request = self
    request.priority = min(priority, configuration.priority)
    request.options.isForBatch = true
    // Warming wants the current image.
    request.cachePolicy.servesStaleOnError = false
    switch configuration.destination {
    case .disk: (request.decoding.policy, request.cachePolicy.requiresStoring) = (.never, true)
    case .memory: request.decoding.policy = .eager
    }
    return request
  }
}

/// Reads a sequence of requests for a run and counts the outcomes; on the run's thread only.
final class RequestSource: PrefetchDelegate {
  private(set) var counts = PrefetchProgress()

  private let task: PrefetchTask
  private let whenEnded: ((ImageRequest, EntryResult) -> Void)?
  private(set) var batchContext: LoadContext?
  private var nextRequest: () -> ImageRequest?
  /// A request that was read, with a different context than the batch before it.
  private var ahead: (request: ImageRequest, context: LoadContext)?
  private var reported = PrefetchProgress()

  init(_ requests: some Sequence<ImageRequest>, of task: PrefetchTask, whenEnded: ((ImageRequest, EntryResult) -> Void)?) {
    var iterator = requests.makeIterator()
    nextRequest = { iterator.next() }
    self.task = task
    self.whenEnded = whenEnded
  }

  private var manager: ImageManager { task.manager }
  var sourceDescriptor: Int32? { nil }

  func read(_ batch: inout EntryBatch, maximum: Int) -> PrefetchSourceState {
    batchContext = nil
    // Invalid URLs count too, so that many of them don't delay a stop of the batch.
    for _ in 0..<maximum {
      guard let (request, context) = take() else { return .ended }
      if let batchContext, batchContext !== context {
        ahead = (request, context)
        return .open
      }
      batchContext = context
      counts.total += 1
      if task.isCancelled(request.url) {
        reject(request, EntryResult(.cancelled))
        continue
      }
      // `whenEnded` gets the request back.
      let owner = whenEnded == nil ? nil : PrefetchedRequest(request)
      if !manager.append(request, owner: owner, to: &batch) { reject(request, EntryResult(.failed, failure: .noURL)) }
    }
    return .open
  }

  private func take() -> (request: ImageRequest, context: LoadContext)? {
    if let ahead {
      self.ahead = nil
      return ahead
    }
    while let request = nextRequest()?.prefetching(to: task.configuration) {
      guard let reason = manager.invalidReason(of: request) else { return (request, manager.context(for: request)) }
      counts.total += 1
      reject(request, EntryResult(.failed, failure: ImageFailure(invalidOptions: reason)))
    }
    return nil
  }

  func finished(_ entry: Entry, _ completion: LoadCompletion) {
    manager.observation.ended(entry, completion.result)
    end((entry.owner as? PrefetchedRequest)?.request, completion.result)
  }

  /// Ends a request that became no entry.
  private func reject(_ request: ImageRequest, _ result: EntryResult) {
    manager.observation.ended(request, result)
    end(request, result)
  }

  private func end(_ request: ImageRequest?, _ result: EntryResult) {
    counts.count(result.outcome)
    if let whenEnded, let request { whenEnded(request, result) }
  }

  func progressed() {
    guard counts != reported else { return }
    reported = counts
    task.report(counts)
  }
}

private final class PrefetchedRequest: Sendable {
  let request: ImageRequest

  init(_ request: ImageRequest) { self.request = request }
}

extension ImageFailure {
  fileprivate static let noURL = ImageFailure(.invalidURL, message: "the request's URL isn't the URL of an image")
}
