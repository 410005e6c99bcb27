import ImageDownloading
import ImagePrimitives

/// What held a run's speed down, from how long each limit kept transfers from starting.
struct Bound {
  /// A limit that held for less than this part of the run did not hold it down.
  private static let leastPart = 0.25
  /// Nor did one that held for less than this: a run so short needs no advice.
  private static let leastDuration = Duration.milliseconds(50)

  /// For how long each limit kept transfers from starting, in nanoseconds.
  struct LimitTimes {
    /// All transfers of the job were used.
    var concurrency: UInt64 = 0
    /// What waited had to wait for its host.
    var hosts: UInt64 = 0
    /// The time of the next request had not come.
    var rate: UInt64 = 0
    /// Hosts were left alone.
    var paused: UInt64 = 0
    /// There was no room for what transfers bring.
    var held: UInt64 = 0
  }

  /// The limit that held longest, and what to do; nil where none held for long.
  let sentence: String?

  /// - Parameter peakRunning: the most transfers that ran at once.
  init(_ times: LimitTimes, peakRunning: Int, job: Job, duration: Duration) {
    let concurrency = job.prefetch.concurrency
    let used = min(peakRunning, concurrency)
    let limits = [
      (
        times.concurrency,
        "concurrency: all \(concurrency) transfers used; raise prefetch.concurrency"
      ),
      (
        times.hosts,
        "per-host: \(used) of \(concurrency) transfers used; raise prefetch.per-host"
      ),
      (times.rate, "rate: requests waited for their time; raise \(job.prefetch.slowestRateKey)"),
      (
        times.paused,
        "paused: hosts that answered 429 or 503, or only failed, were left alone; ask them for less with prefetch.per-host-rate"
      ),
      (
        times.held,
        job.verify.decode == .full
          ? "decoding: transfers waited for images to be decoded; use more cores, or verify.decode: header"
          : "disk: transfers waited for the cache to be written; use a faster disk"
      ),
    ]
    let least = max(Double(duration.wholeNanoseconds) * Self.leastPart, Double(Self.leastDuration.wholeNanoseconds))
    sentence = limits.filter { Double($0.0) > least }.max { $0.0 < $1.0 }?.1
  }
}

extension Bound.LimitTimes {
  /// What a downloader has counted since `before`.
  init(from before: DownloaderStatistics, to after: DownloaderStatistics) {
    let earlier = before.boundNanoseconds
    let later = after.boundNanoseconds
    concurrency = later.concurrency &- earlier.concurrency
    hosts = later.hosts &- earlier.hosts
    rate = later.rate &- earlier.rate
    paused = later.paused &- earlier.paused
    held = later.held &- earlier.held
  }
}

extension Job.Prefetch {
  /// The key of the rate that holds a run down.
  fileprivate var slowestRateKey: String {
    switch (rate, perHostRate) {
    case (_?, nil): "prefetch.rate"
    case (nil, _): "prefetch.per-host-rate"
    case (_?, _?): "prefetch.rate or prefetch.per-host-rate"
    }
  }
}
