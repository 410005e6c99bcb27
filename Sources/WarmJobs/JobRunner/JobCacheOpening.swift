public import ImageCaching

extension Job {
  /// Opens the job's cache with its rules.
  ///
  /// Throws where the folder cannot be used so; with `.readOnly` where there is none.
  public func openCache(access: ImageCache.Access) throws(CacheError) -> ImageCache {
    try ImageCache(
      ImageCache.Configuration(
        directory: cache.directory,
        namespace: cache.namespace,
        access: access,
        maxAge: cache.maxAge,
        maxSize: cache.maxSize,
        trimTo: cache.trimTo,
        expireBy: cache.expireBy == .access ? .access : .modification,
        blacklistTTL: blacklist.ttl
      )
    )
  }

  /// The cache that a run needs: none where the job bypasses it, nor where a run that only reads finds none.
  func openCacheForRun(isDryRun: Bool) throws(CacheError) -> ImageCache? {
    switch cache.mode {
    case .bypass: return nil
    case .use where !isDryRun: return try openCache(access: .readWrite)
    case .use, .only:
      do throws(CacheError) {
        return try openCache(access: .readOnly)
      } catch {
        if case .missing = error { return nil }
        throw error
      }
    }
  }
}
