import ImagePrimitives
import Synchronization

/// The statistics as the transfer thread last wrote them, readable by any thread.
final class Monitor: Sendable {
  private struct State {
    var statistics = DownloaderStatistics()
    var limit = StartLimit.empty
    var since: MonotonicInstant
    /// Hosts that are left alone, or were; at most as many as are told of.
    var paused: [PausedHost] = []
  }

  private struct PausedHost {
    var host: String
    var until: MonotonicInstant
    var status: Int?
  }

  /// What holds up what is loaded, beyond the transfers too.
  let pipeline: PipelineMeter
  private let state: Mutex<State>
  private let time: TimeSource

  init(time: TimeSource) {
    self.time = time
    pipeline = PipelineMeter(time: time)
    state = Mutex(State(since: time.monotonic()))
  }

  /// Up to this moment: the time since the last turn counts for what bounded that turn.
  var statistics: DownloaderStatistics {
    let now = time.monotonic()
    return state.withLock { state in
      var statistics = state.statistics
      statistics.add(now.since(state.since).wholeNanoseconds, boundBy: state.limit)
      statistics.pausedHosts = state.paused.lazy.filter { $0.until > now }.map {
        DownloaderStatistics.PausedHost(host: $0.host, remaining: $0.until.since(now), status: $0.status)
      }
      return statistics
    }
  }

  /// Counts the peak anew.
  func forgetPeak() { state.withLock { $0.statistics.peakRunning = $0.statistics.running } }

  /// Notes that a host is left alone until `time`, since it asked for that by `status` or, without one, did nothing but fail.
  func note(_ host: String, until time: MonotonicInstant, status: Int?) {
    state.withLock { state in
      let noted = PausedHost(host: host, until: time, status: status)
      if let place = state.paused.firstIndex(where: { $0.host == host }) {
        if state.paused[place].until < time { state.paused[place] = noted }
      } else if state.paused.count < DownloaderStatistics.maximumPausedHosts {
        state.paused.append(noted)
      } else if let place = state.paused.indices.min(by: { state.paused[$0].until < state.paused[$1].until }),
        state.paused[place].until < time
      {
        state.paused[place] = noted
      }
    }
  }

  /// Notes that a host is asked again.
  func forget(_ host: String) { state.withLock { state in state.paused.removeAll { $0.host == host && $0.status == nil } } }

  /// Notes that all hosts are asked again but those that asked for a pause.
  func forgetFailures() { state.withLock { state in state.paused.removeAll { $0.status == nil } } }

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
    pipeline.transfersSleep(limit: limit, running: running)
  }
}
