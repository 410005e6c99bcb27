import Base
import ImageCaching
import ImageDownloading
import ImageManaging
import TestOrigin
import TestSupport
import Testing

/// Batches of requests, with limits and counts.
@Suite struct ImagePrefetcherTests {
  private let album = Album.plain(concurrency: 16)

  @Test func `a prefetcher with a concurrency of zero isn't created`() {
    #expect(throws: ImageManagerError.invalidConfiguration("concurrency must be at least 1, not 0")) {
      try ImagePrefetcher(manager: album.manager, configuration: .init(concurrency: 0))
    }
  }

  @Test func `an observer gets the end of each request once`() async throws {
    album.origin.set("/no.jpg", .status(404))
    let ended = Watched<[String: [LoadOutcome]]>([:])
    let urls = [album.url(1), album.origin.url("/no.jpg"), "no url", album.url(2)]
    let result = try await album.prefetcher().prefetch(urls: urls) { request, result in
      ended.withLock { $0[request.url, default: []].append(result.outcome) }
    }.value
    #expect(ended.value == [urls[0]: [.downloaded], urls[1]: [.failed], urls[2]: [.failed], urls[3]: [.downloaded]])
    #expect(result.loaded == 2 && result.failed == 2)
  }

  @Test func `a batch is read as there is room, and the number of requests in flight is limited`() async throws {
    let gate = album.origin.holdAll()
    let requests = WatchedRequests(album.urls(0..<20))
    let batch = try album.prefetcher(concurrency: 4).prefetch(requests)
    try await gate.waitForWaiting(4)
    for ended in 0..<16 {
      #expect(requests.readCount == ended + 4)
      gate.step()
      try await album.origin.waitForRequests(ended + 5)
    }
    gate.open()
    #expect(await batch.value == PrefetchProgress(loaded: 20))
    #expect(album.origin.peakInFlight == 4)
  }

  @Test func `each request counts once, however it ends`() async throws {
    _ = try await album.manager.load(album.url(0)).value
    _ = try await album.prefetcher().prefetch(urls: [album.origin.url("/known-bad")]).value
    let bad = ["", "not a url", album.origin.url("/bad"), album.origin.url("/known-bad")]
    let urls = bad + [album.url(0)] + album.urls(1..<6) + album.urls(1..<6)
    let batch = try album.prefetcher(concurrency: 3).prefetch(urls: urls)
    let result = await batch.value
    #expect(result.failed == 4 && result.total == 15 && result.ended == 15 && result.cancelled == 0)
    // The second of two is found in the cache, or shares the request of the first.
    #expect(result.alreadyCached >= 1 && result.loaded >= 5)
    #expect(Set(album.origin.requests.map(\.path)).count == album.origin.requests.count)
    var last: PrefetchProgress?
    for await progress in batch.progress { last = progress }
    #expect(last == result)
  }

  @Test func `an empty batch completes for all waiters`() async throws {
    let batch = try album.prefetcher().prefetch(urls: [])
    async let first = batch.value
    async let second = batch.value
    #expect(await (first, second) == (PrefetchProgress(), PrefetchProgress()))
  }

  @Test func `requests of different kinds in one batch are all made in order`() async throws {
    let album = try Album(concurrency: 1)
    let requests = (0..<12).map { number in
      var request = ImageRequest(url: album.url(number))
      if number % 3 == 0 { request.options.headers = [.init("X-Kind", "third")] }
      return request
    }
    #expect(try await album.prefetcher(concurrency: 1).prefetch(requests).value == PrefetchProgress(loaded: 12))
    #expect(album.origin.requests.map(\.path) == (0..<12).map { "/\($0).jpg" })
    #expect(album.origin.requests.map { $0.headers["X-Kind"] != nil } == (0..<12).map { $0 % 3 == 0 })
  }

  @Test func `with ten thousand queued prefetches a direct load is among the next to start`() async throws {
    let concurrency = 8
    let album = try Album(concurrency: concurrency)
    let gate = album.origin.holdAll()
    let batch = try album.prefetcher(concurrency: 10_000).prefetch(urls: album.urls(0..<10_000))
    try await gate.waitForWaiting(concurrency)
    try await poll("a full queue") { album.manager.downloader.statistics.waiting == 10_000 - concurrency }
    let load = album.manager.load(album.origin.url("/direct/1.jpg"))
    gate.open()
    #expect(try await load.value.source == .network)
    batch.cancel()
    #expect(await batch.value.total == 10_000)
    let place = try #require(album.origin.requests.firstIndex { $0.path == "/direct/1.jpg" })
    #expect(place >= concurrency && place < 2 * concurrency)
  }

  @Test func `a direct load of a queued prefetch raises it`() async throws {
    let album = try Album(concurrency: 1)
    let gate = album.origin.holdAll()
    let batch = try album.prefetcher(concurrency: 10).prefetch(urls: album.urls(0..<10))
    try await gate.waitForWaiting(1)
    try await poll("a full queue") { album.manager.downloader.statistics.waiting == 9 }
    let load = album.manager.load(album.url(7))
    gate.open()
    #expect(try await load.value.image != nil)
    #expect(await batch.value == PrefetchProgress(loaded: 10))
    #expect(album.origin.requests.map(\.path).prefix(3) == ["/0.jpg", "/7.jpg", "/1.jpg"])
  }

  @Test(arguments: [true, false])
  func `a prefetch to disk only verifies, and one to memory decodes`(isMemory: Bool) async throws {
    album.origin.set("/cut.jpg", .file(Fixtures.path("images/broken/cut.jpg")))
    let prefetcher = try album.prefetcher(destination: isMemory ? .memory : .disk)
    let result = await prefetcher.prefetch(urls: [album.url(1), album.origin.url("/cut.jpg")]).value
    #expect(result == (isMemory ? PrefetchProgress(loaded: 1, failed: 1) : PrefetchProgress(loaded: 2)))
    #expect(try album.manager.blocking.isOnDisk(album.url(1)))
    #expect(album.manager.isInMemory(album.url(1)) == isMemory)
    // Images on disk are loaded into memory without requests.
    #expect(try await album.prefetcher(destination: .memory).prefetch(urls: [album.url(1)]).value.alreadyCached == 1)
    #expect(album.manager.isInMemory(album.url(1)))
    #expect(album.origin.count(of: "/1.jpg") == 1)
  }

  @Test func `a retried request counts once`() async throws {
    let album = try Album {
      $0.options.retries = 2
      $0.options.backoff = Backoff(initial: .zero, maximum: .zero)
    }
    for number in 0..<3 {
      let image = Behaviour.body(SampleImages.jpeg(number), type: "image/jpeg")
      album.origin.set("/\(number).jpg", .sequence([.status(503), .reset, image]))
    }
    album.origin.set("/down.jpg", .status(503))
    let batch = try album.prefetcher().prefetch(urls: album.urls(0..<3) + [album.origin.url("/down.jpg")])
    for await progress in batch.progress { #expect(progress.ended <= progress.total && progress.total <= 4) }
    #expect(await batch.value == PrefetchProgress(loaded: 3, failed: 1))
    #expect(album.origin.requests.count == 12)
  }
}

/// A sequence that counts its elements read, and that a test can block.
struct WatchedRequests: Sequence, Sendable {
  private let requests: [ImageRequest]
  private let read = Watched(0)
  /// Called before each element.
  private let beforeEach: @Sendable (Int) -> Void

  init(_ urls: [String], beforeEach: @escaping @Sendable (Int) -> Void = { _ in }) {
    requests = urls.map { ImageRequest(url: $0) }
    self.beforeEach = beforeEach
  }

  /// The number of elements read.
  var readCount: Int { read.value }

  func waitForRead(_ count: Int) async throws { try await read.wait(for: "\(count) elements read") { $0 >= count } }

  struct Iterator: IteratorProtocol {
    fileprivate let sequence: WatchedRequests
    private var place = 0

    fileprivate init(_ sequence: WatchedRequests) { self.sequence = sequence }

    mutating func next() -> ImageRequest? {
      guard place < sequence.requests.count else { return nil }
      defer { place += 1 }
      sequence.read.withLock { $0 += 1 }
      sequence.beforeEach(place)
      return sequence.requests[place]
    }
  }

  func makeIterator() -> Iterator { Iterator(self) }
}

extension PrefetchProgress {
  init(loaded: Int = 0, alreadyCached: Int = 0, failed: Int = 0, cancelled: Int = 0) {
    self.init()
    (self.loaded, self.alreadyCached, self.failed, self.cancelled) = (loaded, alreadyCached, failed, cancelled)
    total = ended
  }
}
