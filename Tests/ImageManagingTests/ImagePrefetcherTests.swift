import ImageCaching
import ImageDownloading
import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// Batches of requests, with limits and counts.
@Suite struct ImagePrefetcherTests {
  @Test func `a prefetcher with a maxConcurrent of zero traps with a message`() async {
    let ended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = try ImagePrefetcher(manager: try ImageManager(ImageManager.Configuration()), configuration: .init(maxConcurrent: 0))
    }
    let said = String(decoding: ended?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("maxConcurrent of at least 1"))
  }

  @Test func `an observer gets the end of each request once`() async throws {
    let house = try Warehouse()
    house.origin.set("/no.jpg", .status(404))
    let ended = Watched<[String: [LoadOutcome]]>([:])
    let urls = [house.url(1), house.origin.url("/no.jpg"), "no url", house.url(2)]
    let result = try await house.prefetcher().prefetch(urls: urls) { request, result in
      ended.withLock { $0[request.url, default: []].append(result.outcome) }
    }.value
    #expect(ended.value == [urls[0]: [.downloaded], urls[1]: [.failed], urls[2]: [.failed], urls[3]: [.downloaded]])
    #expect(result.loaded == 2 && result.failed == 2)
  }

  @Test func `a batch is read as there is room, and the number of requests in flight is limited`() async throws {
    let house = try Warehouse()
    let gate = house.origin.holdAll()
    let requests = WatchedRequests(house.urls(0..<20))
    let batch = try house.prefetcher(maxConcurrent: 4).prefetch(requests)
    try await gate.waitForWaiting(4)
    for ended in 0..<16 {
      #expect(requests.readCount == ended + 4)
      gate.step()
      try await house.origin.waitForRequests(ended + 5)
    }
    gate.open()
    #expect(await batch.value == PrefetchProgress(loaded: 20))
    #expect(house.origin.peakInFlight == 4)
  }

  @Test func `each request counts once, however it ends`() async throws {
    let house = try Warehouse()
    _ = try await house.manager.load(house.url(0)).value
    _ = try await house.prefetcher().prefetch(urls: [house.origin.url("/known-bad")]).value
    let bad = ["", "not a url", house.origin.url("/bad"), house.origin.url("/known-bad")]
    let urls = bad + [house.url(0)] + house.urls(1..<6) + house.urls(1..<6)
    let batch = try house.prefetcher(maxConcurrent: 3).prefetch(urls: urls)
    let result = await batch.value
    #expect(result.failed == 4 && result.total == 15 && result.ended == 15 && result.cancelled == 0)
    // The second of two is found in the cache, or shares the request of the first.
    #expect(result.alreadyCached >= 1 && result.loaded >= 5)
    #expect(Set(house.origin.requests.map(\.path)).count == house.origin.requests.count)
    var last: PrefetchProgress?
    for await progress in batch.progress { last = progress }
    #expect(last == result)
  }

  @Test func `an empty batch completes for all waiters`() async throws {
    let house = try Warehouse()
    let batch = try house.prefetcher().prefetch(urls: [])
    async let first = batch.value
    async let second = batch.value
    #expect(await (first, second) == (PrefetchProgress(), PrefetchProgress()))
  }

  @Test func `requests of different kinds in one batch are all made in order`() async throws {
    let house = try Warehouse(concurrency: 1)
    let requests = (0..<12).map { number in
      var request = ImageRequest(url: house.url(number))
      if number % 3 == 0 { request.options.headers = [.init("X-Kind", "third")] }
      return request
    }
    #expect(try await house.prefetcher(maxConcurrent: 1).prefetch(requests).value == PrefetchProgress(loaded: 12))
    #expect(house.origin.requests.map(\.path) == (0..<12).map { "/\($0).jpg" })
    #expect(house.origin.requests.map { $0.headers["X-Kind"] != nil } == (0..<12).map { $0 % 3 == 0 })
  }

  @Test func `with ten thousand queued prefetches a direct load is among the next to start`() async throws {
    let concurrency = 8
    let house = try Warehouse(concurrency: concurrency)
    let gate = house.origin.holdAll()
    let batch = try house.prefetcher(maxConcurrent: 10_000).prefetch(urls: house.urls(0..<10_000))
    try await gate.waitForWaiting(concurrency)
    try await poll("a full queue") { house.manager.downloader.statistics.waiting == 10_000 - concurrency }
    let load = house.manager.load(house.origin.url("/direct/1.jpg"))
    gate.open()
    #expect(try await load.value.source == .network)
    batch.cancel()
    #expect(await batch.value.total == 10_000)
    let place = try #require(house.origin.requests.firstIndex { $0.path == "/direct/1.jpg" })
    #expect(place >= concurrency && place < 2 * concurrency)
  }

  @Test func `a direct load of a queued prefetch raises it`() async throws {
    let house = try Warehouse(concurrency: 1)
    let gate = house.origin.holdAll()
    let batch = try house.prefetcher(maxConcurrent: 10).prefetch(urls: house.urls(0..<10))
    try await gate.waitForWaiting(1)
    try await poll("a full queue") { house.manager.downloader.statistics.waiting == 9 }
    let load = house.manager.load(house.url(7))
    gate.open()
    #expect(try await load.value.image != nil)
    #expect(await batch.value == PrefetchProgress(loaded: 10))
    #expect(house.origin.requests.map(\.path).prefix(3) == ["/0.jpg", "/7.jpg", "/1.jpg"])
  }

  @Test(arguments: [true, false])
  func `a prefetch to disk only verifies, and one to memory decodes`(isMemory: Bool) async throws {
    let house = try Warehouse()
    house.origin.set("/cut.jpg", .file(Fixtures.path("images/broken/cut.jpg")))
    let prefetcher = try house.prefetcher(destination: isMemory ? .memory : .disk)
    let result = await prefetcher.prefetch(urls: [house.url(1), house.origin.url("/cut.jpg")]).value
    #expect(result == (isMemory ? PrefetchProgress(loaded: 1, failed: 1) : PrefetchProgress(loaded: 2)))
    #expect(try house.manager.isOnDisk(house.url(1)))
    #expect(house.manager.isInMemory(house.url(1)) == isMemory)
    // Images on disk are loaded into memory without requests.
    #expect(try await house.prefetcher(destination: .memory).prefetch(urls: [house.url(1)]).value.alreadyCached == 1)
    #expect(house.manager.isInMemory(house.url(1)))
    #expect(house.origin.count(of: "/1.jpg") == 1)
  }

  @Test func `a retried request counts once`() async throws {
    let house = try Warehouse(retries: 2)
    for number in 0..<3 {
      let image = Behaviour.body(SampleImages.jpeg(number), type: "image/jpeg")
      house.origin.set("/\(number).jpg", .sequence([.status(503), .reset, image]))
    }
    house.origin.set("/down.jpg", .status(503))
    let batch = try house.prefetcher().prefetch(urls: house.urls(0..<3) + [house.origin.url("/down.jpg")])
    for await progress in batch.progress { #expect(progress.ended <= progress.total && progress.total <= 4) }
    #expect(await batch.value == PrefetchProgress(loaded: 3, failed: 1))
    #expect(house.origin.requests.count == 12)
  }
}
