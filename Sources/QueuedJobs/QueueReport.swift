#if Queue
public import WarmJobs
import ImageManaging
import ImagePrimitives
public import Reports
public import WorkQueues

/// Makes a job's reports from the results of its workers, as if it were one run.
///
/// Totals, failures, hosts and latencies are computed from the rows, each of which counts once. Data that only workers
/// have is missing: their caches, their bottlenecks, and pictures for the HTML report. It can be repeated at any time,
/// since results stay in the queue until they are reported.
public final class QueueReport {
  private static let pollInterval = Duration.milliseconds(200)

  private let job: Job
  private let location: QueueLocation
  private let reports: JobReports
  private let version: String
  private let control: RunControl
  private let follower: RetryingFollower
  private let time = TimeSource.system

  /// Whether ``follow(_:progress:)`` has returned a report of all entries, so that it won't change.
  public private(set) var isFinal = false

  /// Creates a report on `job`, which was put into the queue at `location`.
  ///
  /// - Parameter note: called with the reason if it keeps waiting.
  public init(
    _ job: Job,
    at location: QueueLocation,
    reports: JobReports,
    version: String,
    control: RunControl,
    note: @escaping (String) -> Void
  ) {
    (self.job, self.location, self.reports, self.version, self.control) = (job, location, reports, version, control)
    follower = RetryingFollower(follower: QueueFollower(location), control: control, note: note)
  }

  /// Waits until all entries are final, and returns the report; after a signal, the report says that it is incomplete.
  ///
  /// The queue and the data for the job's next run stay unchanged until ``close(_:)``.
  ///
  /// - Parameter size: the size of the queue after filling; if the queue has less, Redis has lost data, and the report
  ///   says so.
  public func follow(_ size: QueueSize, progress: (any JobProgress)?) throws(QueueJobError) -> FinishedReport {
    let queue = try follower.retrying { follower throws(QueueError) in try follower.open() }
    guard let queue else { throw .unreadable(location, "it was deleted") }
    let report = RunReport(
      version: version,
      job: job.identity,
      words: .job,
      startedAt: queue.job.created,
      journals: reports.journals,
      judge: reports.baseline,
      listedFailures: reports.listedFailures,
      listsPlaceholders: job.verify.placeholders != .ignore,
      countsImagesOnce: true
    )
    let replay = try makeReplay(into: report)
    let remarks = try follower.retrying { follower throws(QueueError) in try follower.remarks() }
    var end = RunEnd(finishedAt: nil, duration: .zero)
    do throws(QueueJobError) {
      try follow(queue, of: size, report, replay, progress, &end)
    } catch {
      guard case .interrupted = error else { throw error }
      end.interruption = control.interruption
      let expected = job.expectedOutcomes(of: size.entries)
      end.outstanding = expected - min(expected, report.totals.urls)
    }
    progress?.end()
    reports.flushJournals(of: report, &end)
    isFinal = end.interruption == nil && end.breakage == nil
    end.breakage = end.breakage ?? remarks.breakage
    if remarks.breakage != nil { end.areManifestsRead = false }
    end.isEmpty = end.areManifestsRead && end.interruption == nil && end.breakage == nil && replay.remarks.kept == 0
    end.warnings = reports.warnings + remarks.warnings
    end.peakMemoryBytes = MemoryUse.current()
    end.finishedAt = max(time.wall(), queue.job.created)
    end.duration = (end.finishedAt ?? queue.job.created).since(queue.job.created)
    var finished = report.finish(end, failOn: job.failOn)
    finished.requests = job.reportedRequests
    return finished
  }

  /// Records that the reports are written: removes the results, allows the queue to be filled again, and saves the run
  /// for comparison with the next.
  public func close(_ report: FinishedReport) throws(QueueJobError) {
    try follower.retrying { follower throws(QueueError) in try follower.markReported() }
  }

  private func makeReplay(into report: RunReport) throws(QueueJobError) -> RowReplay {
    let replay = RowReplay(into: report)
    let manifests = try follower.retrying { follower throws(QueueError) in try follower.manifests() }
    for (index, manifest) in manifests.enumerated() {
      replay.addManifest(manifest.name, file: manifest.file, key: String(index))
    }
    // Identifies images by the job's rule, with a context of this process.
    let context = job.context(variants: [], in: nil, at: time.wall())
    replay.imageHash = { url, parts in context.imageHash(of: url, parts: parts) }
    return replay
  }

  private func follow(
    _ queue: OpenQueue,
    of size: QueueSize,
    _ report: RunReport,
    _ replay: RowReplay,
    _ progress: (any JobProgress)?,
    _ end: inout RunEnd
  ) throws(QueueJobError) {
    let start = time.monotonic()
    let meter = ProgressMeter(jobName: job.name, start: start)
    var position = QueueResult.ID.start
    end.areManifestsRead = false
    while true {
      let state = try follower.retrying { follower throws(QueueError) in try follower.progress() }
      guard let state, state.isOf(queue) else {
        end.breakage = "\(location) was deleted or filled again before its job was finished"
        return
      }
      guard !state.isReported else {
        end.breakage = "another prewarm enqueue --wait has reported on \(location) and removed its results"
        return
      }
      guard state.isSealed, state.written.entries >= size.entries else {
        end.breakage =
          "Redis has lost the last writes to \(location); run the same command again to resume, and set appendfsync to always"
        return
      }
      end.areManifestsRead = true
      // The results of all entries that were final at that time are available now.
      try read(&position, into: replay, &end) { [job] in
        let now = self.time.monotonic()
        report.sample(elapsed: now.since(start))
        guard let progress, meter.isDue(now: now) else { return }
        let note = state.openMessages == 0 ? nil : state.workersNote
        progress.show(
          meter.snapshot(
            totals: report.totals,
            receivedBytes: report.receivedBytes,
            expected: Int(clamping: job.expectedOutcomes(of: state.written.entries)),
            note: note,
            now: now
          )
        )
      }
      if state.isDrained {
        end.breakage = end.breakage ?? state.lossSentence(report.totals).map { "\(location) \($0)" }
        return
      }
      try follower.sleep(Self.pollInterval)
    }
  }

  /// Counts all results after `position`.
  private func read(
    _ position: inout QueueResult.ID,
    into replay: RowReplay,
    _ end: inout RunEnd,
    _ counted: () -> Void
  ) throws(QueueJobError) {
    while true {
      let results = try follower.retrying { [position] follower throws(QueueError) in try follower.results(after: position) }
      for result in results {
        position = result.id
        do throws(ReportReadingError) {
          guard let payload = result.payload else { throw ReportReadingError(path: "", message: "wasn't written by prewarm") }
          try payload.withRawBytes { rows throws(ReportReadingError) in try replay.add(rows, from: "a result in \(location)") }
        } catch {
          end.breakage = end.breakage ?? "a result in \(location) \(error.message)"
        }
      }
      counted()
      if results.isEmpty { return }
      if control.signal != nil { throw .interrupted }
    }
  }
}

extension Job {
  /// The final number of outcomes of `entries`: one for each variant.
  fileprivate func expectedOutcomes(of entries: UInt64) -> UInt64 {
    let (count, overflow) = entries.multipliedReportingOverflow(by: UInt64(max(1, requestVariants.count)))
    return overflow ? .max : count
  }
}

extension QueueProgress {
  /// The number of workers, for the progress line.
  fileprivate var workersNote: String {
    workers == 0 ? "no workers; start one with prewarm worker" : workers == 1 ? "1 worker" : "\(workers) workers"
  }

  /// Describes what is missing in a drained queue; nil if each entry is final.
  ///
  /// - Parameter totals: the totals of the results that were read.
  fileprivate func lossSentence(_ totals: Totals) -> String? {
    if undecodableMessages > 0 {
      return "contained \(counted(undecodableMessages, "unreadable message")), written by another program; "
        + "start over with --replace"
    }
    guard finalEntries == written.entries else {
      return "has \(written.entries) entries, but \(finalEntries) are final: another program has changed its streams; "
        + "start over with --replace"
    }
    guard zip(LoadOutcome.allCases, counts).contains(where: { totals[$0] != $1 }) else { return nil }
    let said = "counts \(counts.reduce(0, &+)) results but contains \(totals.urls): Redis has lost or repeated some"
    return said + ", which may happen unless appendfsync is set to always; run again with --wait, and if the error stays, "
      + "start over with --replace"
  }
}
#endif
