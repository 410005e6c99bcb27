import ImageDownloading
import Base
import TestOrigin
import TestSupport
import Testing

/// Downloads with the same result share a transfer.
struct SharingTests {
  @Test func `equal downloads of several clients share one request, and each gets the image once`() async throws {
    let origin = try Origin(fallback: .body([1, 2, 3]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher()
    let other = Recorder()
    let client = fetcher.downloader.client(other)
    fetcher.client.submit([Download(1, origin.url("/a")), Download(2, origin.url("/a"))])
    try await gate.waitForWaiting(1)
    fetcher.client.submit([Download(3, origin.url("/a"), options: .forTests(timeout: .seconds(9), retries: 7))])
    client.submit([Download(1, origin.url("/a"))])
    try await fetcher.settle()
    #expect(fetcher.downloader.currentDownloadCount == 1)
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(5).filter { $0.id != .max } + other.waitForEnds(1)
    #expect(ends.map(\.id) == [1, 2, 3, 1])
    #expect(ends.allSatisfy { $0.image?.body == [1, 2, 3] })
    #expect(ends.map(\.summary.isShared) == [false, true, true, true])
    #expect(origin.requests.count == 1)
  }

  @Test func `downloads with different results are not shared`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 32, perHost: 32)
    let variants: [DownloadOptions] = [
      .forTests(), .forTests(headers: [("X-A", "1")]), .forTests(headers: [("X-A", "2")]), .forTests(maxBytes: 7),
      .forTests(redirects: 0), .forTests(acceptStatus: [200, 404]), .forTests(streamAbove: 1),
      DownloadOptions { $0.accept = "image/png" },
    ]
    var downloads = variants.enumerated().map { Download(UInt64($0), origin.url("/a"), options: $1) }
    downloads.append(Download(50, origin.url("/a"), validators: Validators(etag: "\"1\"")))
    downloads.append(Download(51, origin.url("/a"), validators: Validators(etag: "\"2\"")))
    downloads.append(Download(52, origin.url("/a?")))
    downloads[downloads.count - 1].requestURL += Array("x".utf8)
    fetcher.client.submit(downloads)
    try await gate.waitForWaiting(downloads.count)
    gate.open()
    _ = try await fetcher.recorder.waitForEnds(downloads.count)
    #expect(origin.requests.count == downloads.count)
  }

  @Test(arguments: [false, true])
  func `a waiter with higher priority raises a waiting download, and cancelling it lowers it again`(cancelled: Bool) async throws
  {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher(concurrency: 1)
    fetcher.downloader.isSuspended = true
    fetcher.submit((1...3).map { origin.url("/\($0)") }, priority: .low)
    fetcher.client.submit([Download(9, origin.url("/3"), priority: .high)])
    if cancelled { fetcher.client.cancel([9]) }
    fetcher.downloader.isSuspended = false
    _ = try await fetcher.recorder.waitForEnds(4)
    #expect(origin.requests.map(\.path) == (cancelled ? ["/1", "/2", "/3"] : ["/3", "/1", "/2"]))
  }

  @Test(arguments: [1, 2])
  func `a cancelled waiter doesn't stop the shared download; cancelling the last one does`(first: UInt64) async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher()
    fetcher.client.submit([Download(1, origin.url("/a")), Download(2, origin.url("/a"))])
    try await gate.waitForWaiting(1)
    fetcher.client.cancel([first])
    _ = try await fetcher.recorder.waitForEnds(1)
    try await fetcher.settle()
    #expect(origin.inFlight == 1)
    #expect(fetcher.downloader.statistics.running == 1)
    fetcher.client.cancel([3 - first])
    // The origin sees that the connection was cut.
    try await origin.waitForInFlight(0)
    let ends = try await fetcher.recorder.waitForEnds(4).filter { $0.id != .max }
    #expect(ends.map(\.id) == [first, 3 - first] && ends.allSatisfy(\.isCancelled))
    gate.open()
    fetcher.client.submit([Download(1, origin.url("/a"))])
    #expect(try await fetcher.recorder.waitForEnds(5).last?.image != nil)
    #expect(origin.requests.count == 2)
  }

  @Test(arguments: [404, 200]) func `a failure or an empty body reaches every waiter exactly once`(status: Int) async throws {
    let origin = try Origin(fallback: .status(status))
    let gate = origin.holdAll()
    let fetcher = try Fetcher()
    fetcher.client.submit((1...5).map { Download($0, origin.url("/a")) })
    try await gate.waitForWaiting(1)
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(5)
    try await fetcher.settle()
    #expect(ends.map(\.id) == [1, 2, 3, 4, 5])
    #expect(ends.allSatisfy { status == 200 ? $0.image?.body == [] : $0.failure?.status == 404 })
    #expect(fetcher.recorder.events.count == 7)
    #expect(origin.requests.count == 1)
  }

  @Test func `waiters share retries and redirects`() async throws {
    let origin = try Origin(["/a": .redirect(to: "/b"), "/b": .sequence([.status(503), .body([1])])])
    let fetcher = try Fetcher()
    fetcher.client.submit((1...3).map { Download($0, origin.url("/a"), options: .forTests(retries: 1)) })
    let ends = try await fetcher.recorder.waitForEnds(3)
    #expect(ends.allSatisfy { $0.image?.finalURL == origin.url("/b") && $0.summary.attempts == 2 })
    #expect(origin.requests.map(\.path) == ["/a", "/b", "/a", "/b"])
  }

  @Test func `a stopped waiter ends with the attempt, and the others retry`() async throws {
    let origin = try Origin(["/a": .sequence([.status(503), .body([1])])])
    let gate = origin.holdAll()
    let fetcher = try Fetcher()
    fetcher.client.submit((1...2).map { Download($0, origin.url("/a"), options: .forTests(retries: 1)) })
    try await gate.waitForWaiting(1)
    fetcher.client.cancel([1], includingRunning: false)
    try await fetcher.settle()
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(4).filter { $0.id != .max }
    #expect(ends.map(\.id) == [1, 2] && ends[0].failure?.status == 503 && ends[1].image != nil)
  }

  @Test func `a waiter that joins after streaming began waits and then makes its own request`() async throws {
    let gate = Gate()
    let body = pattern(900_000)
    let origin = try Origin(["/a": .paused(body, after: 600_000, gate)])
    let fetcher = try Fetcher()
    fetcher.client.submit([Download(1, origin.url("/a"))])
    try await fetcher.recorder.waitForEvent { if case .chunk = $0 { true } else { false } }
    fetcher.client.submit([Download(2, origin.url("/a")), Download(3, origin.url("/a")), Download(4, origin.url("/a"))])
    fetcher.client.cancel([2])
    try await fetcher.settle()
    #expect(origin.requests.count == 1)
    #expect(fetcher.downloader.statistics.waiting == 1)
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(6).filter { $0.id != .max && !$0.isCancelled }
    #expect(ends.map(\.id) == [1, 3, 4])
    #expect(origin.requests.count == 2 && origin.peakInFlight == 1)
    for end in ends { #expect(fetcher.recorder.body(of: end) == body) }
  }

  @Test func `a late waiter may leave again, and the next one waits too`() async throws {
    let gate = Gate()
    let origin = try Origin(["/a": .paused(pattern(900_000), after: 600_000, gate)])
    let fetcher = try Fetcher()
    fetcher.client.submit([Download(1, origin.url("/a"))])
    try await fetcher.recorder.waitForEvent { if case .chunk = $0 { true } else { false } }
    fetcher.client.submit([Download(2, origin.url("/a"))])
    fetcher.client.cancel([2])
    fetcher.client.submit([Download(2, origin.url("/a"))])
    fetcher.client.cancel([1])
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(3)
    #expect(ends.map(\.id) == [2, 1, 2] && ends.map(\.isCancelled) == [true, true, false])
    #expect(origin.requests.count == 2)
  }

  @Test func `a late waiter shares the retry of a transfer whose chunks are void`() async throws {
    let body = pattern(900_000)
    let origin = try Origin(["/a": .sequence([.stall(afterBytes: 600_000, declared: 900_000, of: body), .body(body)])])
    let clock = ManualClock()
    let fetcher = try Fetcher(time: clock.source)
    let options = DownloadOptions.forTests(stallTimeout: .seconds(2), retries: 1)
    fetcher.client.submit([Download(1, origin.url("/a"), options: options)])
    try await fetcher.recorder.waitForEvent { if case .chunk = $0 { true } else { false } }
    fetcher.client.submit([Download(2, origin.url("/a"), options: options)])
    try await fetcher.settle()
    fetcher.advance(clock, by: .seconds(2))
    let ends = try await fetcher.recorder.waitForEnds(4).filter { $0.id != .max }
    #expect(ends.map(\.id) == [1, 2])
    #expect(ends.allSatisfy { $0.image?.wasStreamed == true })
    #expect(ends.map(\.summary.attempts) == [2, 2])
    #expect(origin.requests.count == 2)
  }

  @Test func `with waiters joining and leaving at random, each ends once, and no URL is requested twice at a time`() async throws
  {
    // Created once, as it takes time, and the origin has one thread.
    let large = pattern(600_000)
    let origin = try Origin(
      fallback: .computed { request in
        let number = Int(request.path.dropFirst()) ?? 0
        return number % 5 == 0 ? .body(large) : number % 5 == 1 ? .status(503) : .body(pattern(number))
      }
    )
    let fetcher = try Fetcher(concurrency: 8)
    let other = Recorder()
    let client = fetcher.downloader.client(other)
    var random = SeededRandom(seed: 11)
    var counts = (first: 0, other: 0)
    let options = [DownloadOptions.forTests(retries: 1), .forTests(retries: 1)]
    for id in 1...2000 as ClosedRange<UInt64> {
      let isFirst = random.next() % 2 == 0
      let url = origin.url("/\(random.next() % 20)")
      let download = Download(id, url, options: options[Int(random.next() % 2)])
      if isFirst { counts.first += 1 } else { counts.other += 1 }
      (isFirst ? fetcher.client : client).submit([download])
      if random.next() % 3 == 0 { (isFirst ? fetcher.client : client).cancel([id - random.next() % min(id, 5)]) }
    }
    _ = try await fetcher.recorder.waitForEnds(counts.first)
    _ = try await other.waitForEnds(counts.other)
    try await fetcher.settle()
    let ids = (fetcher.recorder.ends + other.ends).map(\.id).filter { $0 != .max }
    #expect(ids.sorted() == Array(1...2000))
    #expect(fetcher.downloader.currentDownloadCount == 0)
  }
}
