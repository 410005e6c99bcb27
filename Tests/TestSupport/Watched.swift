import Dispatch
import Synchronization

/// A test waited longer than should ever be necessary.
public struct WaitTimeout: Error, CustomStringConvertible {
  /// What was waited for, and for how long.
  public let description: String
}

extension WaitTimeout {
  init(for what: String, _ timeout: Duration = .patience) {
    self.init(description: "timed out after \(timeout) waiting for \(what)")
  }
}

/// A value under a lock that tests can wait on, to order events reliably without sleeping.
///
/// Every change uses ``withLock(_:)``, which then wakes waiters whose condition has become true, outside the lock.
public final class Watched<State: Sendable>: Sendable {
  private struct Watcher {
    let condition: @Sendable (State) -> Bool
    let wake: @Sendable (_ isMet: Bool) -> Void
  }

  private struct Guarded {
    var state: State
    var watchers: [Int: Watcher] = [:]
    var nextWatcher = 0
  }

  private let guarded: Mutex<Guarded>

  public init(_ state: State) { guarded = Mutex(Guarded(state: state)) }

  public var value: State { guarded.withLock { $0.state } }

  /// Reads or changes the value, then wakes waiters whose condition has become true.
  @discardableResult
  public func withLock<Result: Sendable>(_ body: (inout State) throws -> Result) rethrows -> Result {
    let (result, met) = try guarded.withLock { guarded in
      let result = try body(&guarded.state)
      let state = guarded.state
      let met = guarded.watchers.filter { $0.value.condition(state) }
      for id in met.keys { guarded.watchers[id] = nil }
      return (result, met.values.map(\.wake))
    }
    for wake in met { wake(true) }
    return result
  }

  /// Blocks the calling thread until `condition` holds; it is called under the lock.
  ///
  /// - Throws: ``WaitTimeout`` after ``Swift/Duration/patience``.
  public func wait(for what: String, until condition: @escaping @Sendable (State) -> Bool) throws {
    let semaphore = DispatchSemaphore(value: 0)
    guard let id = watch(Watcher(condition: condition, wake: { _ in semaphore.signal() })) else { return }
    guard semaphore.wait(timeout: .now() + .seconds(Duration.patience)) == .timedOut, forget(id) != nil else { return }
    throw WaitTimeout(for: what)
  }

  /// Suspends the calling task until `condition` holds; it is called under the lock.
  ///
  /// - Throws: ``WaitTimeout`` after `timeout`.
  public func wait(for what: String, timeout: Duration = .patience, until condition: @escaping @Sendable (State) -> Bool)
    async throws
  {
    let isMet = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
      guard let id = watch(Watcher(condition: condition, wake: { continuation.resume(returning: $0) })) else {
        return continuation.resume(returning: true)
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(timeout)) { [weak self] in
        self?.forget(id)?.wake(false)
      }
    }
    guard isMet else { throw WaitTimeout(for: what, timeout) }
  }

  /// Keeps `watcher` and returns its number; nil if its condition is already true.
  private func watch(_ watcher: Watcher) -> Int? {
    guarded.withLock { guarded in
      if watcher.condition(guarded.state) { return nil }
      guarded.nextWatcher += 1
      guarded.watchers[guarded.nextWatcher] = watcher
      return guarded.nextWatcher
    }
  }

  /// Removes a watcher, so that nothing else wakes it; nil if it was already woken.
  private func forget(_ id: Int) -> Watcher? { guarded.withLock { $0.watchers.removeValue(forKey: id) } }
}

extension Duration {
  /// The default timeout of tests: far longer than a busy machine needs, so it only ends waits for events that never happen.
  public static let patience = Duration.seconds(120)
}

extension DispatchTimeInterval {
  /// The whole seconds of a duration.
  fileprivate static func seconds(_ duration: Duration) -> Self { .seconds(Int(duration.components.seconds)) }
}

/// Checks a condition repeatedly, for changes without an event, such as the end of a thread.
///
/// - Throws: ``WaitTimeout`` after ``Swift/Duration/patience``.
public func poll(_ what: String, _ condition: () throws -> Bool) async throws {
  let end = ContinuousClock.now.advanced(by: .patience)
  while try !condition() {
    guard ContinuousClock.now < end else { throw WaitTimeout(for: what) }
    await Task.yield()
  }
}
