import ImageCaching
import ImageManaging
public import ImagePrimitives
import Manifests
public import Reports

/// A job with everything open that it needs: whatever can be wrong before the first request is found here.
public final class PreparedJob {
  /// The job with its caches.
  let stores: JobStores
  let manifests: JobManifests
  let reports: JobReports

  /// Opens the job's cache, manifests and reports; no network: manifests with a URL are fetched when the job runs.
  ///
  /// - Parameters:
  ///   - reportOptions: what reports have to know of the place where they are written.
  ///   - isDryRun: a dry run opens no report, and the cache only to read it, if there is one; manifests with a URL are fetched all the
  ///     same. Where the job's cache mode is `only`, which makes no request, a manifest with a URL throws.
  ///   - isStopped: asked while long files are read; true: the run will end before it begins, so that the rest is not needed.
  ///   - time: the clock by which `newer-than` counts.
  public init(
    _ job: Job,
    reportOptions: ReportOptions = ReportOptions(),
    isDryRun: Bool = false,
    isStopped: () -> Bool = { false },
    time: TimeSource = .system
  ) throws(JobError) {
    let now = time.wall()
    stores = try JobStores(job, isDryRun: isDryRun)
    manifests = try JobManifests(
      job,
      spoolDirectory: stores.writableCache == nil ? temporaryFolder() : job.cache.disk.directory,
      makesRequests: job.cache.mode != .only,
      now: now
    )
    reports = try JobReports(job, options: reportOptions, isDryRun: isDryRun, isStopped: isStopped)
  }

  public var job: Job { stores.job }

  /// What was opened, a sentence each, for logs.
  public var notes: [String] {
    ["manifests \(manifests.reader.manifestNames.joined(separator: ", "))"] + stores.notes + reports.notes
  }

  /// What is odd about the job but keeps no run from it, a sentence each; the report has them, too.
  public var warnings: [String] { reports.warnings }

  /// Finishes the reports; returns why some could not be written, the others are.
  public func writeReports(_ report: FinishedReport) -> [ReportError] { reports.write(report) }
}
