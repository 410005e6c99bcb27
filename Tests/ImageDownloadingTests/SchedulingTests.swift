import Base
import ImageDownloading
import TestOrigin
import TestSupport
import Testing

/// When downloads start, wait, and are cancelled, over real sockets.
struct SchedulingTests {

  @Test func `limits change while transfers run`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 2, perHost: 2)
    fetcher.submit((1...20).map { origin.url("/\($0)") })
    try await gate.waitForWaiting(2)
    try fetcher.downloader.setLimits(DownloadLimits(concurrency: 5, perHost: 5))
    try await gate.waitForWaiting(5)
    try fetcher.downloader.setLimits(DownloadLimits(concurrency: 1, perHost: 5))
    gate.step(4)
    _ = try await fetcher.recorder.waitForEnds(4)
    try await fetcher.settle()
    #expect(fetcher.downloader.statistics.running == 1)
    gate.open()
    _ = try await fetcher.recorder.waitForEnds(22)
    #expect(origin.peakInFlight == 5)
  }

  @Test func `one at a time, LIFO runs 1, 7, 6, 5, 4, 3, 2 if 1 has started`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 1, order: .lifo)
    let downloads = (1...7).map { Download($0, origin.url("/\($0)")) }
    fetcher.client.submit([downloads[0]])
    try await gate.waitForWaiting(1)
    fetcher.client.submit(Array(downloads[1...]))
    try await fetcher.settle()
    gate.open()
    _ = try await fetcher.recorder.waitForEnds(9)
    #expect(origin.requests.map(\.path) == ["/1", "/7", "/6", "/5", "/4", "/3", "/2"])
  }

  @Test func `a cancelled download ends once, waiting or running, and can be requested again at once`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 1)
    fetcher.submit((1...3).map { origin.url("/\($0)") })
    try await gate.waitForWaiting(1)
    fetcher.client.cancel([1, 2, 2, 77])
    fetcher.client.submit((1...2).map { Download($0, origin.url("/\($0)")) })
    let ends = try await fetcher.recorder.waitForEnds(2)
    #expect(ends.map(\.id) == [1, 2] && ends.allSatisfy(\.isCancelled))
    #expect(ends.map(\.summary.attempts) == [1, 0])
    gate.open()
    let others = try await fetcher.recorder.waitForEnds(5).dropFirst(2)
    #expect(others.allSatisfy { $0.image != nil } && Set(others.map(\.id)) == [1, 2, 3])
  }

  @Test(arguments: [false, true])
  func `all waiting downloads can be cancelled, with or without running ones`(includingRunning: Bool) async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 2)
    fetcher.submit((1...10).map { origin.url("/\($0)") })
    try await gate.waitForWaiting(2)
    fetcher.downloader.cancelAll(includingRunning: includingRunning)
    try await fetcher.settle()
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(12)
    #expect(ends.count(where: \.isCancelled) == (includingRunning ? 10 : 8))
    #expect(ends.count { $0.image != nil } == (includingRunning ? 0 : 2))
  }

  @Test func `a downloader that is shut down by its own callback traps`() async {
    let ended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let downloader = try ImageDownloader()
      let options = DownloadOptions {
        $0.requestModifier = RequestModifier(name: "end") { request in
          downloader.shutDown()
          return request
        }
      }
      _ = try? await downloader.data(from: "http://127.0.0.1:1/a", options: options)
    }
    let said = String(decoding: ended?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("can't be shut down in one of its callbacks"))
  }

  @Test func `with failures, retries, redirects and random cancels each download ends exactly once`() async throws {
    // Created once, as it takes time, and the origin has one thread.
    let body = pattern(180_000)
    let origin = try Origin(
      fallback: .computed { request in
        let number = Int(request.path.dropFirst().prefix { $0.isNumber }) ?? 0
        if request.path.hasSuffix("/again") { return .body([1]) }
        return switch number % 7 {
        case 0: .status(404)
        case 1: .redirect(to: "/\(number)/again")
        case 2: .sequence([.status(503), .body([1])])
        case 3: .cut(afterBytes: 200_000, declared: 300_000)
        case 4: .reset
        default: .body(Array(body.prefix(number * 300)))
        }
      }
    )
    let fetcher = try Fetcher(concurrency: 12)
    var random = SeededRandom(seed: 7)
    fetcher.submit((1...600).map { origin.url("/\($0)") }, options: .forTests(retries: 1))
    for _ in 0..<100 {
      fetcher.client.cancel([UInt64.random(in: 1...600, using: &random)])
    }
    _ = try await fetcher.recorder.waitForEnds(600)
    try await fetcher.settle()
    let ids = fetcher.recorder.ends.map(\.id).filter { $0 != .max }
    #expect(ids.sorted() == Array(1...600))
    // No event may follow the end of a download.
    var ended = Set<UInt64>()
    for event in fetcher.recorder.events where event.id != .max {
      #expect(!ended.contains(event.id))
      if let end = End(event) { ended.insert(end.id) }
    }
    #expect(fetcher.downloader.statistics.running == 0)
  }

  @Test func `while suspended nothing new starts, running transfers continue, and downloads can be added`() async throws {
    let origin = try Origin(["/1": .redirect(to: "/hop")], fallback: .body([1]))
    let gate = origin.hold("/1")
    let fetcher = try Fetcher()
    fetcher.submit([origin.url("/1")])
    try await gate.waitForWaiting(1)
    fetcher.downloader.isSuspended = true
    #expect(fetcher.downloader.isSuspended)
    fetcher.client.submit([Download(2, origin.url("/2"))])
    gate.open()
    try await fetcher.recorder.waitForEnd(of: 1)
    try await fetcher.settle()
    #expect(origin.requests.map(\.path) == ["/1", "/hop"])
    #expect(fetcher.downloader.statistics.waiting == 1)
    fetcher.downloader.isSuspended = false
    try await fetcher.recorder.waitForEnd(of: 2)
  }

  @Test func `downloads that fail immediately make room for the next at once`() async throws {
    let fetcher = try Fetcher(concurrency: 1, circuitBreaker: CircuitBreaker(failures: .max))
    // The kernel rejects connections to the broadcast address without network traffic.
    let ends = try await fetcher.fetchAll((1...50).map { "http://255.255.255.255/\($0)" })
    #expect(ends.map(\.id) == Array(1...50))
    #expect(ends.allSatisfy { $0.failure?.kind == .connect })
  }
}

/// One host must not delay the others: the order of requests at the origin.
struct FairnessTests {
  enum Trouble: CaseIterable {
    case stalls, asksForPause, fails
  }

  @Test(
    arguments: Trouble.allCases,
    [DownloadOrder.fifo, .lifo]
  )
  func `one of ten hosts that stalls, pauses or fails doesn't delay the other nine`(trouble: Trouble, order: DownloadOrder)
    async throws
  {
    let origin = try Origin(addresses: [Origin.Address](repeating: .ipv4, count: 10))
    let bad = origin.ports[0]
    origin.setFallback { request in
      guard request.port == bad else { return .body([1]) }
      return switch trouble {
      case .stalls: .stall
      case .asksForPause: .status(503, headers: ["Retry-After": "100"])
      case .fails: .reset
      }
    }
    // The stalling host keeps one transfer: so one is left for all the others.
    let run = try ManualRun(
      concurrency: trouble == .stalls ? 2 : 1,
      perHost: 1,
      order: order,
      circuitBreaker: CircuitBreaker(failures: 2)
    )
    run.fetcher.downloader.isSuspended = true
    run.fetcher.submit((0..<200).map { origin.url("/\($0)", host: $0 % 10) }, options: .forTests(retries: 5))
    run.fetcher.downloader.isSuspended = false
    _ = try await run.fetcher.recorder.waitForEnds(180)
    let asked = origin.requests.filter { $0.port != bad }.map(\.path)
    let others = (0..<200).filter { $0 % 10 != 0 }.map { "/\($0)" }
    #expect(asked == (order == .fifo ? others : others.reversed()))
    #expect(origin.requests.count { $0.port == bad } == (trouble == .fails ? 2 : 1))
    #expect(run.ends.count == 180)
  }
}
