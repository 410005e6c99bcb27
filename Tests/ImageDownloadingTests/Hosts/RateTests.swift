import Base
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// Rates over real sockets, with a manual clock.
struct RateTests {
  @Test func `a rate counts every request, including retries and redirect hops`() async throws {
    let run = try ManualRun()
    let origin = try Origin(["/0": .redirect(to: "/hop"), "/1": .sequence([.status(500), .body([1])])], fallback: .body([1]))
    try run.fetcher.downloader.setLimits(DownloadLimits(rate: 10))
    run.fetcher.submit((0..<3).map { origin.url("/\($0)") }, options: .forTests(retries: 1))
    try await run.settle()
    for count in 1..<5 {
      #expect(origin.requests.count == count)
      try await run.advance(by: .milliseconds(99))
      #expect(origin.requests.count == count)
      try await run.advance(by: .milliseconds(1))
    }
    #expect(origin.requests.map(\.path) == ["/0", "/hop", "/1", "/1", "/2"])
    #expect(run.ends.count { $0.image != nil } == 3)
    let times = run.fetcher.downloader.pipeline.times
    #expect(times[.rate] == 400_000_000 && times[.pause] == 0 && times[.hosts] == 0)
  }

  @Test func `each host keeps its per-host rate, even after idle time`() async throws {
    let run = try ManualRun()
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    try run.fetcher.downloader.setLimits(DownloadLimits(perHostRate: 1))
    run.fetcher.submit((0..<4).map { origin.url("/\($0)", host: $0 % 2) })
    try await run.settle()
    #expect(origin.requests.count == 2)
    try await run.advance(by: .seconds(1))
    #expect(run.ends.count == 4)
    // All hosts have used their start; the next requests must wait nevertheless.
    run.fetcher.client.submit([Download(9, origin.url("/9"))])
    try await run.advance(by: .milliseconds(999))
    #expect(run.ends.count == 4)
    try await run.advance(by: .milliseconds(1))
    #expect(run.ends.count == 5)
  }

  @Test func `a rate can be removed while downloads wait for it`() async throws {
    let run = try ManualRun()
    let origin = try Origin(fallback: .body([1]))
    try run.fetcher.downloader.setLimits(DownloadLimits(rate: 0.001, perHostRate: 0.001))
    run.fetcher.submit((0..<5).map { origin.url("/\($0)") })
    try await run.settle()
    #expect(origin.requests.count == 1)
    try run.fetcher.downloader.setLimits(DownloadLimits())
    try await run.settle()
    #expect(run.ends.count == 5)
  }

  @Test func `a host's own limits replace those of all, and may change while downloads wait`() async throws {
    let run = try ManualRun()
    let origin = try Origin(fallback: .body([1]), addresses: [.ipv4, .ipv4])
    let hosts = try origin.ports.map { try #require(HostPattern("127.0.0.1:\($0)")) }
    let any = try #require(HostPattern("127.0.0.1"))
    func limit(_ hosts: [HostPattern: DownloadLimits.OfHost]) async throws {
      try run.fetcher.downloader.setLimits(DownloadLimits(perHostRate: 0.001, hosts: hosts))
      try await run.settle()
    }
    func counts() -> [Int] { origin.ports.map { port in origin.requests.count { $0.port == port } } }
    try await limit([any: .init(perHostRate: 0.002), hosts[0]: .init(perHostRate: .infinity)])
    run.fetcher.submit((0..<6).map { origin.url("/\($0)", host: $0 % 2) })
    try await run.settle()
    #expect(counts() == [3, 1])
    try await run.advance(by: .seconds(500))
    #expect(counts() == [3, 2])
    // Without limits of its own, those of all count.
    try await limit([hosts[0]: .init(perHost: 1)])
    try await run.advance(by: .seconds(999))
    #expect(counts() == [3, 2])
    try await limit([hosts[1]: .init(perHostRate: .infinity)])
    #expect(counts() == [3, 3])
  }

  @Test func `a rate is never exceeded on the system clock`() async throws {
    let origin = try Origin(fallback: .body([1]))
    let fetcher = try Fetcher()
    try fetcher.downloader.setLimits(DownloadLimits(rate: 200))
    // Taken before the first start, so that a busy machine can only measure more than the actual time.
    let begin = ContinuousClock.now
    _ = try await fetcher.fetchAll((0..<41).map { origin.url("/\($0)") })
    // Forty intervals minus one tolerance.
    #expect(ContinuousClock.now - begin >= .milliseconds(195))
  }

  @Test func `a rate that is set at creation holds from the first request`() async throws {
    let downloader = try ImageDownloader(ImageDownloader.Configuration(limits: DownloadLimits(concurrency: 8, rate: 200)))
    let origin = try Origin(fallback: .body([1]))
    let begin = ContinuousClock.now
    let tasks = (0..<21).map { downloader.download(origin.url("/\($0)")) }
    for task in tasks { _ = try await task.value }
    #expect(ContinuousClock.now - begin >= .milliseconds(95))
  }
}

/// The schedule of starts, with simulated times.
struct StartRateTests {
  private static let interval = StartRate.intervalNanoseconds(ofRate: 50)

  /// Starts as soon as allowed, delayed by `lateness`; returns the times.
  private func starts(_ count: Int, lateness: (Int) -> Duration) -> [MonotonicInstant] {
    var rate = StartRate()
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    return (0..<count).map { index in
      now = max(now, rate.next).advanced(by: lateness(index))
      rate.start(at: now, intervalNanoseconds: Self.interval)
      return now
    }
  }

  @Test func `50 per second is one start every 20 ms, and without a rate there is no interval`() {
    #expect(Self.interval == 20_000_000)
    #expect(StartRate.intervalNanoseconds(ofRate: nil) == 0)
    #expect(StartRate.intervalNanoseconds(ofRate: 1e-30) == 1_000_000_000_000_000_000)
    #expect(StartRate.intervalNanoseconds(ofRate: 3) == 333_333_334)
  }

  @Test func `slightly late starts don't lower the rate or bring starts closer together`() {
    var random = SeededRandom(seed: 3)
    let times = starts(1001) { _ in .microseconds(Int64.random(in: 0...4_900, using: &random)) }
    let taken = times[1000].since(times[0])
    #expect(taken >= .seconds(20) - .milliseconds(5) && taken <= .seconds(20) + .milliseconds(5))
    for (earlier, later) in zip(times, times.dropFirst()) {
      #expect(later.since(earlier) >= .milliseconds(15))
    }
  }

  @Test func `unused starts are lost: after a break the starts are no closer together`() {
    let times = starts(100) { $0 == 50 ? .seconds(30) : .zero }
    for (earlier, later) in zip(times, times.dropFirst()) {
      #expect(later.since(earlier) >= .milliseconds(20))
    }
  }

  @Test func `a new interval counts from the last start, and an undone start doesn't count`() {
    let now = MonotonicInstant(nanoseconds: 1_000_000_000)
    var rate = StartRate()
    rate.start(at: now, intervalNanoseconds: 60_000_000_000)
    rate.change(from: 60_000_000_000, to: Self.interval, now: now)
    #expect(rate.next == now.advanced(by: .milliseconds(20)))
    rate.takeBack(intervalNanoseconds: Self.interval)
    #expect(rate.next == now)
    rate.change(from: Self.interval, to: 0, now: now)
    rate.start(at: now, intervalNanoseconds: 0)
    #expect(rate.next <= now)
    rate.start(at: now, intervalNanoseconds: Self.interval)
    rate.change(from: Self.interval, to: 3 * Self.interval, now: now)
    #expect(rate.next == now.advanced(by: .milliseconds(60)))
  }
}

/// Rates that change while requests run, with simulated times.
struct RateChangeTests {
  private func moment(_ milliseconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000).advanced(by: .milliseconds(milliseconds))
  }

  @Test func `the elapsed part of the wait for the next start becomes the same part of the new wait`() {
    var rate = StartRate()
    rate.start(at: moment(0), intervalNanoseconds: 100_000_000)
    rate.change(from: 100_000_000, to: 1_000_000_000, now: moment(75))
    #expect(rate.next == moment(325))
    // To almost never, and back.
    rate.change(from: 1_000_000_000, to: 1_000_000_000_000_000_000, now: moment(75))
    rate.change(from: 1_000_000_000_000_000_000, to: 100_000_000, now: moment(5000))
    #expect(rate.next == moment(5025))
    rate.change(from: 100_000_000, to: 0, now: moment(5000))
    #expect(rate.next == moment(5000))
    // A start that is already due stays so.
    rate.change(from: 0, to: 1_000_000_000, now: moment(6000))
    #expect(rate.next == moment(5000))
  }

  @Test(arguments: 0..<4)
  func `downloaders with changing parts of the rates start in any second at most what the rates allow, plus one each`(seed: Int) {
    let (workers, hosts, seconds) = (4, 2, 60)
    let limits = DownloadLimits(concurrency: 1000, perHost: 1000, rate: 20, perHostRate: 12)
    var random = SeededRandom(seed: UInt64(seed))
    var queues = (0..<workers).map { _ in
      var queue = DownloadQueue(concurrency: 1000, perHost: 1000)
      for slot in 0..<2000 { queue.insert(slot: slot, host: slot % hosts, priority: .normal, sequence: Int64(slot)) }
      return queue
    }
    /// In hundredths.
    var parts = [Int](repeating: 25, count: workers)
    func setParts(_ now: Int) {
      for (worker, part) in parts.enumerated() {
        var own = limits
        own.rate = max(1e-9, 20 * Double(part) / 100)
        own.perHostRate = max(1e-9, 12 * Double(part) / 100)
        queues[worker].setLimits(own, now: moment(now))
      }
    }
    setParts(0)
    var starts: [(time: Int, host: Int)] = []
    for time in stride(from: 0, to: seconds * 1000, by: 3) {
      // In some seconds all parts change constantly, in others none does.
      if time / 5000 % 2 == 0, Int.random(in: 0..<10, using: &random) == 0 {
        let cuts = (0..<3).map { _ in Int.random(in: 0...100, using: &random) }.sorted()
        parts = [cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], 100 - cuts[2]]
        setParts(time)
      }
      for worker in queues.indices {
        while case .start(let slot, let resolves) = queues[worker].next(now: moment(time)) {
          starts.append((time, slot % hosts))
          if resolves { queues[worker].resolved() }
          queues[worker].connected(host: slot % hosts)
          queues[worker].finished(host: slot % hosts)
        }
      }
    }
    func mostInASecond(_ times: [Int]) -> Int {
      var first = 0
      return times.indices.reduce(0) { most, last in
        while times[first] <= times[last] - 1000 { first += 1 }
        return max(most, last - first + 1)
      }
    }
    #expect(mostInASecond(starts.map(\.time)) <= 20 + workers)
    for host in 0..<hosts { #expect(mostInASecond(starts.filter { $0.host == host }.map(\.time)) <= 12 + workers) }
    // At least 90 % of the rate is used.
    #expect(Double(starts.count) >= 0.9 * 20 * Double(seconds), "\(starts.count)")
  }
}
