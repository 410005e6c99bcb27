import Base
import Glibc
package import ImageCaching
import ImageManaging

/// The stores that every run of a job opens before its first request, for any source of entries: the caches, and files
/// named by keys.
package final class JobStores {
  package let job: Job
  /// The cache; nil if the job bypasses it, or a read-only run finds none.
  let cache: ImageCache?
  /// More caches to look in.
  let readOnlyCaches: [ReadOnlyCache]

  /// Opens the caches of `job`.
  ///
  /// - Parameter isDryRun: a dry run opens the cache read-only, if there is one.
  /// - Throws: ``JobError`` if a cache or a file of certificates or keys can't be used.
  package init(_ job: Job, isDryRun: Bool = false) throws(JobError) {
    self.job = job
    try job.request.tls.checkFiles()
    do throws(CacheError) {
      readOnlyCaches = try job.openReadOnlyCaches()
      cache = try job.openCacheForRun(isDryRun: isDryRun)
    } catch {
      throw .cache(error)
    }
  }

  /// The cache, if this run may write it.
  var writableCache: ImageCache? { cache?.configuration.access == .readWrite ? cache : nil }

  /// The caches, one sentence each, for logs.
  var notes: [String] {
    [cache.map { "cache \($0.path)" } ?? "no cache (cache.mode: \(JobCodec.cacheMode.text(job.cache.mode)))"]
      + (readOnlyCaches.isEmpty ? [] : job.cache.readOnly.map { "read-only cache \($0.absolute)" })
  }
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
    return try ImageCache(configuration)
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
