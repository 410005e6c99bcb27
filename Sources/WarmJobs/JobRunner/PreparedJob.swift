import Glibc
import ImageCaching
public import ImagePrimitives
import Manifests
public import Reporting

/// A job with everything open that it needs: whatever can be wrong before the first request is found here.
public final class PreparedJob {
  /// The job as it will run.
  public let job: Job
  /// The cache; nil where the job bypasses it, and where a run that only reads finds none.
  let cache: ImageCache?
  /// Further caches to look in.
  let readOnlyCaches: [ReadOnlyCache]
  let reader: ManifestReader
  /// Who fetches what a run may fetch beside images; nil where it makes no request.
  let fetcher: JobManifestFetcher?
  /// Which failures do not count.
  let earlierRuns: EarlierRuns
  /// The job's reports, in its order.
  let reports: [any ReportWriter]

  /// Opens the job's cache, manifests and reports; no network: manifests with a URL are fetched when the job runs.
  ///
  /// - Parameters:
  ///   - reportOptions: what reports have to know of the place where they are written.
  ///   - isDryRun: a dry run opens no report, and the cache only to read it, if there is one. As it makes no request, a manifest
  ///     with a URL throws, as it does where the job's cache mode is `only`.
  ///   - keepsState: whether the run is one of those that `fail-on.grace` counts; else their state is read, and stays as it is.
  ///   - isStopped: asked while long files are read; true: the run will end before it begins, so that the rest is not needed.
  ///   - time: the clock by which `newer-than` counts.
  public init(
    _ job: Job,
    reportOptions: ReportOptions = ReportOptions(),
    isDryRun: Bool = false,
    keepsState: Bool = true,
    isStopped: () -> Bool = { false },
    time: TimeSource = .system
  ) throws(JobError) {
    self.job = job
    let now = time.wall()
    try job.request.tls.checkFiles()
    do throws(CacheError) {
      readOnlyCaches = try job.openReadOnlyCaches()
      cache = try job.openCacheForRun(isDryRun: isDryRun)
    } catch {
      throw .cache(error)
    }
    let spoolDirectory = cache?.configuration.access == .readWrite ? job.cache.directory : temporaryFolder()
    let makesRequests = !isDryRun && job.cache.mode != .only
    fetcher = makesRequests ? JobManifestFetcher(job.manifestDownloadOptions, spoolDirectory: spoolDirectory) : nil
    do throws(ManifestError) {
      reader = try ManifestReader(
        job.manifests.map { $0.readable(now: now, inlineName: job.file == nil ? "command line" : "urls") },
        order: job.prefetch.order == .fifo ? .fifo : .lifo,
        spoolDirectory: spoolDirectory,
        fetcher: fetcher
      )
    } catch {
      throw .manifest(error)
    }
    earlierRuns = isDryRun ? EarlierRuns() : try EarlierRuns(of: job, keepsState: keepsState, isStopped: isStopped)
    do throws(ReportError) {
      var reports: [any ReportWriter] = []
      for target in isDryRun ? [] : job.reports {
        var options = reportOptions
        options.listsSuccesses = target.listsSuccesses
        reports.append(try target.format.open(target.destination.path, options: options))
      }
      self.reports = reports
    } catch {
      throw .report(error)
    }
  }

  /// What was opened, a sentence each, for who wants to know.
  public var notes: [String] {
    let names = reader.manifestNames.joined(separator: ", ")
    let cachePlace = cache.map { "cache \($0.path)" } ?? "no cache (cache.mode: \(job.cache.mode.rawValue))"
    return ["manifests \(names)", cachePlace]
      + (readOnlyCaches.isEmpty ? [] : job.cache.readOnly.map { "read-only cache \($0.absolute)" })
      + (reports.isEmpty ? [] : job.reports.map { "report \($0.format.rawValue) to \($0.destination.path)" })
  }

  /// Finishes the reports; returns why some could not be written, the others are.
  public func writeReports(_ report: FinishedReport) -> [ReportError] {
    reports.compactMap { writer in
      do throws(ReportError) {
        try writer.finish(report)
        return nil
      } catch {
        return error
      }
    }
  }
}

extension Job.Request.TLS {
  /// Throws where a file of certificates or keys cannot be read; what is in it TLS tells with the first request.
  fileprivate func checkFiles() throws(JobError) {
    let files = [("ca-file", caFile), ("client-certificate", clientCertificate), ("client-key", clientKey)]
    for case (let key, let path?) in files {
      let descriptor = open(path.absolute, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw .unreadable(key: "request.tls.\(key)", path: path.written, reason: String(cString: strerror(errno)))
      }
      close(descriptor)
    }
  }
}
