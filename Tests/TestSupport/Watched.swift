import Dispatch
import Synchronization

/// A test waited longer than it should ever have to; what it waited for never came.
public struct WaitTimeout: Error, CustomStringConvertible {
  /// What was waited for, and for how long.
  public let description: String
}

/// A value under a lock that tests may wait on: the way to a sure order of events without sleeping.
///
/// Every change goes through ``withLock(_:)``, which then wakes those whose condition has come true, outside the lock.
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

  /// Starts with `state`.
  public init(_ state: State) { guarded = Mutex(Guarded(state: state)) }

  /// A copy of the value as it is now.
  public var value: State { guarded.withLock { $0.state } }

  /// Reads or changes the value, then wakes whoever waited for what it has become.
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
  /// - Throws: ``WaitTimeout`` after `timeout`.
  public func wait(
    for what: String,
    timeout: Duration = .patience,
    until condition: @escaping @Sendable (State) -> Bool
  ) throws {
    let semaphore = DispatchSemaphore(value: 0)
    guard let id = watch(Watcher(condition: condition, wake: { _ in semaphore.signal() })) else { return }
    guard semaphore.wait(timeout: .now() + .nanoseconds(timeout.nanoseconds)) == .timedOut, forget(id) != nil else { return }
    throw WaitTimeout(description: "waited \(timeout) in vain for \(what)")
  }

  /// Suspends the calling task until `condition` holds; it is called under the lock.
  ///
  /// - Throws: ``WaitTimeout`` after `timeout`.
  public func wait(
    for what: String,
    timeout: Duration = .patience,
    until condition: @escaping @Sendable (State) -> Bool
  ) async throws {
    let isMet = await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
      guard let id = watch(Watcher(condition: condition, wake: { continuation.resume(returning: $0) })) else {
        return continuation.resume(returning: true)
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(timeout.nanoseconds)) { [weak self] in
        self?.forget(id)?.wake(false)
      }
    }
    guard isMet else { throw WaitTimeout(description: "waited \(timeout) in vain for \(what)") }
  }

  /// Keeps `watcher` and returns its number; nil where its condition holds already.
  private func watch(_ watcher: Watcher) -> Int? {
    guarded.withLock { guarded in
      if watcher.condition(guarded.state) { return nil }
      guarded.nextWatcher += 1
      guarded.watchers[guarded.nextWatcher] = watcher
      return guarded.nextWatcher
    }
  }

  /// Takes a watcher away, so that nobody else wakes it; nil where it was woken already.
  private func forget(_ id: Int) -> Watcher? { guarded.withLock { $0.watchers.removeValue(forKey: id) } }
}

extension Duration {
  /// How long tests wait by default for what must come: far longer than a busy machine needs, so that it only ends a wait in vain.
  public static let patience = Duration.seconds(120)

  /// The whole nanoseconds, as Dispatch counts them.
  var nanoseconds: Int { Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000) }
}
