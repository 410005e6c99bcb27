// A program over the library: loads the image at the first URL and prefetches the others, into a cache in a folder.
// Usage: client FOLDER URL URL…
import PrewarmImages

guard CommandLine.arguments.count > 2 else { fatalError("usage: client FOLDER URL URL…") }
let urls = CommandLine.arguments[2...]

let cache = try ImageCache(ImageCache.Configuration(directory: CommandLine.arguments[1]))
let manager = try ImageManager(ImageManager.Configuration(cache: cache, memory: ImageMemory(maxCost: 64 << 20)))

let response = try await manager.response(for: ImageRequest(url: urls[2]))
if let image = response.image, let source = response.source {
  print("\(image.pixels.size.width) x \(image.pixels.size.height) pixels, \(response.result.bytes) bytes from \(source)")
}

let result = try await ImagePrefetcher(manager: manager).prefetch(urls: urls.dropFirst()).value
print("prefetched: \(result.loaded) loaded, \(result.alreadyCached) there already, \(result.failed) failed")

await manager.shutDown()
let totals = try cache.totals()
print("cached: \(totals.entries) images, \(totals.bodyBytes) bytes")
