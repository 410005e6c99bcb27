import ImageDownloading
import Base
import Synchronization
import TestOrigin
import TestSupport
import Testing

/// Loaders that replace libcurl.
struct LoaderTests {
  // These tests suspend instead of blocking: a loader needs a thread of the same pool.

  /// A loader of URLs with a scheme, which responds when a test lets it.
  private final class Shelf: ImageLoader {
    struct State {
      var requests: [LoaderRequest] = []
      var waiting: [(url: String, continuation: CheckedContinuation<Void, Never>)] = []
      var cancelled: [String] = []
    }

    let scheme: String
    let state = Watched(State())
    private let holds: Bool
    private let answer: @Sendable (LoaderRequest) throws -> LoaderResponse

    init(
      _ scheme: String = "shelf:",
      holds: Bool = false,
      answer: @escaping @Sendable (LoaderRequest) throws -> LoaderResponse = { LoaderResponse(body: Array($0.url.utf8)) }
    ) {
      self.scheme = scheme
      self.holds = holds
      self.answer = answer
    }

    func canLoad(_ url: String) -> Bool { url.hasPrefix(scheme) }

    func load(_ request: LoaderRequest) async throws -> LoaderResponse {
      state.withLock { $0.requests.append(request) }
      if holds {
        await withTaskCancellationHandler {
          await withCheckedContinuation { continuation in
            state.withLock { $0.waiting.append((request.url, continuation)) }
          }
        } onCancel: {
          state.withLock { $0.cancelled.append(request.url) }
        }
      }
      return try answer(request)
    }

    func waitForWaiting(_ count: Int) async throws { try await state.wait(for: "\(count) loads") { $0.waiting.count >= count } }

    /// Lets the first request continue.
    func letOnePass() { state.withLock { $0.waiting.removeFirst() }.continuation.resume() }
  }

  private func fetch(_ url: String, _ loaders: [any ImageLoader], options: DownloadOptions = .forTests()) async throws -> End {
    try await Fetcher(loaders: loaders).fetch(url, options: options)
  }

  @Test func `a loader replaces libcurl for any scheme, and the last one that accepts the URL wins`() async throws {
    let first = Shelf { _ in LoaderResponse(body: [1]) }
    let last = Shelf("shelf:b") { _ in
      LoaderResponse(
        body: [2],
        contentType: "image/png",
        validators: Validators(etag: "\"e\""),
        freshness: Freshness(lifetime: .seconds(5))
      )
    }
    let http = Shelf("http://127.0.0.1:1/") { _ in LoaderResponse(body: [3]) }
    let loaders: [any ImageLoader] = [first, last, http]
    #expect(try await fetch("shelf:a", loaders).image?.body == [1])
    #expect(try await fetch("http://127.0.0.1:1/x", loaders).image?.body == [3])
    let image = try #require(try await fetch("shelf:b", loaders).image)
    #expect(image.status == 200 && image.body == [2] && image.bodyBytes == 1 && image.contentType == "image/png")
    #expect(image.validators.etag == "\"e\"" && image.freshness.lifetime == .seconds(5))
    #expect(image.summary.attempts == 1 && image.summary.receivedBytes == 1)
    #expect(try await fetch("other:a", loaders).failure?.kind == .invalidURL)
  }

  @Test func `a loader's error is the failure, and transient ones are retried`() async throws {
    struct Odd: Error {}
    let count = Mutex(0)
    let shelf = Shelf { request in
      if request.url == "shelf:odd" { throw Odd() }
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 1 { throw ImageFailure(.connect, isTransient: true, message: "away") }
      throw ImageFailure(.httpStatus, status: 404, message: "gone")
    }
    let end = try await fetch("shelf:a", [shelf], options: .forTests(retries: 5))
    #expect(end.failure == ImageFailure(.httpStatus, status: 404, message: "gone") && end.summary.attempts == 2)
    let odd = try await fetch("shelf:odd", [shelf], options: .forTests(retries: 5))
    #expect(odd.failure?.kind == .internal && odd.summary.attempts == 1)
    expectGolden(odd.failure?.message)
  }

  @Test func `the options' limits apply to loaders`() async throws {
    let shelf = Shelf { _ in LoaderResponse(body: [1, 2, 3], contentType: "text/html") }
    #expect(try await fetch("shelf:a", [shelf], options: .forTests(maxBytes: 2)).failure?.kind == .tooLarge)
    #expect(
      try await fetch("shelf:a", [shelf], options: DownloadOptions { $0.acceptContentTypes = ["image/*"] }).failure?.kind
        == .contentType
    )
    let decryptor = Decryptor(name: "d") { $0.reversed() }
    #expect(try await fetch("shelf:a", [shelf], options: DownloadOptions { $0.decryptor = decryptor }).image?.body == [3, 2, 1])
  }

  @Test func `a loader may report not-modified if it was asked conditionally`() async throws {
    let shelf = Shelf { _ in .notModified }
    let fetcher = try Fetcher(loaders: [shelf])
    let validators = Validators(etag: "\"1\"")
    fetcher.client.submit([Download(1, "shelf:a", validators: validators)])
    #expect(try await fetcher.recorder.waitForEnds(1)[0].isNotModified)
    #expect(shelf.state.value.requests[0].validators == validators)
    #expect(try await fetch("shelf:a", [shelf]).failure?.kind == .internal)
  }

  @Test func `loads use slots like transfers, in order, with one host per scheme`() async throws {
    let shelf = Shelf(holds: true)
    let fetcher = try Fetcher(concurrency: 6, perHost: 2, order: .lifo, loaders: [shelf])
    fetcher.downloader.isSuspended = true
    fetcher.submit((1...5).map { "shelf:\($0)" })
    fetcher.downloader.isSuspended = false
    try await shelf.waitForWaiting(2)
    try await fetcher.settle()
    #expect(fetcher.downloader.statistics.running == 2 && fetcher.downloader.statistics.waiting == 3)
    for count in 3...5 {
      shelf.letOnePass()
      try await shelf.state.wait(for: "the next") { $0.requests.count >= count }
      try await shelf.waitForWaiting(2)
    }
    shelf.letOnePass()
    shelf.letOnePass()
    _ = try await fetcher.recorder.waitForEnds(5)
    let urls = shelf.state.value.requests.map(\.url)
    // Two start at once; the order of their tasks is undefined.
    #expect(Set(urls.prefix(2)) == ["shelf:5", "shelf:4"])
    #expect(urls.dropFirst(2) == ["shelf:3", "shelf:2", "shelf:1"])
  }

  @Test func `loads are shared and cancelled like transfers, and late results are ignored`() async throws {
    let shelf = Shelf(holds: true)
    let fetcher = try Fetcher(loaders: [shelf])
    fetcher.submit(["shelf:a", "shelf:a", "shelf:b"])
    try await shelf.waitForWaiting(2)
    fetcher.client.cancel([1])
    fetcher.client.cancel([3])
    try await shelf.state.wait(for: "the cancellation") { $0.cancelled == ["shelf:b"] }
    // Another load can start whether or not the cancelled one stops.
    fetcher.client.submit([Download(3, "shelf:b")])
    try await shelf.waitForWaiting(3)
    for _ in 1...3 { shelf.letOnePass() }
    let ends = try await fetcher.recorder.waitForEnds(4)
    try await fetcher.settle()
    #expect(Set(ends.map(\.id)) == [1, 2, 3] && ends.count(where: \.isCancelled) == 2)
    #expect(fetcher.recorder.ends.count == 6)
    #expect(shelf.state.value.requests.count == 3)
    #expect(fetcher.downloader.statistics.running == 0)
  }

  @Test func `a load that takes too long fails as timeout, and its task is cancelled`() async throws {
    let shelf = Shelf(holds: true)
    let fetcher = try Fetcher(loaders: [shelf])
    let end = try await fetcher.fetchAll(["shelf:a"], options: .forTests(timeout: .milliseconds(50)))[0]
    #expect(end.failure == ImageFailure(.timeout, isTransient: true, message: "the loader didn't finish within 50 ms"))
    try await shelf.state.wait(for: "the cancellation") { $0.cancelled == ["shelf:a"] }
    try await shelf.waitForWaiting(1)
    shelf.letOnePass()
  }

  @Test func `a load reports its progress`() async throws {
    let fetcher = try Fetcher(loaders: [Shelf()])
    fetcher.client.submit([Download(1, "shelf:a", wantsProgress: true, wantsDetails: true)])
    let end = try await fetcher.recorder.waitForEnds(1)[0]
    #expect(end.summary.response == nil && end.summary.metrics == nil)
    let events = fetcher.recorder.events
    guard events.count == 4, case .started = events[0], case .progress(_, 0, 7) = events[1], case .progress(_, 7, 7) = events[2]
    else {
      Issue.record("\(events)")
      return
    }
  }
}
