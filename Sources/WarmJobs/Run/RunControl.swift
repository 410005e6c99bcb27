import Glibc
import ImageManaging
package import Reports
import Synchronization

/// Stops what runs, from any thread, and what was to run after it.
public final class RunControl: Sendable {
  private struct State {
    var signal: Int32?
    var run: PrefetchRun?
  }

  private let state = Mutex(State())

  /// Nothing is stopped yet.
  public init() {}

  /// The signal that asked for the end; nil while none has.
  public var signal: Int32? { state.withLock { $0.signal } }

  /// Whether something runs that a signal stops.
  public var isRunning: Bool { state.withLock { $0.run != nil } }

  package var interruption: Interruption? { signal.map { $0 == SIGINT ? .interrupt : .terminate } }

  /// Asks for the end because of `signal`: nothing more starts, what is in flight gets its grace.
  public func stop(signal: Int32) {
    let run = state.withLock { state in
      state.signal = state.signal ?? signal
      return state.run
    }
    run?.stop(gracefully: true)
  }

  /// Asks for the end of what runs, since nothing comes of it: nothing more starts, what is in flight gets its grace.
  package func endRun() {
    let run = state.withLock { $0.run }
    run?.stop(gracefully: true)
  }

  /// Lets ``stop(signal:)`` reach `run` until `body` has ended.
  func running<Result>(_ run: PrefetchRun, _ body: () -> Result) -> Result {
    let isStopped = state.withLock { state in
      state.run = run
      return state.signal != nil
    }
    if isStopped { run.stop(gracefully: true) }
    defer { state.withLock { $0.run = nil } }
    return body()
  }
}
