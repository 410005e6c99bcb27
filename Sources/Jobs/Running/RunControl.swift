import Glibc
import ImageManaging
package import Reports
import Synchronization

/// Stops the current run and those after it, from any thread.
package final class RunControl: Sendable {
  private struct State {
    var signal: Int32?
    var run: PrefetchRun?
  }

  private let state = Mutex(State())

  /// Creates a control that stops nothing yet.
  package init() {}

  /// The signal that requested the stop; nil if there was none.
  package var signal: Int32? { state.withLock { $0.signal } }

  /// Whether a run is in progress.
  package var isRunning: Bool { state.withLock { $0.run != nil } }

  package var interruption: Interruption? { signal.map { $0 == SIGINT ? .interrupt : .terminate } }

  /// Requests a stop because of `signal`: no requests are started, those in flight get their grace period.
  package func stop(signal: Int32) {
    let run = state.withLock { state in
      state.signal = state.signal ?? signal
      return state.run
    }
    run?.stop(gracefully: true)
  }

  /// Requests the end of the current run, which has become useless: no requests are started, those in flight get their
  /// grace period.
  func endRun() {
    let run = state.withLock { $0.run }
    run?.stop(gracefully: true)
  }

  /// Lets ``stop(signal:)`` stop `run` until `body` returns.
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
