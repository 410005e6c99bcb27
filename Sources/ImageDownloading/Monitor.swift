import ImagePrimitives
import Synchronization

/// The statistics as the transfer thread last wrote them, readable by any thread.
final class Monitor: Sendable {
  private struct State {
    var statistics = DownloaderStatistics()
    var limit = StartLimit.empty
    var since: MonotonicInstant
  }

  private let state: Mutex<State>
  private let time: TimeSource

  init(time: TimeSource) {
    self.time = time
    state = Mutex(State(since: time.monotonic()))
  }

  /// Up to this moment: the time since the last turn counts for what bounded that turn.
  var statistics: DownloaderStatistics {
    let now = time.monotonic()
    return state.withLock { state in
      var statistics = state.statistics
      statistics.add(now.since(state.since).wholeNanoseconds, boundBy: state.limit)
      return statistics
    }
  }

  /// Counts the peak anew.
  func forgetPeak() { state.withLock { $0.statistics.peakRunning = $0.statistics.running } }

  /// Ends a turn of the loop: from `now` on, `limit` is what keeps more from starting.
  func update(now: MonotonicInstant, limit: StartLimit, running: Int, waiting: Int, openedConnections: Int) {
    state.withLock { state in
      state.statistics.add(now.since(state.since).wholeNanoseconds, boundBy: state.limit)
      state.since = now
      state.limit = limit
      state.statistics.running = running
      state.statistics.peakRunning = max(state.statistics.peakRunning, running)
      state.statistics.waiting = waiting
      state.statistics.openedConnections = openedConnections
    }
  }
}
