import ImageCaching
import ImageDownloading
package import ImageManaging
package import Base
import Lists
package import Reports

/// Runs prepared jobs, one after another, over one shared manager.
package final class JobRunner {
  private let manager: ImageManager
  private let version: String
  private let control: RunControl
  private let time: TimeSource
  /// The clock that measures the time for pictures.
  var pictureClock: () -> MonotonicInstant = ContactSheet.processorTime
  /// The memory layers of earlier jobs: jobs with the same limits share one.
  private var memories: [Job.Cache.Memory: ImageMemory] = [:]

  /// Creates a runner over `manager`, which may also be used for other loads.
  ///
  /// - Parameters:
  /// - version: prewarm's version, for reports.
  /// - control: stops the run from any thread.
  package init(manager: ImageManager, version: String, control: RunControl, time: TimeSource = .system) {
    self.manager = manager
    self.version = version
    self.control = control
    self.time = time
  }

  /// Runs a job to its end and returns its report. Reports that grow during the run are then complete; others aren't
  /// written yet.
  ///
  /// - Parameter onMiss: for a dry run: called with the URL of every entry that would be fetched, once for each variant
  ///   and edge; nothing is fetched.
  package func run(
    _ prepared: PreparedJob,
    progress: (any JobProgress)? = nil,
    onMiss: ((UnsafeRawBufferPointer) -> Void)? = nil
  ) -> FinishedReport {
    let job = prepared.job
    let reader = prepared.manifests.source
    let variants = job.requestVariants
    var surroundings = JobSession.Surroundings(isDryRun: onMiss != nil, time: time)
    let sheet = onMiss == nil ? job.makeContactSheet(manager.configuration, openFiles: surroundings.files.limit) : nil
    surroundings.files.reserved = sheet?.openFiles ?? 0
    surroundings.memory = job.cache.memory.map(memoryLayer)
    surroundings.observer = sheet
    let session = JobSession(prepared.stores, over: manager, surroundings)
    let report = RunReport(
      version: version,
      job: job.identity,
      words: .job(file: job.file),
      variants: variants,
      startedAt: session.startedAt,
      journals: prepared.reports.journals,
      judge: prepared.reports.baseline,
      listedFailures: prepared.reports.listedFailures,
      listsPlaceholders: job.verify.placeholders != .ignore,
      lint: onMiss == nil ? job.appliedLint : Lint(),
      countsImagesOnce: true
    )
    let meter = session.meter()
    // In mode `only`, nothing would be fetched.
    let onFetch = job.cache.mode == .only ? nil : onMiss
    let run = JobRun(
      reader: reader,
      jobFile: job.absoluteFile,
      variants: variants.count,
      report: report,
      context: session.context,
      onMiss: onFetch,
      onFault: control.endRun
    ) { [time] in
      report.sample(elapsed: session.elapsed)
      let now = time.monotonic()
      guard meter.isDue(now: now) else { return }
      session.sampleMemory()
      progress?.show(
        meter.snapshot(
          totals: report.totals,
          receivedBytes: report.receivedBytes,
          expected: reader.expectedEntries.map { $0 * max(1, variants.count) },
          note: session.pauseNote,
          lastFailure: report.lastFailure,
          now: now
        )
      )
    }
    let summary = prepared.manifests.fetching(with: manager.downloader) {
      session.load(run, deadline: job.prefetch.deadline, control)
    }
    progress?.end()

    var end = RunEnd(finishedAt: session.startedAt, duration: .zero)
    end.interruption = control.interruption
    end.isPastDeadline = summary.deadlinePassed
    end.areManifestsRead = summary.sourceEnded
    end.isEmpty = summary.sourceEnded && !run.hasEntries && !reader.othersHaveEntries
    end.breakage =
      summary.cacheError.map(\.jobSentence) ?? run.networkFault ?? summary.sourceError.map { sentence(of: $0, job) }
    let isWhole = end.areManifestsRead && end.breakage == nil && report.totals.cancelled + report.transientFailures == 0
    if onMiss == nil { session.trim(isWhole: isWhole) }
    let bound = session.bound(unreachable: report.unreachable)
    end.bottleneck = bound.sentence
    end.bottlenecks = bound.shares
    end.peakMemoryBytes = session.peakMemoryBytes
    describeCache(session, run, freshUntil: report.freshUntil, &end)
    end.warnings = prepared.reports.warnings + prepared.manifests.warnings + session.context.warnings
    prepared.reports.flushJournals(of: report, &end)
    end.finishedAt = time.wall()
    end.duration = session.elapsed
    var finished = report.finish(end, failOn: job.appliedLimits)
    if let sheet {
      let isInterrupted = end.interruption != nil
      finished.thumbnails = sheet.finish(finished.placeholders, isInterrupted: isInterrupted, clock: pictureClock)
    }
    finished.requests = job.reportedRequests
    finished.job.shard?.list = reader.listFingerprint.map { ReportedList(entries: $0.entries, fingerprint: $0.sum) }
    return finished
  }

  private func sentence(of error: any Error, _ job: Job) -> String {
    (error as? ManifestError).map { "\(job.namingOptions(in: $0))" } ?? jobSentence(of: error)
  }

  private func memoryLayer(_ limits: Job.Cache.Memory) -> ImageMemory {
    if let known = memories[limits] { return known }
    let memory = ImageMemory(maxCost: limits.maxCost, maxCount: limits.maxCount)
    memories[limits] = memory
    return memory
  }

  private func describeCache(_ session: JobSession, _ run: JobRun, freshUntil: Timestamp?, _ end: inout RunEnd) {
    do throws(CacheError) {
      guard let (cache, blacklisted) = try session.describeCache(freshUntil: freshUntil) else { return }
      end.cache = cache
      end.blacklist = BlacklistSummary(entries: blacklisted, added: run.blacklistAdded, removed: run.blacklistRemoved)
    } catch {
      end.breakage = end.breakage ?? error.jobSentence
    }
  }
}
