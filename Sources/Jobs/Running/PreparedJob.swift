import Glibc
import ImageCoding
import ImageManaging
package import Base
package import ImageCaching
package import Lists
package import Reports

/// A job with all its files open, so that errors are found before the first request.
package final class PreparedJob {
  package let job: Job
  /// The cache; nil if the job bypasses it, or a read-only run finds none.
  let cache: ImageCache?
  let readOnlyCaches: [ReadOnlyCache]
  let lists: JobLists
  package let reports: JobReports
  private let lock: RunLock?

  /// Opens the job's cache, lists and reports without network access: lists with a URL are fetched when the job runs, and throw
  /// with cache mode `only`. If another process runs the same lists over this cache, it waits for it first.
  ///
  /// - Parameters:
  ///   - isDryRun: a dry run opens no report, and the cache read-only, if there is one.
  ///   - spoolFolder: the folder for parts of lists if the run changes no cache.
  ///   - isStopped: polled while long files are read; true ends reading early, since the run will not start.
  ///   - onWait: called before a wait, with a sentence on what it is for.
  package init(
    _ job: Job,
    reportOptions: ReportOptions = ReportOptions(),
    isDryRun: Bool = false,
    spoolFolder: @autoclosure () -> String = temporaryFolder(),
    isStopped: () -> Bool = { false },
    onWait: (String) -> Void = { _ in },
    time: TimeSource = .system
  ) throws(JobError) {
    if let format = job.transform?.encoding.format, let error = ImageCoderRegistry.standard.encodingError(for: format) {
      throw .transformFormat(error.message)
    }
    self.job = job
    try job.request.tls.checkFiles()
    do throws(CacheError) {
      readOnlyCaches = try job.openReadOnlyCaches()
      cache = try job.openCacheForRun(isDryRun: isDryRun)
    } catch {
      throw .cache(error)
    }
    let writableCache = Self.writable(cache)
    lock = writableCache.flatMap { cache in
      RunLock(job, in: cache) { process in
        let other = process > 0 ? "process \(process)" : "another process"
        onWait("waiting for \(other), which runs the same lists over this cache")
      }
    }
    let now = time.wall()
    lists = try JobLists(
      job,
      spoolDirectory: writableCache?.path ?? spoolFolder(),
      makesRequests: job.cache.mode != .only,
      now: now,
      cache: writableCache
    )
    reports = try Self.reports(after: lock) { () throws(JobError) in
      try JobReports(job, options: reportOptions, isDryRun: isDryRun, isStopped: isStopped)
    }
  }

  /// The reports, also if the process that this one waited for was killed: the kernel releases its locks one after the other, those of
  /// its reports a few milliseconds after the run's.
  private static func reports(after lock: RunLock?, _ open: () throws(JobError) -> JobReports) throws(JobError) -> JobReports {
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

  var writableCache: ImageCache? { Self.writable(cache) }

  private static func writable(_ cache: ImageCache?) -> ImageCache? { cache?.configuration.access == .readWrite ? cache : nil }

  /// The opened files, one sentence each, for logs.
  package var notes: [String] {
    ["lists \(lists.source.listNames.joined(separator: ", "))"]
      + [cache.map { "cache \($0.path)" } ?? "no cache (cache.mode: \(JobCodec.cacheMode.text(job.cache.mode)))"]
      + readOnlyCaches.indices.map { "read-only cache \(job.cache.readOnly[$0].absolute)" } + reports.notes
  }

  /// How many pages of sitemaps the run has read, one sentence each.
  package var pageNotes: [String] { lists.source.notes }
}

extension Job.Request.TLSFiles {
  /// Throws if a file of certificates or keys can't be read; TLS reports errors of its contents with the first request.
  fileprivate func checkFiles() throws(JobError) {
    let files = [("ca-file", caFile), ("client-certificate", clientCertificate), ("client-key", clientKey)]
    for case (let key, let path?) in files {
      let descriptor = open(path.absolute, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw .unreadable(key: "request.tls.\(key)", path: path.written, reason: errorSentence())
      }
      close(descriptor)
    }
  }
}

extension Job {
  /// Opens the job's cache with its rules.
  ///
  /// Throws if the folder can't be used in this mode, or with `.readOnly` if there is no cache.
  package func openCache(access: ImageCache.Access) throws(CacheError) -> ImageCache {
    var configuration = cache.disk
    configuration.access = access
    // A run that went on in a new folder would report images that went with the old one.
    return try ImageCache(configuration, recreates: false)
  }

  /// The cache that a run needs; nil if the job bypasses it, or a read-only run finds none.
  func openCacheForRun(isDryRun: Bool) throws(CacheError) -> ImageCache? {
    switch cache.mode {
    case .bypass: return nil
    case .only: break
    default: if !isDryRun { return try openCache(access: .readWrite) }
    }
    do throws(CacheError) {
      return try openCache(access: .readOnly)
    } catch {
      if case .missing = error { return nil }
      throw error
    }
  }

  /// The further caches that a run looks in; empty if it uses no cache. Throws if one is missing.
  ///
  /// In a cache, images older than `max-age` aren't hits; files of a flat folder have no age.
  func openReadOnlyCaches() throws(CacheError) -> [ReadOnlyCache] {
    if cache.mode == .bypass { return [] }
    var caches: [ReadOnlyCache] = []
    for path in cache.readOnly {
      caches.append(try ReadOnlyCache(opening: path.absolute, namespace: cache.disk.namespace, maxAge: cache.disk.maxAge))
    }
    return caches
  }
}

package enum JobError: Error, Sendable, CustomStringConvertible {
  case cache(CacheError)
  case list(ListError)
  /// The entries of a plan can't be read to their end, or not be written.
  case plan(ListError)
  case report(ReportError)
  /// The report of `fail-on.baseline`.
  case baseline(ReportReadingError)
  /// A file that a key of the job names can't be read.
  case unreadable(key: String, path: String, reason: String)
  /// Images can't be written in the format of `transform.format`.
  case transformFormat(String)
  /// The job requests several images per entry, but a file contains one.
  case severalImages(perEntry: Int)

  package var description: String {
    switch self {
    case .cache(let error): error.jobSentence
    case .list(let error), .plan(let error): "\(error)"
    case .report(let error): "\(error)"
    case .baseline(let error): "fail-on.baseline: \(error)"
    case .unreadable(let key, let path, let reason): "\(key): cannot read \(path): \(reason)"
    case .transformFormat(let reason): "transform.format: \(reason)"
    case .severalImages(let count):
      "the job requests each entry in \(count) ways (variants, edges), and a file doesn't show which one it belongs to; import with a "
        + "job that has only one"
    }
  }
}

/// Keeps runs of the same lists over one cache apart: the second waits, and then finds the images of the first.
///
/// It is a lock (fcntl(2)) on one byte of `runs.lock` in the cache's folder, whose position is a hash of the lists. The kernel releases
/// it when the process ends in any way, and refuses a wait that would never end, as of two processes with the same jobs in other orders.
/// Runs of one process never wait for each other.
final class RunLock {
  private let descriptor: FileDescriptor
  /// Whether another process had it.
  private(set) var hasWaited = false

  /// Waits until no other process runs the lists of `job`; nil if the file system has no such locks, or if a list is standard input,
  /// which no other run reads.
  ///
  /// - Parameter onWait: called before a wait, with the process that it is for; 0 if that is in another container.
  init?(_ job: Job, in cache: ImageCache, onWait: (pid_t) -> Void) {
    guard !job.manifests.contains(where: \.isStandardInput) else { return nil }
    let number = open("\(cache.path)/runs.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard number >= 0 else { return nil }
    descriptor = FileDescriptor(owning: number)
    let lists = "\(job.manifests.map(\.list.source)) \(job.shard.map { "\($0.index)/\($0.count)" } ?? "")"
    let hash = Array(lists.utf8).withUnsafeBytes { checksum(of: $0) }
    var lock = flock()
    (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
    // Positive, and with room for the byte's end.
    (lock.l_start, lock.l_len) = (Int(hash.low >> 2), 1)
    if fcntl(number, F_SETLK, &lock) == 0 { return }
    guard errno == EACCES || errno == EAGAIN else { return nil }
    hasWaited = true
    var holder = lock
    if fcntl(number, F_GETLK, &holder) == 0, holder.l_type != Int16(F_UNLCK) { onWait(max(0, holder.l_pid)) }
    while fcntl(number, F_SETLKW, &lock) != 0 { if errno != EINTR { return nil } }
  }
}
