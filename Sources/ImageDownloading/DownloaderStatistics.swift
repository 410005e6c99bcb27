public import ImagePrimitives
import Synchronization

/// How busy an ``ImageDownloader`` is, and what has held it back since it started.
public struct DownloaderStatistics: Sendable {
  /// Transfers running now.
  public internal(set) var running = 0
  /// The most transfers that ran at once since the limits were last set.
  public internal(set) var peakRunning = 0
  /// Downloads waiting now, retries included.
  public internal(set) var waiting = 0
  /// Connections opened so far.
  public internal(set) var openedConnections = 0
  /// For how long each limit was what kept more transfers from starting, in nanoseconds.
  public internal(set) var limitNanoseconds = LimitTimes()
  /// Some of the hosts that nothing is asked of for a while, at most ``maximumPausedHosts``: those whose pause ends last.
  public internal(set) var pausedHosts: [PausedHost] = []

  /// So many paused hosts are told of.
  public static let maximumPausedHosts = 4

  /// A host that nothing is asked of for a while.
  public struct PausedHost: Sendable, Hashable {
    /// Its name, with its port where that is not the scheme's own.
    public internal(set) var host: String
    /// For how long still.
    public internal(set) var remaining: Duration
    /// The status by which it asked for the pause, 429 or 503; nil where it does nothing but fail (``CircuitBreaker``).
    public internal(set) var status: Int?
    /// Its last failure, where it does nothing but fail.
    public internal(set) var failure: Failure?
    /// Whether its downloads fail meanwhile instead of waiting.
    public internal(set) var isDown = false
  }

  /// Nanoseconds by what bounded the downloader.
  public struct LimitTimes: Sendable, Hashable {
    /// All transfers of the global limit were used.
    public internal(set) var concurrency: UInt64 = 0
    /// Hosts were at their limit.
    public internal(set) var hosts: UInt64 = 0
    /// What waited had to wait for its host's first connection, or for the time of its retry.
    public internal(set) var notYet: UInt64 = 0
    /// The time of the next request, by ``DownloadLimits/rate`` or ``DownloadLimits/perHostRate``, had not come.
    public internal(set) var rate: UInt64 = 0
    /// Hosts were paused: by their own wish (429, 503), or since they did nothing but fail.
    public internal(set) var paused: UInt64 = 0
    /// The receiver had no room, or the downloader was suspended.
    public internal(set) var held: UInt64 = 0
    /// Nothing waited.
    public internal(set) var empty: UInt64 = 0
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
    var failure: Failure?
    var isDown = false
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

  /// Counts the peak anew.
  func forgetPeak() { state.withLock { $0.statistics.peakRunning = $0.statistics.running } }

  /// Notes that a host is left alone until `time`, since it asked for that by `status` or, without one, did nothing but fail.
  func note(_ host: String, until time: MonotonicInstant, status: Int?, failure: Failure? = nil, isDown: Bool = false) {
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

  /// Notes that a host is asked again.
  func forget(_ host: String) { state.withLock { state in state.paused.removeAll { $0.host == host && $0.status == nil } } }

  /// Notes that all hosts are asked again but those that asked for a pause.
  func forgetFailures() { state.withLock { state in state.paused.removeAll { $0.status == nil } } }

  /// Ends a turn of the loop: from `now` on, `limit` is what keeps more from starting.
  func update(now: MonotonicInstant, limit: StartLimit, running: Int, waiting: Int, openedConnections: Int) {
    state.withLock { state in
      state.statistics.add(now.since(state.since).wholeNanoseconds, limitedBy: state.limit)
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
