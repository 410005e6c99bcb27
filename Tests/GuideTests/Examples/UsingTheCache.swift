import PrewarmImages

/// The location of a cache, and its rules.
func openCache(folder: String) throws -> ImageCache {
  // guide
  let cache = try ImageCache(
    ImageCache.Configuration(
      directory: folder,
      namespace: "thumbnails",
      maxAge: .seconds(30 * 86_400),
      maxBodyBytes: 2 << 30,
      expireBy: .access,
      freshness: .http,
      staleIfError: .seconds(86_400),
      blacklistTTL: .seconds(3600)
    )
  )
  // end
  return cache
}

/// Which caches are read and filled, for one request.
func chooseMode(url: String) -> [ImageRequest] {
  // guide
  var request = ImageRequest(url: url)
  request.cachePolicy.mode = .only  // never the network
  request.cachePolicy.servesExpired = true  // rather old than nothing

  var fresh = ImageRequest(url: url)
  fresh.cachePolicy.mode = .bypass  // neither read nor written

  var transient = ImageRequest(url: url)
  transient.cachePolicy.layers = CacheLayerUse(reads: .all, writes: .memory)
  // end
  return [request, fresh, transient]
}

/// The cached image first, then its revalidation.
func refresh(_ manager: ImageManager, url: String) async throws -> (preview: ImageResponse?, final: ImageResponse) {
  var shown: ImageResponse?
  // guide
  var request = ImageRequest(url: url)
  request.cachePolicy.mode = .refresh
  let task = manager.load(request)
  for await event in task.events {
    if case .preview(let cached) = event { shown = cached }
  }
  let response = try await task.value
  if response.result.outcome == .revalidated { print("304: the cached image is current") }
  // end
  return (shown, response)
}

/// Looking up without loading.
func askWhatIsThere(_ manager: ImageManager, url: String, file: [UInt8]) async throws {
  // guide
  if try await !manager.isCached(url) {
    try await manager.store(file, for: url)
  }
  print(manager.isInMemory(url), try await manager.isOnDisk(url))
  try await manager.remove(url, from: .memory)
  // end
}

/// Further caches.
func lookElsewhere(cache: ImageCache, bundled: String) throws -> ImageManager {
  // guide
  let shipped = try ReadOnlyCache(opening: bundled, namespace: "default")
  let manager = try ImageManager(ImageManager.Configuration(cache: cache, readOnly: [shipped]))
  // end
  return manager
}

/// Files for apps.
func exportAll(_ cache: ImageCache, to folder: String) async throws -> ExportResult {
  // guide
  let result = try await cache.asynchronous.export(to: folder, layout: .sdwebimage(withExtension: false))
  print("\(result.exported) images, \(result.bytes) bytes")
  // end
  return result
}

/// A cache's maintenance.
func maintain(_ cache: ImageCache) async throws -> CacheTotals {
  // guide
  let trimmed = try await cache.asynchronous.trim()
  let verified = try await cache.asynchronous.verify()
  let totals = try await cache.asynchronous.totals()
  print("\(trimmed.expired) expired, \(trimmed.trimmed) trimmed, \(verified.damaged) damaged and removed")
  print("\(totals.entries) images of \(totals.bodyBytes) bytes")
  // end
  return totals
}

/// The blacklist.
func readBlacklist(_ cache: ImageCache) async throws -> Int {
  var count = 0
  // guide
  var last: BlacklistRecord?
  repeat {
    let page = try await cache.asynchronous.blacklist(after: last, limit: 1000)
    for entry in page {
      print(entry.url, entry.kind.name, entry.count)
      count += 1
    }
    last = page.last
  } while last != nil
  try await cache.asynchronous.clearBlacklist()
  // end
  return count
}

/// Decoded images.
func shareMemory(thumbnails: ImageCache, photos: ImageCache) throws -> [ImageManager] {
  // guide
  let memory = ImageMemory(maxCost: 512 << 20, maxCount: 10_000)
  if let reason = memory.pressureUnavailable { print("images stay when memory is short: \(reason)") }
  let managers = try [thumbnails, photos].map { cache in
    try ImageManager(ImageManager.Configuration(cache: cache, memory: memory))
  }
  // end
  return managers
}
