import Foundation
import ImageCaching
import ImageCoding
import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// The memory layer as used by loads.
@Suite struct MemoryLayerTests {
  @Test func `an image comes from the network, then from memory, and from disk once memory has evicted it`() async throws {
    let album = try Album()
    #expect(try await album.source("/a.jpg") == .network)
    #expect(try await album.source("/a.jpg") == .memory)
    album.memory.removeAll()
    #expect(try await album.source("/a.jpg") == .disk)
    // A disk hit is put into memory.
    #expect(try await album.source("/a.jpg") == .memory)
    #expect(album.origin.requests.count == 1)
  }

  @Test func `an image costs bytes per row times height, and the limit is exact`() async throws {
    let album = try Album { $0.memory = ImageMemory(maxCost: 2 * 32 * 24 * 4, pressure: nil) }
    let memory = try #require(album.manager.configuration.memory)
    for number in 1...3 {
      album.origin.set("/\(number)", .body(SampleImages.jpeg(number), type: "image/jpeg"))
      _ = try await album.source("/\(number)")
      #expect(memory.totalCost == min(number, 2) * 32 * 24 * 4)
    }
    #expect(memory.count == 2)
  }

  @Test func `one memory layer keeps the images of two caches apart`() async throws {
    let album = try Album()
    let other = try ImageCache(
      ImageCache.Configuration(directory: album.folder.path, namespace: "other", time: album.clock.source)
    )
    #expect(try await album.source("/a.jpg") == .network)
    var request = album.request("/a.jpg")
    request.cachePolicy.cache = other
    #expect(try await album.manager.response(for: request).source == .network)
    #expect(try await album.manager.response(for: request).source == .memory)
    #expect(album.memory.count == 2 && album.origin.requests.count == 2)
  }

  @Test func `a memory pressure warning empties the layer`() async throws {
    let folder = TemporaryDirectory()
    let events = "\(folder.path)/memory.events"
    try "low 0\nhigh 0\nmax 0\noom 0\n".write(toFile: events, atomically: false, encoding: .utf8)
    let memory = ImageMemory(pressure: MemoryPressureSources(stallFiles: [], eventFiles: [events]))
    #expect(memory.pressureUnavailable == nil)
    let album = try Album { $0.memory = memory }
    _ = try await album.source("/a.jpg")
    #expect(memory.count == 1)
    try "low 0\nhigh 7\nmax 0\noom 0\n".write(toFile: events, atomically: false, encoding: .utf8)
    try await poll("an empty layer") { memory.count == 0 }
    #expect(try await album.source("/a.jpg") == .disk)
  }

  @Test func `if the system has no warnings, the layer says so and works`() async throws {
    let memory = ImageMemory(pressure: MemoryPressureSources(stallFiles: ["/no/such/file"], eventFiles: []))
    #expect(memory.pressureUnavailable?.contains("/no/such/file") == true)
    let album = try Album { $0.memory = memory }
    _ = try await album.source("/a.jpg")
    #expect(try await album.source("/a.jpg") == .memory)
  }

  @Test func `an expired image in memory isn't a hit`() async throws {
    let album = try Album()
    _ = try await album.source("/a.jpg")
    album.clock.advance(by: .seconds(7 * 86_400 + 1))
    #expect(try await album.source("/a.jpg") == .network)
  }

  @Test func `memory-only loads write nothing to disk`() async throws {
    let album = try Album()
    #expect(try await album.source("/a.jpg", mode: .memoryOnly) == .network)
    #expect(try album.cache.totals().entries == 0 && album.memory.count == 1)
    #expect(try await album.source("/a.jpg") == .memory)
    album.memory.removeAll()
    #expect(try await album.source("/a.jpg") == .network)
  }

  @Test func `each layer is read and filled as the request says`() async throws {
    let album = try Album()
    var diskOnly = album.request("/a.jpg")
    diskOnly.cachePolicy.layers = CacheLayerUse(writes: .disk)
    _ = try await album.manager.response(for: diskOnly)
    #expect(album.memory.count == 0)
    #expect(try album.cache.totals().entries == 1)
    var memoryRead = album.request("/a.jpg", mode: .only)
    memoryRead.cachePolicy.layers = CacheLayerUse(reads: .memory)
    await #expect(throws: ImageLoadError.notCached) { try await album.manager.response(for: memoryRead) }
    var nowhere = album.request("/b.jpg")
    nowhere.cachePolicy.layers = CacheLayerUse(writes: [])
    #expect(try await album.manager.response(for: nowhere).result.outcome == .checked)
    #expect(try album.cache.totals().entries == 1)
    #expect(album.memory.count == 0)
  }

  @Test func `decoding happens before the load ends, on request, or never`() async throws {
    let album = try Album()
    var request = album.request("/a.jpg")
    request.decoding.policy = .never
    let kept = try await album.manager.response(for: request)
    #expect(kept.image == nil && kept.data == nil && album.memory.count == 0)
    request.decoding.policy = .lazy
    let lazy = try await album.manager.response(for: request)
    #expect(lazy.image == nil && lazy.data == SampleImages.jpeg(1))
    #expect(try lazy.decoded().header.size == ImageSize(width: 32, height: 24))
    #expect(throws: ImageError.self) { try kept.decoded() }
  }

  @Test func `the bytes of an image in memory are available`() async throws {
    let counting = CountingCoder()
    let album = try Album { $0.coders.add(counting) }
    _ = try await album.source("/a.jpg")
    var request = album.request("/a.jpg")
    request.decoding.includesData = true
    let response = try await album.manager.response(for: request)
    #expect(response.data == SampleImages.jpeg(1) && response.image != nil)
    #expect(counting.decodes == 1)
    #expect(album.origin.requests.count == 1)
  }

  @Test func `a cached image can be checked without loading, stored and removed`() async throws {
    let album = try Album()
    let url = album.url("/a.jpg")
    #expect(try await !album.manager.isCached(url))
    try await album.manager.store(SampleImages.jpeg(9), for: url)
    #expect(try album.manager.isInMemory(url) && album.manager.isOnDisk(url))
    #expect(try await album.source("/a.jpg") == .memory)
    try await album.manager.remove(url, from: .memory)
    #expect(!album.manager.isInMemory(url))
    #expect(try await album.manager.isCached(url))
    #expect(try await album.source("/a.jpg") == .disk)
    try await album.manager.remove(url)
    #expect(try await !album.manager.isCached(url))
    await #expect(throws: ImageLoadError.self) { try await album.manager.store(Array("no image".utf8), for: url) }
    await #expect(throws: ImageLoadError.self) { try await album.manager.store(SampleImages.jpeg(9), for: "no url") }
    #expect(album.origin.requests.isEmpty)
  }
}

/// Counts decoded images.
final class CountingCoder: JPEGReading {
  private let count = Atomic(0)

  var decodes: Int { count.load(ordering: .sequentiallyConsistent) }

  func decode(
    _ bytes: UnsafeRawBufferPointer,
    options: DecodingOptions,
    limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    count.add(1, ordering: .sequentiallyConsistent)
    return try JPEGCoder().decode(bytes, options: options, limits: limits)
  }
}
