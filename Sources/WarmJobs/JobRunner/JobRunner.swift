import Glibc
import ImageCaching
import ImageDownloading
public import ImageManaging
import ImagePrefetching
public import ImagePrimitives
import Manifests
import ReportReading
public import Reporting

/// Runs prepared jobs, one after another, over one shared manager.
public final class JobRunner {
  private let manager: ImageManager
  private let version: String
  private let control: RunControl
  private let time: TimeSource
  /// By which the time for pictures is measured.
  var pictureClock: () -> MonotonicInstant = ContactSheet.processorTime
  /// The memory layers of the jobs so far: jobs with the same limits share one.
  private var memories: [Job.Cache.Memory: ImageMemory] = [:]

  /// A runner over `manager`, which other loads may use too.
  ///
  /// - Parameters:
  ///   - version: prewarm's own, for reports.
  ///   - control: stops the run from any thread.
  public init(manager: ImageManager, version: String, control: RunControl, time: TimeSource = .system) {
    self.manager = manager
    self.version = version
    self.control = control
    self.time = time
  }

  /// Runs a job to its end and gives its report; reports that grow with the run are complete then, others are not written yet.
  ///
  /// - Parameter onMiss: for a dry run: gets every entry's URL that would be fetched, once for each variant and edge, and nothing is.
  public func run(
    _ prepared: PreparedJob,
    progress: (any JobProgress)? = nil,
    onMiss: ((UnsafeRawBufferPointer) -> Void)? = nil
  ) -> FinishedReport {
    let job = prepared.job
    let startedAt = time.wall()
    let start = time.monotonic()
    let variants = job.entryVariants
    let report = RunReport(
      version: version,
      job: JobIdentity(name: job.name, file: job.file),
      variants: variants.map(\.reported),
      startedAt: startedAt,
      journals: prepared.reports.compactMap(\.journal),
      judge: prepared.earlierRuns.judge,
      listsPlaceholders: job.verify.placeholders != .ignore
    )
    var files = OpenFileBudget()
    let sheet = onMiss == nil ? prepared.makeContactSheet(manager.configuration, openFiles: files.limit) : nil
    files.reserved = sheet?.openFiles ?? 0
    let layer = job.cache.memory.map(memoryLayer)
    let context = LoadContext(
      prepared,
      coders: manager.configuration.coders,
      memory: layer,
      observer: sheet,
      startedAt: startedAt,
      isDryRun: onMiss != nil
    )
    if let warning = files.warning(concurrency: job.prefetch.concurrency) { context.recordWarning(warning) }
    var limits = job.downloadLimits
    limits.concurrency = min(limits.concurrency, files.transfers)
    manager.downloader.setLimits(limits)
    // Cookies are kept for one job.
    manager.downloader.clearCookies()
    // Another job may go another way to hosts that were down.
    manager.downloader.forgetFailures()
    let before = manager.downloader.pipeline.times
    let memory = MemoryPeak()
    let meter = ProgressMeter(jobName: job.name, start: start)
    // Where the network is never asked, nothing would be fetched.
    let onFetch = job.cache.mode == .only ? nil : onMiss
    let run = JobRun(
      reader: prepared.reader,
      jobFile: job.file.map { JobPath($0, in: currentFolder()).normalized },
      variants: variants.count,
      report: report,
      context: context,
      onMiss: onFetch
    ) {
      [time, downloader = manager.downloader] in
      let now = time.monotonic()
      report.sample(elapsed: now.since(start))
      guard meter.isDue(now: now) else { return }
      memory.sample()
      progress?.show(
        meter.snapshot(
          totals: report.totals,
          receivedBytes: report.receivedBytes,
          expected: prepared.reader.expectedEntries.map { $0 * max(1, variants.count) },
          note: downloader.statistics.pauseNote,
          now: now
        )
      )
    }
    let prefetch = PrefetchRun(manager: manager, context: context, deadline: job.prefetch.deadline, time: time)
    prepared.fetcher?.start(with: manager.downloader)
    let summary = control.running(prefetch) { prefetch.run(run) }
    prepared.fetcher?.stop()
    memory.sample()
    progress?.end()

    var end = RunEnd(finishedAt: startedAt, duration: .zero)
    end.interruption = control.signal.map { $0 == SIGINT ? .interrupt : .terminate }
    end.isPastDeadline = summary.deadlinePassed
    end.areManifestsRead = summary.sourceEnded
    end.isEmpty = summary.sourceEnded && !run.hasEntries
    end.breakage = summary.cacheError.map { "\($0)" } ?? summary.sourceError.map { "\($0)" }
    if onMiss == nil { trim(prepared, context) }
    let bound = Bound(
      manager.downloader.pipeline.times.since(before),
      peakRunning: manager.downloader.statistics.peakRunning,
      job: job,
      duration: time.monotonic().since(start)
    )
    end.boundedBy = bound.sentence
    end.boundShares = bound.shares
    end.peakMemoryBytes = memory.bytes
    describeCache(prepared, context, run, freshUntil: report.freshUntil, &end)
    end.warnings = prepared.earlierRuns.warnings + prepared.reader.warnings + context.warnings
    do throws(ReportError) {
      try report.flushJournals()
    } catch {
      end.breakage = end.breakage ?? "\(error)"
    }
    do throws(GraceStateError) {
      try prepared.earlierRuns.keep(after: end)
    } catch {
      end.breakage = end.breakage ?? "\(error)"
    }
    end.finishedAt = time.wall()
    end.duration = time.monotonic().since(start)
    var finished = report.finish(end, failOn: job.failOnRules)
    if let sheet {
      let isInterrupted = end.interruption != nil
      finished.thumbnails = sheet.finish(finished.placeholders, isInterrupted: isInterrupted, clock: pictureClock)
    }
    finished.requests = job.reportedRequests
    return finished
  }

  private func memoryLayer(_ limits: Job.Cache.Memory) -> ImageMemory {
    if let known = memories[limits] { return known }
    let memory = ImageMemory(maxCost: limits.maxCost, maxCount: limits.maxCount)
    memories[limits] = memory
    return memory
  }

  /// After a run the cache is brought within its limits: what has expired goes first.
  private func trim(_ prepared: PreparedJob, _ context: LoadContext) {
    guard let cache = prepared.cache, cache.configuration.access == .readWrite else { return }
    do throws(CacheError) {
      context.recordTrim(try cache.trim(protecting: context.startedAt))
    } catch {
      context.recordWarning("the cache could not be trimmed: \(error)")
    }
  }

  private func describeCache(
    _ prepared: PreparedJob,
    _ context: LoadContext,
    _ run: JobRun,
    freshUntil: Timestamp?,
    _ end: inout RunEnd
  ) {
    guard let cache = prepared.cache else { return }
    do throws(CacheError) {
      let totals = try cache.totals()
      var summary = CacheSummary(
        directory: prepared.job.cache.directory,
        namespace: prepared.job.cache.namespace,
        entries: UInt64(clamping: totals.entries),
        bodyBytes: UInt64(clamping: totals.bodyBytes),
        diskBytes: UInt64(clamping: try cache.diskBytes())
      )
      summary.maximumBytes = prepared.job.cache.maxSize.map { UInt64(clamping: $0) }
      let trimmed = context.trimmed
      summary.trimmedEntries = UInt64(clamping: trimmed.trimmed)
      summary.expiredEntries = UInt64(clamping: trimmed.expired)
      summary.evictedFromThisRun = UInt64(clamping: trimmed.evictedProtected)
      summary.freshUntil = freshUntil
      end.cache = summary
      end.blacklist = BlacklistSummary(
        entries: UInt64(clamping: totals.blacklistEntries),
        added: run.blacklistAdded,
        removed: run.blacklistRemoved
      )
    } catch {
      end.breakage = end.breakage ?? "\(error)"
    }
  }
}

/// The most memory that was seen.
private final class MemoryPeak {
  private(set) var bytes: UInt64 = 0

  func sample() { bytes = max(bytes, MemoryUse.current()) }
}
