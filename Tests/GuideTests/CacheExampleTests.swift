import Foundation
import ImageCaching
import ImageManaging
import PrewarmImages
import TestOrigin
import TestSupport
import Testing

@Suite struct CacheExampleTests {
  private let site: ExampleOrigin

  init() throws { site = try ExampleOrigin() }

  @Test func `a cache is opened with rules`() throws {
    let cache = try openCache(folder: site.folder.file("own"))
    #expect(cache.configuration.expireBy == .access && cache.path.hasSuffix("own/thumbnails"))
  }

  @Test func `modes choose between cache and network`() async throws {
    let requests = chooseMode(url: site.image(1))
    await #expect(throws: ImageLoadError.notCached) { try await site.manager.response(for: requests[0]) }
    #expect(try await site.manager.response(for: requests[1]).source == .network)
    #expect(try await site.manager.response(for: requests[2]).source == .network)
    #expect(try site.manager.isInMemory(site.image(1)) && !site.manager.blocking.isOnDisk(site.image(1)))
  }

  @Test func `a refresh shows the cached image first, and then requests`() async throws {
    site.origin.set("/page-1.jpg", .sequence([.jpeg(1, headers: ["ETag": "\"1\""]), .status(304, headers: ["ETag": "\"1\""])]))
    #expect(try await refresh(site.manager, url: site.image(1)).preview == nil)
    let (preview, final) = try await refresh(site.manager, url: site.image(1))
    #expect(preview?.image != nil && final.result.outcome == .revalidated)
  }

  @Test func `cached images can be checked, stored and removed`() async throws {
    try await askWhatIsThere(site.manager, url: site.image(1), file: SampleImages.jpeg(1))
    #expect(try await site.manager.isOnDisk(site.image(1)) && !site.manager.isInMemory(site.image(1)))
    #expect(site.origin.requests.isEmpty)
  }

  @Test func `an export works as a read-only cache`() async throws {
    _ = try await loadImage(site.manager, url: site.image(1))
    let folder = site.folder.file("bundle")
    #expect(try await exportAll(site.cache, to: folder).exported == 1)
    let other = try ImageCache(ImageCache.Configuration(directory: site.folder.file("other")))
    let manager = try lookElsewhere(cache: other, bundled: folder)
    #expect(try await manager.response(for: ImageRequest(url: site.image(1))).source == .disk)
    #expect(site.origin.requests.count == 1)
  }

  @Test func `a cache is trimmed, verified and counted`() async throws {
    _ = try await loadImage(site.manager, url: site.image(1))
    #expect(try await maintain(site.cache).entries == 1)
  }

  @Test func `the blacklist is listed and cleared`() async throws {
    for path in ["/a.jpg", "/b.jpg"] { _ = await tellWhy(site.manager, url: site.origin.url(path)) }
    #expect(try await readBlacklist(site.cache) == 2)
    #expect(try site.cache.totals().blacklistEntries == 0)
  }

  @Test func `managers share memory, and their images stay apart`() async throws {
    let other = try ImageCache(ImageCache.Configuration(directory: site.folder.file("other")))
    let managers = try shareMemory(thumbnails: site.cache, photos: other)
    for manager in managers { #expect(try await manager.response(for: ImageRequest(url: site.image(1))).source == .network) }
    #expect(managers[0].configuration.memory?.count == 2)
  }

  @Test func `a batch reports its result`() async throws {
    let result = try await prefetchAll(site.manager, urls: site.images + [site.origin.url("/none.jpg")])
    #expect(result.loaded == 10 && result.failed == 1)
  }

  @Test func `a lazy sequence goes to memory`() async throws {
    #expect(try await prefetchSequence(site.manager, base: site.origin.base).loaded == 10)
    #expect(site.memory.count == 10)
  }

  @Test func `a batch is a cancellation token`() async throws {
    #expect(try await steer(site.manager, urls: site.images).loaded == 10)
  }
}

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
      origin.set("/page-\(number).jpg", .jpeg(number, headers: ["ETag": "\"\(number)\""]))
    }
    cache = try ImageCache(ImageCache.Configuration(directory: folder.file("cache")))
    memory = ImageMemory(maxCost: 1 << 20, pressure: nil)
    manager = try ImageManager(ImageManager.Configuration(cache: cache, memory: memory))
  }

  func image(_ number: Int) -> String { origin.url("/page-\(number).jpg") }

  var images: [String] { (1...10).map(image) }
}
