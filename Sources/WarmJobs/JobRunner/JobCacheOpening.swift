public import ImageCaching
import ImageManaging

extension Job {
  /// Opens the job's cache with its rules.
  ///
  /// Throws where the folder cannot be used so; with `.readOnly` where there is none.
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

  /// The further caches that a run looks in; none where it looks in no cache. Throws where one is not there.
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
