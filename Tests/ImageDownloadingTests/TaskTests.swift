import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Single downloads.
struct TaskTests {
  private func downloader(concurrency: Int = 6, loaders: [any ImageLoader] = []) throws -> ImageDownloader {
    try ImageDownloader(ImageDownloader.Configuration(limits: .init(concurrency: concurrency), loaders: loaders))
  }

  @Test func `an awaited image arrives whole, however large, and its URL is normalised first`() async throws {
    let body = pattern(900_000)
    let origin = try Origin(["/a%20b": .body(body, type: "image/png")])
    // Only the call retains the downloader.
    let image = try await downloader().data(from: origin.url("/x/../a b#there"))
    #expect(image.body == body && image.bodyBytes == body.count && !image.wasStreamed)
    #expect(image.contentType == "image/png" && image.summary.metrics != nil)
  }

  @Test(arguments: ["", "no url", "ftp://x/", "http://", "http://a b/"])
  func `a malformed URL fails at once without the network`(url: String) async throws {
    let downloader = try downloader()
    // Nothing can start, but it fails nevertheless.
    downloader.isSuspended = true
    await #expect { try await downloader.data(from: url) } throws: { ($0 as? DownloadError)?.failure?.kind == .invalidURL }
    #expect(downloader.currentDownloadCount == 0)
  }

  @Test func `a failure is thrown unchanged`() async throws {
    let origin = try Origin(["/a": .status(404)])
    let downloader = try downloader()
    await #expect(
      throws: DownloadError.failed(ImageFailure(.httpStatus, status: 404, message: "the server responded with 404 Not Found"))
    ) {
      try await downloader.data(from: origin.url("/a"))
    }
  }

  @Test func `two tasks for one URL share one transfer, and cancelling one leaves the other`() async throws {
    let origin = try Origin(["/a": .body([1, 2])])
    let gate = origin.holdAll()
    let downloader = try downloader()
    let tasks = (1...3).map { _ in downloader.download(origin.url("/a")) }
    try await gate.waitForWaiting(1)
    tasks[0].cancel()
    await #expect(throws: DownloadError.cancelled) { try await tasks[0].value }
    gate.open()
    for task in tasks.dropFirst() { #expect(try await task.value.body == [1, 2]) }
    #expect(try await tasks[1].value.body == [1, 2])
    #expect(origin.requests.count == 1)
  }

  @Test func `cancelling the waiting task cancels the download`() async throws {
    let origin = try Origin(["/a": .stall])
    let downloader = try downloader()
    let waiting = Task { try await downloader.data(from: origin.url("/a")) }
    try await origin.waitForRequests(1)
    waiting.cancel()
    await #expect(throws: DownloadError.cancelled) { try await waiting.value }
    try await origin.waitForInFlight(0)
  }

  @Test func `a cancelled task makes no request`() async throws {
    let origin = try Origin(["/a": .body([1])])
    let downloader = try downloader()
    downloader.isSuspended = true
    let waiting = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await downloader.data(from: origin.url("/a"))
    }
    await #expect(throws: DownloadError.cancelled) { try await waiting.value }
    downloader.isSuspended = false
    #expect(origin.requests.isEmpty)
  }

  @Test func `a task reports its progress, and its end last`() async throws {
    let gate = Gate()
    let origin = try Origin(["/a": .slow([1, 2, 3], gate)])
    let downloader = try downloader()
    let task = downloader.download(origin.url("/a"))
    gate.step()
    var received: [Int] = []
    var last: DownloadTask.Event?
    for await event in task.events {
      if case .progress(let count, 3) = event {
        if count > 0 { gate.step() }
        received.append(count)
      }
      last = event
    }
    #expect(received == [0, 1, 2, 3])
    guard case .ended(.success(let image)) = last else {
      Issue.record("\(String(describing: last))")
      return
    }
    #expect(image.body == [1, 2, 3])
  }

  @Test func `a waiting task's priority can be changed`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let downloader = try downloader(concurrency: 1)
    downloader.isSuspended = true
    let tasks = (1...3).map { downloader.download(origin.url("/\($0)"), priority: .low) }
    tasks[2].priority = .high
    #expect(tasks[2].priority == .high && tasks[1].priority == .low)
    downloader.isSuspended = false
    for task in tasks { _ = try await task.value }
    #expect(origin.requests.map(\.path) == ["/3", "/1", "/2"])
  }

  @Test func `with validators a 304 returns an image of that status without a body`() async throws {
    let origin = try Origin(["/a": .status(304)])
    let image = try await downloader().data(from: origin.url("/a"), validators: Validators(etag: "\"1\""))
    #expect(image.status == 304 && image.body.isEmpty)
  }

  @Test func `chunks streamed before a retry are void`() async throws {
    let body = pattern(900_000)
    let origin = try Origin(["/a": .sequence([.cut(afterBytes: 600_000, declared: 900_000), .body(body)])])
    let options = DownloadOptions {
      $0.retries = 1
      $0.backoff = .init(initial: .zero, maximum: .zero)
    }
    #expect(try await downloader().data(from: origin.url("/a"), options: options).body == body)
  }

  @Test func `shutdown ends awaited downloads, and later ones, as shut down`() async throws {
    let origin = try Origin(["/a": .stall])
    let downloader = try downloader()
    let task = downloader.download(origin.url("/a"))
    try await origin.waitForRequests(1)
    await downloader.shutDown()
    await #expect(throws: DownloadError.shutDown) { try await task.value }
    await #expect(throws: DownloadError.shutDown) { try await downloader.data(from: origin.url("/a")) }
    #expect(origin.requests.count == 1)
  }

  @Test func `a URL handled by a loader isn't normalised`() async throws {
    struct Echo: ImageLoader {
      func canLoad(_ url: String) -> Bool { url.hasPrefix("file:") }
      func load(_ request: LoaderRequest) async throws -> LoaderResponse { LoaderResponse(body: Array(request.url.utf8)) }
    }
    let image = try await downloader(loaders: [Echo()]).data(from: "file:///tmp/a b/../c")
    #expect(image.body == Array("file:///tmp/a b/../c".utf8))
  }
}
