import Base
import ImageDownloading
import ImageManaging
import TestOrigin
import TestSupport
import Testing

/// Loads that someone waits for beside batches, at a host that asks for a pause.
struct PatienceTests {
  private static let busy = Behaviour.status(429, headers: ["Retry-After": "20"])
  private static let image = Behaviour.body(SampleImages.jpeg(1), type: "image/jpeg")

  private let album: Album

  init() throws {
    album = try Album {
      $0.options.retries = 2
      $0.options.backoff = Backoff(initial: .zero, maximum: .zero)
    }
  }

  /// Starts a prefetch of `/1.jpg`, whose response asks it to wait.
  private func waitingBatch() async throws -> PrefetchTask {
    let batch = try album.prefetcher().prefetch(urls: [album.url(1)])
    try await waitForWaiting(requests: 1)
    return batch
  }

  private func waitForWaiting(requests: Int) async throws {
    try await poll("the batch to wait") {
      let statistics = album.manager.downloader.statistics
      return album.asked.count == requests && statistics.waiting == 1 && statistics.running == 0
    }
  }

  private func failure(_ path: String, _ album: Album) async -> ImageFailure? {
    do throws(ImageLoadError) { _ = try await album.manager.response(for: album.request(path)) } catch {
      if case .failed(let failure) = error { return failure }
    }
    return nil
  }

  @Test func `an image that a prefetcher waits for is loaded at once if someone wants it`() async throws {
    album.origin.set("/1.jpg", .sequence([Self.busy, Self.image]))
    let batch = try await waitingBatch()
    #expect(try await album.source("/1.jpg") != nil)
    #expect(await batch.value == PrefetchProgress(loaded: 1))
    #expect(album.asked.count == 2)
  }

  @Test func `if that fails, the load has the server's answer, and the prefetcher waits on`() async throws {
    album.origin.set("/1.jpg", .sequence([Self.busy, Self.busy, Self.image]))
    let batch = try await waitingBatch()
    let failure = await failure("/1.jpg", album)
    #expect(failure?.status == 429 && failure?.message.contains("a pause of 20 s") == true)
    try await waitForWaiting(requests: 2)
    // Other images are requested meanwhile.
    #expect(try await album.source("/2.jpg") == .network)
    album.clock.advance(by: .seconds(20))
    #expect(try await album.source("/3.jpg") == .network)
    #expect(await batch.value == PrefetchProgress(loaded: 1))
  }

  @Test func `while a host is down loads fail at once, and one after 0.5 s brings it back for a prefetcher too`() async throws {
    let album = try Album {
      $0.options.retries = 0
      $0.downloader.circuitBreaker = CircuitBreaker(failures: 1)
    }
    album.origin.set("/1.jpg", .sequence([.reset, Self.image]))
    await #expect(throws: ImageLoadError.self) { try await album.source("/1.jpg") }
    #expect(await failure("/2.jpg", album)?.kind == .hostDown)
    let batch = try album.prefetcher().prefetch(urls: album.urls(3..<6))
    try await poll("the batch to wait") { album.manager.downloader.statistics.waiting == 3 }
    album.clock.advance(by: .milliseconds(500))
    #expect(try await album.source("/2.jpg") == .network)
    #expect(await batch.value == PrefetchProgress(loaded: 3))
  }
}
