// guide
import PrewarmImages

// end

/// One image.
func gettingStarted(url: String) async throws -> DecodedImage {
  // guide: continued
  let manager = try ImageManager()
  let image = try await manager.image(for: url)
  print("\(image.pixels.size.width) x \(image.pixels.size.height) pixels of \(image.header.format.name)")
  await manager.shutDown()
  // end
  return image
}

/// A cache, a manager and many images.
func gettingStarted(folder: String, urls: [String]) async throws -> PrefetchProgress {
  // guide
  let cache = try ImageCache(ImageCache.Configuration(directory: folder, maxBodyBytes: 2 << 30))
  let memory = ImageMemory(maxCost: 256 << 20)
  let manager = try ImageManager(ImageManager.Configuration(cache: cache, memory: memory))

  let prefetcher = try ImagePrefetcher(manager: manager)
  let result = await prefetcher.prefetch(urls: urls).value
  print("\(result.loaded) loaded, \(result.alreadyCached) there already, \(result.failed) failed")
  // end
  await manager.shutDown()
  return result
}
