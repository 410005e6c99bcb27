package import Base
import Synchronization

/// An ``ImageDownloader``'s load, and what has limited it since its start.
public struct DownloaderStatistics: Sendable {
  /// Transfers running now.
  public internal(set) var running = 0
  /// The most transfers that ran at once since the limits were last set.
  public internal(set) var peakRunning = 0
  /// Downloads waiting now, retries included.
  public internal(set) var waiting = 0
  /// Connections opened so far.
  public internal(set) var openedConnections = 0
  /// How long each limit kept more transfers from starting, in nanoseconds.
  package internal(set) var limitNanoseconds = LimitTimes()
  /// Some of the paused hosts, at most ``maximumPausedHosts``: those whose pauses end last.
  package internal(set) var pausedHosts: [PausedHost] = []

  /// The maximum number of paused hosts that are reported.
  public static let maximumPausedHosts = 4

  /// A host that gets no requests for a while.
  package struct PausedHost: Sendable, Hashable {
    /// The name, with the port if it isn't the scheme's default.
    package internal(set) var host: String
    /// The time left.
    package internal(set) var remaining: Duration
    /// The status that asked for the pause, 429 or 503; nil if the host was paused after failures (``CircuitBreaker``).
    package internal(set) var status: Int?
    /// Its last failure, if it was paused after failures.
    package internal(set) var failure: ImageFailure?
    /// Whether its downloads fail meanwhile instead of waiting.
    package internal(set) var isDown = false
  }

  /// Nanoseconds by limit.
  package struct LimitTimes: Sendable, Hashable {
    /// All transfers of the global limit were in use.
    package internal(set) var concurrency: UInt64 = 0
    /// Hosts were at their limit.
    package internal(set) var hosts: UInt64 = 0
    /// Waiting downloads needed their host's first connection, or the time of their retry hadn't come.
    package internal(set) var notYet: UInt64 = 0
    /// ``DownloadLimits/rate`` or ``DownloadLimits/perHostRate`` delayed the next request.
    package internal(set) var rate: UInt64 = 0
    /// Hosts were paused: they asked for it (429, 503) or kept failing.
    package internal(set) var paused: UInt64 = 0
    /// The receiver had no room, or the downloader was suspended.
    package internal(set) var held: UInt64 = 0
    /// Nothing waited.
    package internal(set) var empty: UInt64 = 0
  }

  mutating func add(_ nanoseconds: UInt64, limitedBy limit: StartLimit) {
    switch limit {
    case .concurrency: limitNanoseconds.concurrency += nanoseconds
    case .hosts: limitNanoseconds.hosts += nanoseconds
    case .notYet: limitNanoseconds.notYet += nanoseconds
    case .rate: limitNanoseconds.rate += nanoseconds
    case .paused: limitNanoseconds.paused += nanoseconds
    case .held: limitNanoseconds.held += nanoseconds
    case .empty: limitNanoseconds.empty += nanoseconds
    }
  }
}

/// The statistics as last written by the transfer thread; any thread may read them.
final class Monitor: Sendable {
  private struct State {
    var statistics = DownloaderStatistics()
    var limit = StartLimit.empty
    var since: MonotonicInstant
    /// Hosts that are or were paused; at most ``DownloaderStatistics/maximumPausedHosts``.
    var paused: [PausedHost] = []
  }

  private struct PausedHost {
    var host: String
    var until: MonotonicInstant
    var status: Int?
    var failure: ImageFailure?
    var isDown = false
  }

  /// The bottleneck of the whole pipeline, transfers included.
  let pipeline: PipelineMeter
  private let state: Mutex<State>
  private let time: TimeSource

  init(time: TimeSource) {
    self.time = time
    pipeline = PipelineMeter(time: time)
    state = Mutex(State(since: time.monotonic()))
  }

  /// As of now: the time since the loop's last iteration counts towards the limit of that iteration.
  var statistics: DownloaderStatistics {
    let now = time.monotonic()
    return state.withLock { state in
      var statistics = state.statistics
      statistics.add(now.since(state.since).wholeNanoseconds, limitedBy: state.limit)
      statistics.pausedHosts = state.paused.lazy.filter { $0.until > now }.map {
        DownloaderStatistics.PausedHost(
          host: $0.host,
          remaining: $0.until.since(now),
          status: $0.status,
          failure: $0.failure,
          isDown: $0.isDown
        )
      }
      return statistics
    }
  }

  /// Restarts the count of the peak.
  func forgetPeak() { state.withLock { $0.statistics.peakRunning = $0.statistics.running } }

  /// Records that a host is paused until `time`: because of `status`, or after failures if that is nil.
  func note(_ host: String, until time: MonotonicInstant, status: Int?, failure: ImageFailure? = nil, isDown: Bool = false) {
    state.withLock { state in
      let noted = PausedHost(host: host, until: time, status: status, failure: failure, isDown: isDown)
      if let index = state.paused.firstIndex(where: { $0.host == host }) {
        if state.paused[index].until < time { state.paused[index] = noted }
      } else if state.paused.count < DownloaderStatistics.maximumPausedHosts {
        state.paused.append(noted)
      } else if let index = state.paused.indices.min(by: { state.paused[$0].until < state.paused[$1].until }),
        state.paused[index].until < time
      {
        state.paused[index] = noted
      }
    }
  }

  /// Removes the pause of a host that was paused after failures.
  func forget(_ host: String) { state.withLock { state in state.paused.removeAll { $0.host == host && $0.status == nil } } }

  /// Removes all pauses after failures.
  func forgetFailures() { state.withLock { state in state.paused.removeAll { $0.status == nil } } }

  /// Ends an iteration of the loop: from `now` on, `limit` keeps more transfers from starting.
  func update(now: MonotonicInstant, limit: StartLimit, running: Int, engineRunning: Int, waiting: Int, openedConnections: Int) {
    state.withLock { state in
      state.statistics.add(now.since(state.since).wholeNanoseconds, limitedBy: state.limit)
      state.since = now
      state.limit = limit
      state.statistics.running = running
      state.statistics.peakRunning = max(state.statistics.peakRunning, running)
      state.statistics.waiting = waiting
      state.statistics.openedConnections = openedConnections
    }
    pipeline.transfersSleep(limit: limit, running: running, ofThem: engineRunning)
  }
}
