import Glibc
import ImageCaching
import ImageCoding
import ImageManaging
package import Base
import Lists
package import Reports

/// A job with all its files open, so that errors are found before the first request.
package final class PreparedJob {
  /// The job with its caches.
  let stores: JobStores
  let manifests: JobManifests
  let reports: JobReports
  private let lock: RunLock?

  /// Opens the job's cache, manifests and reports without network access: manifests with a URL are fetched when the job
  /// runs. If another process runs the same lists over this cache, it waits for it first.
  ///
  /// - Parameters:
  /// - reportOptions: properties of the machine that reports need.
  ///   - isDryRun: a dry run opens no report, and the cache read-only, if there is one; manifests with a URL are still
  /// fetched. With cache mode `only`, which makes no requests, a manifest with a URL throws.
  ///   - isStopped: polled while long files are read; true ends reading early, since the run will not start.
  ///   - onWait: called before a wait, with a sentence on what it is for.
  ///   - time: the clock for `newer-than`.
  package init(
    _ job: Job,
    reportOptions: ReportOptions = ReportOptions(),
    isDryRun: Bool = false,
    isStopped: () -> Bool = { false },
    onWait: (String) -> Void = { _ in },
    time: TimeSource = .system
  ) throws(JobError) {
    if let format = job.transform?.encoding.format, let error = ImageCoderRegistry.standard.encodingError(for: format) {
      throw .transformFormat(error.message)
    }
    stores = try JobStores(job, isDryRun: isDryRun)
    lock = stores.writableCache.flatMap { cache in
      RunLock(job, in: cache) { process in
        let other = process > 0 ? "process \(process)" : "another process"
        onWait("waiting for \(other), which runs the same lists over this cache")
      }
    }
    let now = time.wall()
    manifests = try JobManifests(
      job,
      spoolDirectory: stores.writableCache == nil ? temporaryFolder() : job.cache.disk.directory,
      makesRequests: job.cache.mode != .only,
      now: now,
      cache: stores.writableCache
    )
    reports = try Self.reports(after: lock) { () throws(JobError) in
      try JobReports(job, options: reportOptions, isDryRun: isDryRun, isStopped: isStopped)
    }
  }

  /// The reports, also if the process that this one waited for was killed: the kernel releases its locks one after the other, those of
  /// its reports a few milliseconds after the run's.
  private static func reports(
    after lock: RunLock?,
    _ open: () throws(JobError) -> JobReports
  ) throws(JobError) -> JobReports {
    for _ in 0..<(lock?.hasWaited == true ? 100 : 0) {
      do throws(JobError) {
        return try open()
      } catch {
        guard case .report(let report) = error, report.step == .lock else { throw error }
        usleep(20_000)
      }
    }
    return try open()
  }

  package var job: Job { stores.job }

  /// The opened files, one sentence each, for logs.
  package var notes: [String] {
    ["lists \(manifests.source.manifestNames.joined(separator: ", "))"] + stores.notes + reports.notes
  }

  /// Warnings that don't prevent a run, one sentence each; the report has them, too.
  package var warnings: [String] { reports.warnings }

  /// How many pages of sitemaps the run has read, one sentence each.
  package var pageNotes: [String] { manifests.source.notes }

  /// Finishes the reports; returns the errors of those that couldn't be written.
  package func writeReports(_ report: FinishedReport) -> [ReportError] { reports.write(report) }
}
