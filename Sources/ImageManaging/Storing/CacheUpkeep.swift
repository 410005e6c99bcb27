import ImageCaching
import Base

/// The work on caches that nobody waits for: trims during loads, and times of access. It has a thread while there is any, so that the
/// store thread serves loads meanwhile.
final class CacheUpkeep: Sendable {
  enum Work: Sendable, Equatable {
    /// Brings the cache within its limit.
    case trim
    /// Writes the recorded times of access.
    case touches
  }

  private struct State: Sendable {
    var waiting: [(work: Work, context: LoadContext)] = []
    var isRunning = false
    /// Whether trims end after their next transaction.
    var isStopping = false
  }

  private let state = WaitableState(State())

  /// Performs `work` for the context's cache, unless the same waits already. Without a thread for it, the caller does it.
  func add(_ work: Work, _ context: LoadContext) {
    let starts = state.withLock(waking: .nobody) { state in
      if !state.waiting.contains(where: { $0.work == work && $0.context.cache === context.cache }) {
        state.waiting.append((work, context))
      }
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard starts else { return }
    if (try? WorkerThread(name: "upkeep") { self.run() }) == nil { run() }
  }

  /// Waits until all added work is done.
  func finish() { state.wait { $0.isRunning ? nil : () } }

  /// Ends a running trim after its next transaction, and waits for the rest.
  func stop() {
    state.withLock(waking: .nobody) { $0.isStopping = true }
    finish()
  }

  private func run() {
    while let (work, context) = next() {
      switch work {
      case .trim: trim(context)
      case .touches: context.writeTouches()
      }
    }
  }

  private func next() -> (Work, LoadContext)? {
    state.withLock(waking: .all) { state in
      state.isRunning = !state.waiting.isEmpty
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
  }

  private func trim(_ context: LoadContext) {
    guard let cache = context.writeCache else { return }
    do throws(CacheError) {
      guard try cache.exceedsMaxSize(bySlack: StoreLoop.trimSlack) else { return }
      let result = try cache.trim(protecting: context.startedAt, used: context.used, ageEnd: context.runStart) { [state] _ in
        state.withLock(waking: .nobody) { !$0.isStopping }
      }
      context.recordTrim(result)
    } catch {
      context.recordWarning("cannot trim the cache: \(context.sentence(error))")
    }
  }
}
