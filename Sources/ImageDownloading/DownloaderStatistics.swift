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
  public internal(set) var boundNanoseconds = BoundTimes()
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
  }

  /// Nanoseconds by what bounded the downloader.
  public struct BoundTimes: Sendable, Hashable {
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

  mutating func add(_ nanoseconds: UInt64, boundBy limit: StartLimit) {
    switch limit {
    case .concurrency: boundNanoseconds.concurrency += nanoseconds
    case .hosts: boundNanoseconds.hosts += nanoseconds
    case .notYet: boundNanoseconds.notYet += nanoseconds
    case .rate: boundNanoseconds.rate += nanoseconds
    case .paused: boundNanoseconds.paused += nanoseconds
    case .held: boundNanoseconds.held += nanoseconds
    case .empty: boundNanoseconds.empty += nanoseconds
    }
  }
}
