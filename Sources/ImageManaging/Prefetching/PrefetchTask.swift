import ImagePrimitives
import Synchronization
import Threads

/// The counts of a batch; every request counts in exactly one of the first four when it ends.
public struct PrefetchProgress: Sendable, Hashable {
  /// Loaded images.
  public var loaded = 0
  /// Images that were already cached.
  public var alreadyCached = 0
  /// Failed requests, including blacklisted ones.
  public var failed = 0
  /// Requests that were cancelled or rejected by a hook.
  public var cancelled = 0
  /// Requests read so far; all of them once the batch has ended.
  public var total = 0

  /// Ended requests.
  public var ended: Int { loaded + alreadyCached + failed + cancelled }

  /// Creates counts of zero.
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

/// One batch of an ``ImagePrefetcher``: the handle to cancel, pause and await it.
public final class PrefetchTask: Sendable {
  /// The progress, only the latest, for one consumer; it ends with the batch.
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

  /// The counts at the batch's end, for any number of callers; cancelling a waiting caller doesn't cancel the batch.
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

  /// Ends the batch: nothing more starts, and running transfers for it alone are cut off.
  ///
  /// Requests that were read but not yet started count as cancelled.
  public func cancel() { run.stop(gracefully: false) }

  /// Reads no further requests until ``resume()``; requests in flight continue.
  public func pause() { run.setPaused(true) }

  /// Resumes after ``pause()``.
  public func resume() { run.setPaused(false) }

  /// Runs the batch on a thread of its own; traps if the system provides none, since no other thread can take the requests.
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

  /// The value that crosses to the batch's thread.
  private struct HandedOver: @unchecked Sendable {
    // Sendable because the caller has given it up (`sending`), so that only the batch's thread uses it from here on.
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
  /// The request with the prefetcher's settings.
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
