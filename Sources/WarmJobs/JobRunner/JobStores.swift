import Glibc
package import ImageCaching
import ImageManaging

/// What every run of a job opens before its first request, wherever its entries come from: the caches, and files that its keys
/// name.
public final class JobStores {
  /// The job as it will run.
  public let job: Job
  /// The cache; nil where the job bypasses it, and where a run that only reads finds none.
  let cache: ImageCache?
  /// Further caches to look in.
  let readOnlyCaches: [ReadOnlyCache]

  /// Opens the caches of `job`.
  ///
  /// - Parameter isDryRun: a dry run opens the cache only to read it, if there is one.
  /// - Throws: ``JobError`` where a cache or a file of certificates or keys cannot be used.
  public init(_ job: Job, isDryRun: Bool = false) throws(JobError) {
    self.job = job
    try job.request.tls.checkFiles()
    do throws(CacheError) {
      readOnlyCaches = try job.openReadOnlyCaches()
      cache = try job.openCacheForRun(isDryRun: isDryRun)
    } catch {
      throw .cache(error)
    }
  }

  /// The cache, where this run may write it.
  package var writableCache: ImageCache? { cache?.configuration.access == .readWrite ? cache : nil }

  /// The caches, a sentence each, for who wants to know.
  var notes: [String] {
    [cache.map { "cache \($0.path)" } ?? "no cache (cache.mode: \(JobCodec.cacheMode.text(job.cache.mode)))"]
      + (readOnlyCaches.isEmpty ? [] : job.cache.readOnly.map { "read-only cache \($0.absolute)" })
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
