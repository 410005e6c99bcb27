package import Base
import Synchronization

/// An ``ImageDownloader``'s load.
public struct DownloaderStatistics: Sendable {
  /// Transfers running now.
  public internal(set) var running = 0
  /// The most transfers that ran at once since the limits were last set.
  public internal(set) var peakRunning = 0
  /// Downloads waiting now, retries included.
  public internal(set) var waiting = 0
  /// Connections opened so far.
  public internal(set) var openedConnections = 0
  /// Some of the paused hosts, at most ``maximumPausedHosts``: those whose pauses end last.
  package internal(set) var pausedHosts: [PausedHost] = []

  /// The maximum number of paused hosts that are reported.
  public static let maximumPausedHosts = 4

  /// A host that gets no requests for a while.
  package struct PausedHost: Sendable, Hashable {
    /// The name, with the port if it isn't the scheme's default.
    package internal(set) var host: String
    package internal(set) var remaining = Duration.zero
    /// The status that asked for the pause, 429 or 503; nil if the host was paused after failures (``CircuitBreaker``).
    package internal(set) var status: Int?
    /// Its last failure, if it was paused after failures.
    package internal(set) var failure: ImageFailure?
    /// Whether its downloads fail meanwhile instead of waiting.
    package internal(set) var isDown = false
  }

}

/// The statistics as last written by the transfer thread; any thread may read them.
final class Monitor: Sendable {
  private struct State {
    var statistics = DownloaderStatistics()
    /// Hosts that are or were paused; at most ``DownloaderStatistics/maximumPausedHosts``.
    var paused: [(host: DownloaderStatistics.PausedHost, until: MonotonicInstant)] = []
  }

  /// The bottleneck of the whole pipeline, transfers included.
  let pipeline: PipelineMeter
  private let state = Mutex(State())
  private let time: TimeSource

  init(time: TimeSource) {
    self.time = time
    pipeline = PipelineMeter(time: time)
  }

  var statistics: DownloaderStatistics {
    let now = time.monotonic()
    return state.withLock { state in
      var statistics = state.statistics
      statistics.pausedHosts = state.paused.lazy.filter { $0.until > now }.map { host, until in
        var host = host
        host.remaining = until.since(now)
        return host
      }
      return statistics
    }
  }

  /// Restarts the count of the peak.
  func forgetPeak() { state.withLock { $0.statistics.peakRunning = $0.statistics.running } }

  /// Records that a host is paused until `time`.
  func note(_ host: DownloaderStatistics.PausedHost, until time: MonotonicInstant) {
    state.withLock { state in
      let known = state.paused.firstIndex { $0.host.host == host.host }
      if known == nil, state.paused.count < DownloaderStatistics.maximumPausedHosts { return state.paused.append((host, time)) }
      let index = known ?? state.paused.indices.min { state.paused[$0].until < state.paused[$1].until }
      if let index, state.paused[index].until < time { state.paused[index] = (host, time) }
    }
  }

  /// Removes the pause of a host that was paused after failures.
  func forget(_ host: String) {
    state.withLock { state in state.paused.removeAll { $0.host.host == host && $0.host.status == nil } }
  }

  /// Removes all pauses after failures.
  func forgetFailures() { state.withLock { state in state.paused.removeAll { $0.host.status == nil } } }

  /// Ends an iteration of the scheduler: from now on, `limit` keeps more transfers from starting.
  func update(limit: StartLimit, running: Int, loopRunning: Int, waiting: Int, openedConnections: Int) {
    state.withLock { state in
      state.statistics.running = running
      state.statistics.peakRunning = max(state.statistics.peakRunning, running)
      state.statistics.waiting = waiting
      state.statistics.openedConnections = openedConnections
    }
    pipeline.transfersSleep(limit: limit, running: running, ofThem: loopRunning)
  }
}
