import ImageCaching
import ImageManaging
import TestOrigin
import TestSupport

/// An origin with ten images, and a manager with its own cache.
struct ExampleOrigin {
  let origin: Origin
  let folder = TemporaryDirectory()
  let cache: ImageCache
  let memory: ImageMemory
  let manager: ImageManager

  init() throws {
    origin = try Origin()
    for number in 1...10 {
      origin.set("/page-\(number).jpg", .body(SampleImages.jpeg(number), type: "image/jpeg", headers: ["ETag": "\"\(number)\""]))
    }
    cache = try ImageCache(ImageCache.Configuration(directory: folder.file("cache")))
    memory = ImageMemory(maxCost: 1 << 20, pressure: nil)
    manager = try ImageManager(ImageManager.Configuration(cache: cache, memory: memory))
  }

  /// The URL of an image.
  func image(_ number: Int) -> String { origin.url("/page-\(number).jpg") }

  /// The URLs of all images.
  var images: [String] { (1...10).map(image) }
}
