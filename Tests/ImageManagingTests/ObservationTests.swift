import ImageCaching
import ImageDownloading
import ImageManaging
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// A manager's events and counts.
@Suite struct ObservationTests {
  /// The events so far, as short texts.
  private final class Events: Sendable {
    private let texts = Mutex<[String]>([])

    /// The events since the last call.
    func take() -> [String] {
      texts.withLock { texts in
        defer { texts = [] }
        return texts
      }
    }

    var observer: ImageManager.Observer {
      ImageManager.Observer { event in
        let text =
          switch event {
          case .requested(let url): "requested \(Self.place(url))"
          case .retried(let url, let failure, let delay): "retried \(Self.place(url)) \(failure.kind.name) after \(delay)"
          case .ended(let url, let result): "ended \(Self.place(url)) \(result.outcome.name)"
          case .trimmed(let result): "trimmed \(result.expired) \(result.trimmed)"
          case .warning(let sentence): "warning \(sentence)"
          }
        self.texts.withLock { $0.append(text) }
      }
    }

    /// The URL without the origin's address.
    private static func place(_ url: String) -> String {
      let path = url.split(separator: "/").last.map(String.init) ?? url
      return url.contains("@") ? url.split(separator: "/")[1].prefix { $0 != "@" } + "@" + path : path
    }
  }

  private let events = Events()

  private func album(_ change: (inout ImageManager.Configuration) -> Void = { _ in }) throws -> Album {
    try Album {
      $0.observers = [events.observer]
      change(&$0)
    }
  }

  @Test func `a load reports its request, its retries and its end, and hits report their end only`() async throws {
    let album = try album {
      $0.options.retries = 1
      $0.options.backoff = Backoff(initial: .zero, maximum: .zero)
    }
    album.origin.set("/a.jpg", .sequence([.status(500), .body(SampleImages.jpeg(1), type: "image/jpeg")]))
    _ = try await album.source("/a.jpg")
    #expect(events.take() == ["requested a.jpg", "retried a.jpg http-status after 0.0 seconds", "ended a.jpg downloaded"])
    _ = try await album.source("/a.jpg")
    #expect(events.take() == ["ended a.jpg hit-memory"])
    album.memory.removeAll()
    _ = try await album.source("/a.jpg")
    #expect(events.take() == ["ended a.jpg hit-disk"])
    let statistics = album.manager.statistics
    #expect(statistics.downloaded == 1 && statistics.memoryHits == 1 && statistics.diskHits == 1 && statistics.retries == 1)
    #expect(statistics.hits == 2 && statistics.misses == 1)
    #expect(statistics.receivedBytes == UInt64(SampleImages.jpeg(1).count))
  }

  @Test func `each outcome is counted once`() async throws {
    let album = try album()
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(3), etag: "\"1\""))
    _ = try await album.source("/v.jpg")
    _ = try await album.source("/v.jpg", mode: .refresh)
    for path in ["/none.jpg", "/none.jpg"] { await #expect(throws: ImageLoadError.self) { try await album.source(path) } }
    await #expect(throws: ImageLoadError.notCached) { try await album.source("/a.jpg", mode: .only) }
    await #expect(throws: ImageLoadError.self) { try await album.manager.image(for: "nonsense") }
    let gate = album.origin.hold("/b.jpg")
    let task = album.manager.load(album.url("/b.jpg"))
    try await gate.waitForWaiting(1)
    task.cancel()
    gate.open()
    _ = await task.outcome()
    let statistics = album.manager.statistics
    #expect(statistics.downloaded == 1 && statistics.revalidated == 1 && statistics.blacklisted == 1)
    #expect(statistics.skipped == 1 && statistics.failed == 2 && statistics.cancelled == 1 && statistics.hits == 0)
    #expect(
      events.take() == [
        "requested v.jpg", "ended v.jpg downloaded", "requested v.jpg", "ended v.jpg revalidated",
        "requested none.jpg", "ended none.jpg failed", "ended none.jpg blacklisted", "ended a.jpg skipped",
        "ended nonsense failed", "requested b.jpg", "ended b.jpg cancelled",
      ]
    )
  }

  @Test func `loads that share a download report one request, and its bytes are counted once`() async throws {
    let album = try album()
    let gate = album.origin.hold("/a.jpg")
    let tasks = (0..<3).map { _ in album.manager.load(album.url("/a.jpg")) }
    try await gate.waitForWaiting(1)
    gate.open()
    for task in tasks { _ = try await task.value }
    #expect(events.take() == ["requested a.jpg"] + [String](repeating: "ended a.jpg downloaded", count: 3))
    #expect(album.manager.statistics.downloaded == 3)
    #expect(album.manager.statistics.receivedBytes == UInt64(SampleImages.jpeg(1).count))
  }

  @Test func `the images of a prefetch are reported like others`() async throws {
    let album = try album()
    let prefetcher = try ImagePrefetcher(manager: album.manager, configuration: .init(concurrency: 1))
    _ = await prefetcher.prefetch(urls: [album.url("/a.jpg"), "nonsense", album.url("/a.jpg")]).value
    let seen = events.take()
    #expect(seen.count == 4 && seen.contains("requested a.jpg") && seen.contains("ended a.jpg downloaded"))
    #expect(seen.contains("ended nonsense failed"))
    let statistics = album.manager.statistics
    #expect(statistics.downloaded + statistics.hits == 2 && statistics.downloaded > 0 && statistics.failed == 1)
  }

  @Test func `a revalidation in the background is reported as a load of its own`() async throws {
    let clock = ManualClock()
    let folder = TemporaryDirectory()
    let cache = try ImageCache(.init(directory: folder.path, freshness: .http, time: clock.source))
    let album = try album {
      $0.cache = cache
      $0.downloader.time = clock.source
    }
    let headers: HeaderFields = ["Cache-Control": "max-age=10, stale-while-revalidate=1000"]
    album.origin.set("/v.jpg", Album.versioned(SampleImages.jpeg(1), etag: "\"1\"", headers: headers))
    let request = ImageRequest(url: album.url("/v.jpg"))
    _ = try await album.manager.response(for: request)
    clock.advance(by: .seconds(20))
    _ = try await album.manager.response(for: request)
    await album.manager.shutDown()
    let statistics = album.manager.statistics
    #expect(statistics.downloaded == 1 && statistics.hits == 1 && statistics.revalidated + statistics.cancelled == 1)
  }

  @Test func `removed images and damaged copies are reported`() async throws {
    let folder = TemporaryDirectory()
    let cache = try ImageCache(.init(directory: folder.path, maxBodyBytes: 1 << 20, trimTo: 0.9))
    let album = try album { $0.cache = cache }
    let body = SampleImages.jpeg(1) + [UInt8](repeating: 0, count: 700_000)
    for path in ["/1.jpg", "/2.jpg"] {
      album.origin.set(path, .body(body, type: "image/jpeg"))
      _ = try await album.source(path)
    }
    album.manager.finishTrimming()
    #expect(events.take().contains("trimmed 0 1"))
    #expect(album.manager.statistics.trimmed == 1)

    let path = try #require(try await album.manager.file(for: album.request("/2.jpg")).path)
    folder.write([UInt8](repeating: 0, count: body.count), to: String(path.dropFirst(folder.path.count + 1)))
    album.memory.removeAll()
    var request = album.request("/2.jpg")
    request.cachePolicy.verifiesHits = true
    _ = try await album.manager.response(for: request)
    let seen = events.take()
    #expect(seen.contains { $0.hasPrefix("warning the cached copy of ") } && seen.contains("ended 2.jpg downloaded"))
  }

  @Test func `credentials in URLs are masked`() async throws {
    let album = try album()
    let url = album.url("/a.jpg").replacing("://", with: "://me:secret@")
    _ = try await album.manager.image(for: url)
    #expect(events.take() == ["requested ***@a.jpg", "ended ***@a.jpg downloaded"])
  }
}
