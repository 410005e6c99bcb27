import Glibc
import ImageCaching
import ImageDownloading
import ImageManaging
import Base
import Reports

/// A running job over a shared manager: applies the job's rules, and measures the run.
final class JobSession {
  let context: LoadContext
  let startedAt: Timestamp
  /// The downloader's limits since the start of the session.
  let limits: DownloadLimits
  private(set) var peakMemoryBytes: UInt64 = 0

  private let stores: JobStores
  private let manager: ImageManager
  private let time: TimeSource
  private let start: MonotonicInstant
  private let waitsBefore: BottleneckTimes

  /// The parts of a session that don't follow from its job.
  struct Surroundings {
    /// The memory layer; nil if the job has none.
    var memory: ImageMemory?
    /// Receives every fetched image.
    var observer: (any ImageObserver)?
    var files = OpenFileBudget()
    /// A dry run makes no requests.
    var isDryRun = false
    var time = TimeSource.system
  }

  /// Starts a session: from now on the manager's downloader uses the limits of the job.
  init(_ stores: JobStores, over manager: ImageManager, _ surroundings: Surroundings) {
    self.stores = stores
    self.manager = manager
    time = surroundings.time
    startedAt = time.wall()
    start = time.monotonic()
    let job = stores.job
    context = LoadContext(
      stores,
      coders: manager.configuration.coders,
      memory: surroundings.memory,
      observer: surroundings.observer,
      startedAt: startedAt,
      isDryRun: surroundings.isDryRun
    )
    let files = surroundings.files
    if let warning = files.warning(concurrency: job.prefetch.limits.concurrency) { context.recordWarning(warning) }
    var limits = job.prefetch.limits
    limits.concurrency = min(limits.concurrency, files.transfers)
    self.limits = limits
    manager.downloader.setLimits(limits)
    // Cookies are kept for one job.
    manager.downloader.clearCookies()
    // Another job may reach hosts that were down in another way.
    manager.downloader.forgetFailures()
    waitsBefore = manager.downloader.pipeline.times
  }

  var job: Job { stores.job }

  var elapsed: Duration { time.monotonic().since(start) }

  /// Loads all entries of `delegate` by the job's rules until `control` stops it.
  func load(
    _ delegate: some PrefetchDelegate,
    deadline: Duration?,
    _ control: RunControl
  ) -> PrefetchRun.Summary {
    let prefetch = PrefetchRun(manager: manager, context: context, deadline: deadline, time: time)
    let summary = control.running(prefetch) { prefetch.run(delegate) }
    context.endLookUps()
    sampleMemory()
    return summary
  }

  func sampleMemory() { peakMemoryBytes = max(peakMemoryBytes, MemoryUse.current()) }

  func meter() -> ProgressMeter { ProgressMeter(jobName: job.identity.title, start: start) }

  /// A note about the host that is paused now; nil if none is.
  var pauseNote: String? { manager.downloader.statistics.pauseNote }

  /// The bottleneck so far.
  ///
  /// - Parameter unreachable: the reason why the host with most failures of this kind can't be reached; nil if all can.
  func bound(unreachable: FailureReason?) -> Bound {
    Bound(
      manager.downloader.pipeline.times.since(waitsBefore),
      peakRunning: manager.downloader.statistics.peakRunning,
      unreachable: unreachable,
      job: job,
      duration: elapsed
    )
  }

  /// Brings the cache within its limits; expired images are evicted first.
  ///
  /// - Parameter isWhole: whether each image was requested successfully or is permanently bad. Otherwise expired images are kept as
  ///   long as there is room, since an outage must not empty the cache.
  func trim(isWhole: Bool) {
    guard let cache = stores.writableCache else { return }
    do throws(CacheError) {
      let result = try cache.trim(
        protecting: context.startedAt,
        used: context.used,
        keepsExpired: !isWhole,
        ageEnd: context.runStart
      )
      context.recordTrim(result)
      let evicted = context.trimmed
      let needed = try evicted.evictedProtected > 0 ? cache.totals().bodyBytes + evicted.evictedProtectedBytes : nil
      try cache.keep(sufficientSize: needed)
    } catch {
      context.recordWarning("cannot trim the cache: \(error.jobSentence)")
    }
  }

  /// The cache and its blacklist as they are now, for a report; nil if there is none.
  ///
  /// - Parameter freshUntil: the time until which all good entries of the run are fresh.
  func describeCache(freshUntil: Timestamp?) throws(CacheError) -> (cache: CacheSummary, blacklisted: UInt64)? {
    guard let cache = stores.cache else { return nil }
    let totals = try cache.totals()
    var summary = CacheSummary(
      directory: job.cache.disk.directory,
      namespace: job.cache.disk.namespace,
      entries: UInt64(clamping: totals.entries),
      bodyBytes: UInt64(clamping: totals.bodyBytes),
      diskBytes: UInt64(clamping: try cache.diskBytes())
    )
    summary.maximumBytes = job.cache.disk.maxSize.map { UInt64(clamping: $0) }
    let trimmed = context.trimmed
    summary.trimmedEntries = UInt64(clamping: trimmed.trimmed)
    summary.expiredEntries = UInt64(clamping: trimmed.expired)
    summary.evictedFromThisRun = UInt64(clamping: trimmed.evictedProtected)
    // All others went first, so the rest are images of this run.
    if trimmed.evictedProtected > 0 {
      summary.sufficientBytes = summary.bodyBytes + UInt64(clamping: trimmed.evictedProtectedBytes)
    }
    summary.freshUntil = freshUntil
    return (summary, UInt64(clamping: totals.blacklistEntries))
  }
}
