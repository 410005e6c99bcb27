import ImageDownloading
import ImageManaging
import Base
import TestOrigin
import TestSupport
import Testing

/// One element repeated endlessly.
private struct Endless: Sequence, IteratorProtocol, Sendable {
  let element: String
  mutating func next() -> String? { element }
}

/// Cancelling, pausing and overlapping batches.
@Suite struct PrefetchTaskTests {
  private let album = Album.plain(concurrency: 16)

  @Test func `entries read during the cancellation are never requested`() async throws {
    let isCancelled = Watched(false)
    let requests = WatchedRequests(album.urls(0..<10)) { _ in
      do { try isCancelled.wait(for: "the cancelling") { $0 } } catch { Issue.record(error) }
    }
    let batch = try album.prefetcher(concurrency: 4).prefetch(requests)
    try await requests.waitForRead(1)
    batch.cancel()
    isCancelled.withLock { $0 = true }
    #expect(await batch.value == PrefetchProgress(cancelled: 4))
    await album.manager.shutDown()
    #expect(album.origin.requests.isEmpty)
  }

  @Test(arguments: [false, true])
  func `cancelling a batch, running or paused, stops its requests, and each counts once`(isPaused: Bool) async throws {
    let gate = album.origin.holdAll()
    let batch = try album.prefetcher(concurrency: 4).prefetch(urls: album.urls(0..<20))
    try await gate.waitForWaiting(4)
    if isPaused { batch.pause() }
    batch.cancel()
    batch.cancel()
    #expect(await batch.value == PrefetchProgress(cancelled: 4))
    try await album.origin.waitForInFlight(0)
    gate.open()
    // Cancelled images can be requested again.
    #expect(try await album.prefetcher().prefetch(urls: album.urls(0..<20)).value == PrefetchProgress(loaded: 20))
  }

  @Test func `a batch ends as cancelled when its manager is shut down, and so does a later one`() async throws {
    let manager = album.manager
    let requests = WatchedRequests(album.urls(0..<100)) { place in if place == 10 { manager.blocking.shutDown() } }
    let result = try await album.prefetcher(concurrency: 4).prefetch(requests).value
    // Requests read together with the one that ends it are cancelled with it.
    #expect((1...4).contains(result.cancelled) && result.ended == result.total && result.total < 20)
    #expect(result.failed == 0 && result.total == requests.readCount)
    let late = try await album.prefetcher(concurrency: 4).prefetch(urls: album.urls(0..<100)).value
    #expect(late == PrefetchProgress(cancelled: 4))
  }

  @Test func `an endless sequence without URLs can be cancelled`() async throws {
    let batch = try album.prefetcher().prefetch(urls: Endless(element: "not a url"))
    batch.cancel()
    let result = await batch.value
    #expect(result.failed == result.total)
  }

  @Test func `a paused batch reads nothing until it is resumed`() async throws {
    let gate = album.origin.holdAll()
    let requests = WatchedRequests(album.urls(0..<6))
    let batch = try album.prefetcher(concurrency: 2).prefetch(requests)
    try await gate.waitForWaiting(2)
    batch.pause()
    gate.open()
    for await progress in batch.progress where progress.ended == 2 { break }
    _ = try await album.manager.load(album.origin.url("/direct/1.jpg")).value
    #expect(requests.readCount == 2 && album.origin.requests.count == 3)
    batch.resume()
    #expect(await batch.value == PrefetchProgress(loaded: 6))
  }

  @Test func `overlapping batches share their requests, and each completes`() async throws {
    let gate = album.origin.holdAll()
    let prefetcher = try album.prefetcher(concurrency: 16)
    let batches = [0..<10, 5..<15, 0..<10].map { prefetcher.prefetch(urls: album.urls($0)) }
    try await gate.waitForWaiting(15)
    gate.open()
    for batch in batches {
      let result = await batch.value
      #expect(result.total == 10 && result.loaded + result.alreadyCached == 10)
    }
    #expect(album.origin.requests.count == 15)
  }

  @Test func `cancelling one of two batches leaves the other, and direct loads`() async throws {
    let gate = album.origin.holdAll()
    let first = try album.prefetcher(concurrency: 8).prefetch(urls: album.urls(0..<8))
    try await gate.waitForWaiting(8)
    let second = try album.prefetcher(concurrency: 4).prefetch(urls: album.urls(0..<4))
    let load = album.manager.load(album.url(5))
    for await progress in second.progress where progress.total == 4 { break }
    first.cancel()
    #expect(await first.value == PrefetchProgress(cancelled: 8))
    try await album.origin.waitForInFlight(5)
    gate.open()
    #expect(await second.value == PrefetchProgress(loaded: 4))
    #expect(try await load.value.image != nil)
    #expect(album.origin.requests.count == 8)
  }

  @Test func `a prefetcher cancels all its batches, and those of others continue`() async throws {
    let gate = album.origin.holdAll()
    let (one, other) = (try album.prefetcher(), try album.prefetcher())
    let batches = [0..<4, 4..<8].map { one.prefetch(urls: album.urls($0)) }
    let staying = other.prefetch(urls: album.urls(8..<12))
    try await gate.waitForWaiting(12)
    one.cancelAll()
    for batch in batches { #expect(await batch.value == PrefetchProgress(cancelled: 4)) }
    gate.open()
    #expect(await staying.value == PrefetchProgress(loaded: 4))
  }

  /// Other ways of cancelling.
  enum Elsewhere: CaseIterable {
    case downloader, manager, waitingTask
  }

  @Test(arguments: Elsewhere.allCases)
  func `a batch that is cancelled indirectly ends, and each request counts once`(_ elsewhere: Elsewhere) async throws {
    let gate = album.origin.holdAll()
    let batch = try album.prefetcher(concurrency: 8).prefetch(urls: album.urls(0..<8))
    let waiting = Task { await batch.value }
    try await gate.waitForWaiting(8)
    switch elsewhere {
    case .downloader: album.manager.downloader.cancelAll(includingRunning: true)
    case .manager: album.manager.cancelAll()
    case .waitingTask: waiting.cancel()
    }
    #expect(await waiting.value == PrefetchProgress(cancelled: 8))
    try await album.origin.waitForInFlight(0)
    gate.open()
    #expect(!album.manager.isRunning)
  }

  @Test func `a batch continues without its task and its prefetcher`() async throws {
    let gate = album.origin.holdAll()
    var prefetcher: ImagePrefetcher? = try album.prefetcher()
    let progress = prefetcher?.prefetch(urls: album.urls(0..<8)).progress
    try await gate.waitForWaiting(4)
    prefetcher = nil
    gate.open()
    var last: PrefetchProgress?
    for await counts in try #require(progress) { last = counts }
    #expect(last == PrefetchProgress(loaded: 8))
  }

  /// When a URL's requests are cancelled.
  enum Moment: CaseIterable {
    case running, waiting, unread
  }

  @Test(arguments: Moment.allCases)
  func `a batch skips a URL that is cancelled, and loads the others`(_ moment: Moment) async throws {
    let gate = album.origin.holdAll()
    let prefetcher = try album.prefetcher(concurrency: moment == .unread ? 2 : 8)
    let batch = prefetcher.prefetch(urls: album.urls(0..<8))
    // The downloader runs four at a time.
    try await gate.waitForWaiting(moment == .unread ? 2 : 4)
    let number =
      switch moment {
      case .running: 0
      case .waiting: 6
      case .unread: 7
      }
    prefetcher.cancel(urls: [album.url(number)])
    gate.open()
    #expect(await batch.value == PrefetchProgress(loaded: 7, cancelled: 1))
    #expect(try await album.manager.isCached(album.url(number)) == false)
  }

  @Test func `a batch whose sequence never ends lets others of its prefetcher finish`() async throws {
    let prefetcher = try album.prefetcher()
    let endless = prefetcher.prefetch(urls: Endless(element: "not a url"))
    #expect(await prefetcher.prefetch(urls: album.urls(0..<8)).value == PrefetchProgress(loaded: 8))
    endless.cancel()
    #expect(await endless.value.loaded == 0)
  }

  @Test func `each consumer of a batch's progress sees its end`() async throws {
    let gate = album.origin.holdAll()
    let batch = try album.prefetcher().prefetch(urls: album.urls(0..<4))
    let consumers = (0..<3).map { _ in
      let progress = batch.progress
      return Task {
        var last: PrefetchProgress?
        for await counts in progress { last = counts }
        return last
      }
    }
    gate.open()
    _ = await batch.value
    for consumer in consumers { #expect(await consumer.value == PrefetchProgress(loaded: 4)) }
    // A late one gets the latest.
    for await counts in batch.progress { #expect(counts == PrefetchProgress(loaded: 4)) }
  }
}
