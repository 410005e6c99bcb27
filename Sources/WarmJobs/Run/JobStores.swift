import ImagePrimitives
import Glibc
public import ImageCaching
import ImageManaging

/// What every run of a job opens before its first request, wherever its entries come from: the caches, and files that its keys
/// name.
public final class JobStores {
  public let job: Job
  /// The cache; nil if the job bypasses it, and where a run that only reads finds none.
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

  /// The caches, a sentence each, for logs.
  var notes: [String] {
    [cache.map { "cache \($0.path)" } ?? "no cache (cache.mode: \(JobCodec.cacheMode.text(job.cache.mode)))"]
      + (readOnlyCaches.isEmpty ? [] : job.cache.readOnly.map { "read-only cache \($0.absolute)" })
  }
}

extension Job.Request.TLSFiles {
  /// Throws if a file of certificates or keys cannot be read; what is in it TLS tells with the first request.
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
  /// Throws if the folder cannot be used so; with `.readOnly` where there is none.
  public func openCache(access: ImageCache.Access) throws(CacheError) -> ImageCache {
    var configuration = cache.disk
    configuration.access = access
    return try ImageCache(configuration)
  }

  /// The cache that a run needs: none where the job bypasses it, nor where a run that only reads finds none.
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

  /// The further caches that a run looks in; none where it looks in no cache. Throws if one is not there.
  ///
  /// In a cache what is older than `max-age` is no hit; the files of a flat folder have no age.
  func openReadOnlyCaches() throws(CacheError) -> [ReadOnlyCache] {
    if cache.mode == .bypass { return [] }
    var caches: [ReadOnlyCache] = []
    for path in cache.readOnly {
      caches.append(try ReadOnlyCache(opening: path.absolute, namespace: cache.disk.namespace, maxAge: cache.disk.maxAge))
    }
    return caches
  }
}
