import ImagePrimitives
import Synchronization
import Threads

/// How far a batch is; every request counts in exactly one of the first four when it ends.
public struct PrefetchProgress: Sendable, Hashable {
  /// Images that were loaded.
  public var loaded = 0
  /// Images that were cached already.
  public var alreadyCached = 0
  /// Requests that failed, known bad ones included.
  public var failed = 0
  /// Requests that were cancelled, or that a hook declined.
  public var cancelled = 0
  /// Requests read so far; all of them once the batch has ended.
  public var total = 0

  /// Requests that have ended.
  public var ended: Int { loaded + alreadyCached + failed + cancelled }

  /// Nothing yet.
  public init() {}

  mutating func count(_ outcome: Outcome) {
    switch outcome {
    case .downloaded, .revalidated, .checked: loaded += 1
    case .hitMemory, .hitDisk: alreadyCached += 1
    case .failed, .blacklisted: failed += 1
    case .skipped, .cancelled: cancelled += 1
    }
  }
}

/// One batch of an ``ImagePrefetcher``: the token by which it is cancelled, paused and waited for.
public final class PrefetchTask: Sendable {
  /// How far it is, the newest only, for one consumer; it ends with the batch.
  public let progress: AsyncStream<PrefetchProgress>

  private struct State {
    var result: PrefetchProgress?
    var waiters: [CheckedContinuation<PrefetchProgress, Never>] = []
  }

  private let run: PrefetchRun
  private let manager: ImageManager
  private let configuration: ImagePrefetcher.Configuration
  private let report: AsyncStream<PrefetchProgress>.Continuation
  private let state = Mutex(State())

  init(manager: ImageManager, configuration: ImagePrefetcher.Configuration) {
    self.manager = manager
    self.configuration = configuration
    (progress, report) = AsyncStream<PrefetchProgress>.makeStream(bufferingPolicy: .bufferingNewest(1))
    run = PrefetchRun(
      manager: manager,
      context: manager.context(for: ImageRequest(url: "").prefetching(to: configuration)),
      window: configuration.maxConcurrent
    )
  }

  /// The counts at the batch's end, for any number of callers; that one is cancelled does not cancel the batch.
  public var value: PrefetchProgress {
    get async {
      await withCheckedContinuation { continuation in
        let result = state.withLock { state in
          if state.result == nil { state.waiters.append(continuation) }
          return state.result
        }
        if let result { continuation.resume(returning: result) }
      }
    }
  }

  /// Ends the batch: nothing more starts, and what is in flight for it alone is cut off.
  ///
  /// What the batch's thread has read by then and not asked for yet counts as cancelled, and is never asked for.
  public func cancel() { run.stop(gracefully: false) }

  /// Reads no further requests until ``resume()``; what is in flight goes on.
  public func pause() { run.setPaused(true) }

  /// Goes on after ``pause()``.
  public func resume() { run.setPaused(false) }

  /// Runs the batch on a thread of its own; traps where the system gives none, since there is nobody else to take the requests.
  func start(
    _ requests: sending some Sequence<ImageRequest>,
    whenEnded: (@Sendable (ImageRequest, EntryResult) -> Void)?,
    andThen: @escaping @Sendable () -> Void
  ) {
    let source = RequestSource(
      requests,
      manager: manager,
      configuration: configuration,
      whenEnded: whenEnded
    ) { [report] in report.yield($0) }
    let handedOver = HandedOver(value: source)
    do throws(ThreadError) {
      _ = try WorkerThread(name: "prefetch") { [self] in
        _ = run.run(handedOver.value)
        end(handedOver.value.counts)
        andThen()
      }
    } catch {
      fatalError("\(error)")
    }
  }

  /// What crosses to the batch's thread.
  private struct HandedOver: @unchecked Sendable {
    // Sendable because the caller has given it away (`sending`), so that from here on only the batch's thread has it.
    let value: RequestSource
  }

  private func end(_ result: PrefetchProgress) {
    let waiters = state.withLock { state in
      state.result = result
      defer { state.waiters = [] }
      return state.waiters
    }
    report.yield(result)
    report.finish()
    waiters.forEach { $0.resume(returning: result) }
  }
}

extension ImageRequest {
  /// The request as a prefetcher makes it.
  func prefetching(to configuration: ImagePrefetcher.Configuration) -> ImageRequest {
    var request = self
    request.priority = min(priority, configuration.priority)
    switch configuration.destination {
    case .disk: request.decoding.time = .never
    case .memory: request.decoding.time = .eager
    }
    return request
  }
}
