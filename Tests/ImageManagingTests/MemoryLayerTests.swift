import Base
import Foundation
import ImageCaching
import ImageCoding
@testable import ImageManaging
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// The memory layer as used by loads.
@Suite struct MemoryLayerTests {
  private let album = Album.plain()

  @Test func `an image comes from the network, then from memory, and from disk once memory has evicted it`() async throws {
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

  @Test func `memory-only loads write nothing to disk`() async throws {
    #expect(try await album.source("/a.jpg", mode: .memoryOnly) == .network)
    #expect(try album.cache.totals().entries == 0 && album.memory.count == 1)
    #expect(try await album.source("/a.jpg") == .memory)
    album.memory.removeAll()
    #expect(try await album.source("/a.jpg") == .network)
  }

  @Test func `each layer is read and filled as the request says`() async throws {
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
    let url = album.url("/a.jpg")
    #expect(try await !album.manager.isCached(url))
    try await album.manager.store(SampleImages.jpeg(9), for: url)
    #expect(try album.manager.isInMemory(url) && album.manager.blocking.isOnDisk(url))
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

private typealias Cache = MemoryCache<String, Int>

@Suite struct MemoryCacheTests {
  @Test func `the total cost never exceeds its limit`() {
    let cache = MemoryCache<Int, Int>(.init(maxCost: 1_000))
    var random = SeededRandom(seed: 3)
    for _ in 0..<5_000 {
      let key = Int.random(in: 0..<200, using: &random)
      let cost = Int.random(in: 0...120, using: &random)
      if Bool.random(using: &random) { _ = cache.value(for: key) }
      #expect(cache.insert(cost, for: key, cost: cost))
      #expect(cache.totalCost <= 1_000 && cache.contains(key))
    }
    var total = 0
    for key in 0..<200 { total += cache.value(for: key) ?? 0 }
    #expect(cache.totalCost == total && total > 880)
  }

  @Test func `the count never exceeds its limit`() {
    let cache = MemoryCache<Int, Int>(.init(maxCost: nil, maxCount: 10))
    for key in 0..<1_000 {
      cache.insert(key, for: key, cost: 1 << 40)
      #expect(cache.count == min(key + 1, 10) && cache.contains(key))
    }
    #expect((0..<1_000).filter { cache.contains($0) }.count == 10)
  }

  @Test func `replacing an entry corrects the total`() {
    let cache = Cache(.init(maxCost: 100))
    cache.insert(1, for: "a", cost: 60)
    cache.insert(2, for: "b", cost: 30)
    cache.insert(3, for: "a", cost: 20)
    #expect(cache.totalCost == 50 && cache.count == 2)
    #expect(cache.value(for: "a") == 3)
    cache.insert(4, for: "a", cost: 70)
    #expect(cache.totalCost == 100 && cache.value(for: "a") == 4 && cache.value(for: "b") == 2)
    cache.insert(5, for: "a", cost: 71)
    #expect(cache.totalCost == 71 && cache.value(for: "a") == 5 && !cache.contains("b"))
  }

  @Test func `an entry above the limit isn't kept and evicts only the one it replaces`() {
    let cache = Cache(.init(maxCost: 100))
    cache.insert(1, for: "a", cost: 40)
    cache.insert(2, for: "b", cost: 40)
    #expect(!cache.insert(3, for: "c", cost: 101))
    #expect(cache.count == 2 && cache.totalCost == 80 && !cache.contains("c"))
    #expect(!cache.insert(4, for: "a", cost: 101))
    #expect(cache.count == 1 && cache.totalCost == 40 && !cache.contains("a"))
    #expect(cache.insert(5, for: "c", cost: 100))
    #expect(cache.count == 1 && cache.totalCost == 100)
  }

  @Test(arguments: [MemoryCacheConfiguration(maxCost: 0), .init(maxCount: 0)])
  func `a limit of zero keeps nothing`(_ limits: MemoryCacheConfiguration) {
    let cache = Cache(limits)
    #expect(!cache.insert(1, for: "a", cost: 0) && cache.count == 0 && cache.value(for: "a") == nil)
  }

  @Test func `without limits everything is kept`() {
    let cache = MemoryCache<Int, Int>(.init(maxCost: nil))
    for key in 0..<10_000 { cache.insert(key, for: key, cost: 1 << 20) }
    #expect(cache.count == 10_000 && cache.totalCost == 10_000 << 20)
  }

  @Test func `negative limits and costs trap with a message`() async {
    let limit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = MemoryCache<Int, Int>(.init(maxCost: -1))
    }
    #expect(limit.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains("maxCost is -1") } == true)
    await #expect(processExitsWith: .failure) { _ = MemoryCacheConfiguration(maxCount: -1) }
    await #expect(processExitsWith: .failure) { MemoryCache<Int, Int>().insert(1, for: 1, cost: -1) }
  }

  @Test func `an entry can be removed from memory`() {
    let cache = Cache(.init(maxCost: 100))
    cache.insert(1, for: "a", cost: 10)
    cache.insert(2, for: "b", cost: 20)
    #expect(cache.remove("a") == 1 && cache.remove("a") == nil)
    #expect(cache.totalCost == 20 && cache.count == 1 && cache.value(for: "a") == nil && cache.value(for: "b") == 2)
  }

  @Test func `the memory layer can be cleared`() {
    let cache = MemoryCache<Int, Int>(.init(maxCost: 100))
    for key in 0..<300 { cache.insert(key, for: key, cost: 1) }
    cache.removeAll()
    #expect(cache.count == 0 && cache.totalCost == 0 && (0..<300).allSatisfy { !cache.contains($0) })
    for key in 0..<300 { cache.insert(key, for: key, cost: 1) }
    #expect(cache.count == 100)
  }

  @Test func `entries of chosen keys are removed, and evicted keys aren't queried`() {
    let cache = MemoryCache<Int, Int>(.init(maxCost: 10))
    for key in 0..<30 { cache.insert(key, for: key, cost: 1) }
    var asked: [Int] = []
    cache.removeAll { key in
      asked.append(key)
      // Outside the lock, so the cache may be called.
      return cache.contains(key) && key.isMultiple(of: 2)
    }
    #expect(asked.count == 10)
    #expect(cache.count == asked.filter { !$0.isMultiple(of: 2) }.count)
    #expect((0..<30).allSatisfy { !cache.contains($0) || !$0.isMultiple(of: 2) })
  }

  @Test func `every way of removal frees a value outside the lock`() {
    /// Calls the cache when it is freed, which would deadlock under the cache's lock.
    final class Caller: Sendable {
      let ended: @Sendable () -> Void
      init(_ ended: @escaping @Sendable () -> Void) { self.ended = ended }
      deinit { ended() }
    }
    let cache = MemoryCache<Int, Caller>(.init(maxCost: nil, maxCount: 2))
    let freed = Mutex(0)
    func insert(_ key: Int) {
      cache.insert(
        Caller {
          _ = cache.count
          freed.withLock { $0 += 1 }
        },
        for: key,
        cost: 1
      )
    }
    (1...3).forEach(insert)
    #expect(freed.withLock { $0 } == 1)
    insert(3)
    #expect(freed.withLock { $0 } == 2)
    cache.remove(3)
    #expect(freed.withLock { $0 } == 3)
    insert(4)
    cache.removeAll { $0 == 4 }
    #expect(freed.withLock { $0 } == 4)
    cache.removeAll()
    #expect(freed.withLock { $0 } == 5)
  }

  @Test func `concurrent threads keep total and count correct`() async {
    let cache = MemoryCache<Int, Int>(.init(maxCost: 5_000, maxCount: 80))
    await withTaskGroup(of: Void.self) { group in
      for seed in 0..<4 {
        group.addTask {
          var random = SeededRandom(seed: UInt64(seed))
          for step in 0..<5_000 {
            let key = Int.random(in: 0..<200, using: &random)
            switch step % 8 {
            case 0: cache.remove(key)
            case 1...4: _ = cache.value(for: key)
            default: cache.insert(key, for: key, cost: key)
            }
          }
        }
      }
    }
    let kept = (0..<200).filter { cache.contains($0) }
    #expect(cache.count == kept.count && cache.totalCost == kept.reduce(0, +) && kept.count <= 80 && cache.totalCost <= 5_000)
  }
}
