import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Limits, order and results don't depend on the number of threads that make transfers.
@Suite(.serialized) struct CurlThreadTests {
  @Test(arguments: [1, 2, 8], [(DownloadOrder.fifo, 12), (.lifo, 12), (.fifo, 2)])
  func `both limits are used fully and never exceeded`(threads: Int, row: (order: DownloadOrder, perHost: Int)) async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 20, perHost: row.perHost, order: row.order, threads: threads)
    fetcher.submit((1...300).map { origin.url("/\($0)", host: $0 % 2) })
    let most = min(20, 2 * row.perHost)
    try await gate.waitForWaiting(most)
    try await fetcher.settle()
    #expect(fetcher.downloader.statistics.running == most && fetcher.downloader.statistics.waiting == 300 - most)
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(302)
    #expect(ends.count { $0.image?.body == [1] } == 300)
    #expect(origin.peakInFlight == most && fetcher.downloader.statistics.peakRunning == most)
    #expect(origin.peakInFlight(host: 0) <= row.perHost && origin.peakInFlight(host: 1) <= row.perHost)
  }

  @Test(arguments: [1, 2, 8])
  func `many small bodies arrive whole, over connections that their threads reuse`(threads: Int) async throws {
    let origin = try Origin(fallback: .computed { .body(Array($0.target.utf8)) })
    let fetcher = try Fetcher(concurrency: 16, perHost: 16, threads: threads)
    let ends = try await fetcher.fetchAll((1...1000).map { origin.url("/\($0)") })
    #expect(ends.allSatisfy { $0.image?.body == Array("/\($0.id)".utf8) })
    #expect(fetcher.downloader.statistics.openedConnections <= 16 + threads)
    #expect(origin.requests.count == 1000)
  }

  @Test(arguments: [1, 2, 8], [DownloadOrder.fifo, .lifo])
  func `one at a time, requests come in their order`(threads: Int, order: DownloadOrder) async throws {
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4, .ipv4])
    let fetcher = try Fetcher(concurrency: 1, order: order, threads: threads)
    fetcher.downloader.isSuspended = true
    fetcher.submit((1...60).map { origin.url("/\($0)", host: $0 % 3) })
    fetcher.downloader.isSuspended = false
    _ = try await fetcher.recorder.waitForEnds(60)
    let paths = (1...60).map { "/\($0)" }
    #expect(origin.requests.map(\.path) == (order == .fifo ? paths : paths.reversed()))
  }

  @Test(arguments: [2, 8]) func `streamed bodies and their progress arrive whole and in order`(threads: Int) async throws {
    let origin = try Origin()
    origin.setFallback { .body(pattern(100_000 + 1000 * (Int($0.path.dropFirst()) ?? 0))) }
    let fetcher = try Fetcher(concurrency: 8, perHost: 8, threads: threads)
    let ends = try await fetcher.fetchAll((1...80).map { origin.url("/\($0)") }, options: .forTests(streamAbove: 50_000))
    for end in ends { #expect(fetcher.recorder.body(of: end) == pattern(100_000 + 1000 * Int(end.id))) }
  }

  @Test(arguments: [2, 8])
  func `running downloads are cancelled on every thread, and others take their place`(threads: Int) async throws {
    let origin = try Origin(fallback: .body([1]))
    let gate = origin.holdAll()
    let fetcher = try Fetcher(concurrency: 16, perHost: 16, threads: threads)
    fetcher.submit((1...64).map { origin.url("/\($0)") })
    for round in 1...3 {
      try await gate.waitForWaiting(16)
      try await fetcher.settle()
      let waiting = fetcher.downloader.statistics.waiting
      fetcher.client.cancel((UInt64(1)...UInt64(16 * round)).map { $0 }, includingRunning: true)
      try await fetcher.settle()
      #expect(fetcher.downloader.statistics.waiting == waiting - 16)
      #expect(fetcher.recorder.ends.count(where: \.isCancelled) == 16 * round)
    }
    gate.open()
    let ends = try await fetcher.recorder.waitForEnds(64 + 12)
    #expect(ends.count { $0.image?.body == [1] } == 16)
  }

  @Test(arguments: [2, 8]) func `a pause that a host asks for holds on every thread`(threads: Int) async throws {
    let clock = ManualClock()
    let origin = try Origin()
    origin.setFallback { $0.path == "/1" ? .status(503, headers: ["Retry-After": "100"]) : .body([1]) }
    let fetcher = try Fetcher(concurrency: 8, perHost: 8, time: clock.source, threads: threads)
    // It ends at once, since it may not wait that long.
    _ = try await fetcher.fetch(origin.url("/1"), options: .forTests(retryAfterMaximum: .seconds(1)))
    fetcher.submit((1...20).map { origin.url("/a\($0)") }, options: .forTests(retryAfterMaximum: .seconds(200)))
    try await fetcher.settle()
    #expect(origin.requests.count == 1)
    fetcher.advance(clock, by: .seconds(101))
    _ = try await fetcher.recorder.waitForEnds(23)
    #expect(origin.requests.count == 21)
  }

  @Test(arguments: [2, 8]) func `hooks run on the threads, none of which may shut the downloader down`(threads: Int) async throws
  {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher(concurrency: 8, perHost: 8, threads: threads)
    let onOwn = Watched(0)
    var options = DownloadOptions.forTests()
    options.decryptor = Decryptor(name: "test") { [weak downloader = fetcher.downloader] body in
      if downloader?.runsOnCurrentThread == true { onOwn.withLock { $0 += 1 } }
      return body
    }
    _ = try await fetcher.fetchAll((1...40).map { origin.url("/\($0)") }, options: options)
    #expect(onOwn.value == 40)
  }

  @Test(arguments: [2, 8])
  func `a download that is cancelled as it starts has nothing of the one before`(threads: Int) async throws {
    let origin = try Origin(["/a": .body(pattern(5000))], fallback: .stall)
    let fetcher = try Fetcher(concurrency: 16, perHost: 16, threads: threads)
    _ = try await fetcher.fetchAll((1...64).map { _ in origin.url("/a") + "?" }.enumerated().map { "\($1)\($0)" })
    for round in 1...20 {
      fetcher.submit((1...16).map { origin.url("/\(round)/\($0)") })
      fetcher.client.cancel((1...16).map { $0 }, includingRunning: true)
      let ends = try await fetcher.recorder.waitForEnds(64 + 16 * round)
      #expect(ends.dropFirst(64).allSatisfy { $0.isCancelled && $0.summary.receivedBytes == 0 })
    }
  }

  @Test(arguments: [1, 2, 8]) func `a downloader that is shut down keeps no hook, even one that keeps it`(threads: Int)
    async throws
  {
    let origin = try Origin(fallback: .body([1]))
    var fetcher: Fetcher? = try Fetcher(concurrency: 8, perHost: 8, threads: threads)
    weak let kept = fetcher!.downloader
    var options = DownloadOptions.forTests()
    options.decryptor = Decryptor(name: "test") { [downloader = fetcher!.downloader] body in
      downloader.isSuspended ? nil : body
    }
    fetcher!.submit((1...40).map { origin.url("/\($0)") }, options: options)
    _ = try await fetcher!.recorder.waitForEnds(40)
    fetcher!.shutDown()
    options = .forTests()
    fetcher = nil
    #expect(kept == nil)
  }

  @Test(arguments: [1, 2, 8])
  func `a shutdown cancels everything and ends all threads before it returns, once`(threads: Int) async throws {
    let origin = try Origin(fallback: .stall)
    let fetcher = try Fetcher(concurrency: 16, perHost: 16, threads: threads)
    fetcher.submit((1...40).map { origin.url("/\($0)") })
    try await origin.waitForRequests(16)
    for _ in 1...2 {
      fetcher.shutDown()
      #expect(fetcher.recorder.ends.count == 40 && fetcher.recorder.ends.allSatisfy(\.isCancelled))
    }
  }
}

/// Which loop runs a host's next transfer.
@Suite struct LoopChoiceTests {
  private func choice(_ count: Int) -> LoopChoice {
    var choice = LoopChoice()
    choice.setCount(count)
    return choice
  }

  @Test func `requests one after another meet at the host's home`() {
    var choice = choice(4)
    for host in 0..<20 {
      for _ in 0..<3 {
        #expect(choice.start(host: host, mayUseHTTP2: false) == host % 4)
        choice.finish(host: host, loop: host % 4)
      }
    }
  }

  @Test(arguments: [1, 2, 3, 8]) func `a host's transfers at the same time spread evenly`(count: Int) {
    var choice = choice(count)
    let loops = (0..<5 * count).map { _ in choice.start(host: 7, mayUseHTTP2: false) }
    #expect((0..<count).allSatisfy { loop in loops.count { $0 == loop } == 5 })
    // The one that becomes free is taken next.
    choice.finish(host: 7, loop: count - 1)
    #expect(choice.start(host: 7, mayUseHTTP2: false) == count - 1)
  }

  @Test func `over TLS they stay at home until the server responds by HTTP/1.1`() {
    var choice = choice(2)
    #expect((0..<4).map { _ in choice.start(host: 1, mayUseHTTP2: true) } == [1, 1, 1, 1])
    choice.noteHTTP1(of: 1)
    #expect((0..<4).map { _ in choice.start(host: 1, mayUseHTTP2: true) } == [0, 0, 0, 0])
    for loop in [0, 0, 0, 0, 1, 1, 1, 1] { choice.finish(host: 1, loop: loop) }
    choice.forget(host: 1)
    #expect((0..<2).map { _ in choice.start(host: 1, mayUseHTTP2: true) } == [1, 1])
  }

  @Test func `the number of loops changes while transfers run`() {
    var choice = choice(2)
    #expect((0..<4).map { _ in choice.start(host: 0, mayUseHTTP2: false) } == [0, 1, 0, 1])
    choice.setCount(4)
    #expect((0..<4).map { _ in choice.start(host: 0, mayUseHTTP2: false) } == [2, 3, 2, 3])
    choice.setCount(1)
    #expect(choice.start(host: 0, mayUseHTTP2: false) == 0)
    for loop in [0, 0, 0, 1, 1, 2, 2, 3, 3] { choice.finish(host: 0, loop: loop) }
    choice.setCount(3)
    #expect((0..<3).map { _ in choice.start(host: 0, mayUseHTTP2: false) } == [0, 1, 2])
  }

  @Test(
    arguments: [
      (cores: 1, concurrency: 32, threads: 1), (2, 32, 1), (4, 32, 2), (16, 32, 4), (16, 6, 1), (64, 4096, 16), (2, 1024, 1),
      (2, 4096, 4), (1, 2048, 2),
    ]
  ) func `automatic threads: half the cores, at most one for 8 transfers and 16, at least one for 1,024`(
    cores: Int,
    concurrency: Int,
    threads: Int
  ) {
    var limits = DownloadLimits(concurrency: concurrency)
    #expect(limits.threads(cores: cores) == threads)
    limits.threads = 3
    #expect(limits.threads(cores: cores) == 3)
  }
}
