import ImagePrimitives
import Synchronization
import Threads

/// The threads on which caches do what is asked of them asynchronously, so that no disk ever holds up Swift's own threads.
///
/// What is asked is done in order, as many at once as there are threads. A call that is cancelled before its turn ends at once,
/// and nothing of it is done.
public final class CacheQueries: Sendable {
  private let queue = WorkQueue<CacheJob>()
  private let threads: [WorkerThread]

  /// Four threads for all caches of the process that have none of their own; they are never ended.
  public static let shared = CacheQueries(threads: 4)

  /// Starts so many threads; traps where that is less than one. Where the system gives fewer, those do all; where it gives none, whoever
  /// asks does it.
  public init(threads count: Int) {
    trap(unless: count > 0, "a cache needs a thread to be asked on; \(count) were given")
    let queue = queue
    var threads: [WorkerThread] = []
    for number in 0..<count {
      do throws(ThreadRefusal) {
        threads.append(
          try WorkerThread(name: "cache-query-\(number)") {
            while let job = queue.take() { job.run() }
          }
        )
      } catch {
        break
      }
    }
    self.threads = threads
  }

  /// Lets the threads end when they have done what was asked; nobody waits, as the last reference may go on one of them.
  deinit { queue.close() }

  /// Does `work` on one of the threads and returns what it returns.
  ///
  /// Throws what `work` throws, and `CancellationError` where the task was cancelled before its turn came: then `work` is not
  /// called.
  public func perform<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    let job = CacheJob()
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isWaiting = job.wait { isCancelled in
          if isCancelled {
            continuation.resume(throwing: CancellationError())
          } else {
            continuation.resume(with: Swift.Result { try work() })
          }
        }
        if isWaiting { threads.isEmpty ? job.run() : queue.add(job) }
      }
    } onCancel: {
      job.cancel()
    }
  }
}

/// One call on its way: it is done or cancelled, exactly one of both.
private final class CacheJob: Sendable {
  private enum State {
    case new
    case waiting(@Sendable (_ isCancelled: Bool) -> Void)
    case ended
  }

  private let state = Mutex(State.new)

  /// Keeps what ends the call until its turn comes; false where it was cancelled already, and so has ended.
  func wait(_ end: @escaping @Sendable (_ isCancelled: Bool) -> Void) -> Bool {
    let isCancelled = state.withLock { state in
      if case .ended = state { return true }
      state = .waiting(end)
      return false
    }
    if isCancelled { end(true) }
    return !isCancelled
  }

  func run() { takeEnd()?(false) }

  func cancel() { takeEnd()?(true) }

  private func takeEnd() -> (@Sendable (_ isCancelled: Bool) -> Void)? {
    state.withLock { state in
      defer { state = .ended }
      if case .waiting(let end) = state { return end }
      return nil
    }
  }
}
