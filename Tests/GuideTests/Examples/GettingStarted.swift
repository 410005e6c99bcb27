// guide
import PrewarmImages

// end

/// A cache, a manager, one image and many.
func gettingStarted(folder: String, url: String, urls: [String]) async throws -> (DecodedImage, PrefetchProgress) {
  // guide: continued
  let cache = try ImageCache(ImageCache.Configuration(directory: folder, maxSize: 2 << 30))
  let memory = ImageMemory(maxCost: 256 << 20)
  let manager = try ImageManager(ImageManager.Configuration(cache: cache, memory: memory))

  let image = try await manager.image(for: url)
  print("\(image.pixels.size.width) x \(image.pixels.size.height) pixels of \(image.header.format.name)")

  let prefetcher = try ImagePrefetcher(manager: manager)
  let result = await prefetcher.prefetch(urls: urls).value
  print("\(result.loaded) loaded, \(result.alreadyCached) there already, \(result.failed) failed")

  try cache.trim()
  await manager.shutDown()
  // end
  return (image, result)
}
