import TestOrigin
import TestSupport
import Testing

/// Worker processes of one queue that together keep rates and pauses as one would.
@Suite(.serialized) struct RateSoakTests {
  private static let workers = 4

  /// An origin's view of all workers' requests for images.
  private struct Arrivals {
    let moments: [ContinuousClock.Instant]
    let connections: Int

    init(_ origin: Origin) {
      let requests = origin.requests.filter { $0.path.hasPrefix("/images/") }
      moments = requests.map(\.arrival).sorted()
      connections = Set(requests.map(\.connection)).count
    }

    /// From the first to the last.
    var span: Duration { moments.isEmpty ? .zero : moments[0].duration(to: moments[moments.count - 1]) }

    /// The number of requests in each second since the first.
    var bySecond: [Int] {
      moments.reduce(into: [Int](repeating: 0, count: Int(span.components.seconds) + 1)) { counts, moment in
        counts[Int(moments[0].duration(to: moment).components.seconds)] += 1
      }
    }

    /// The maximum in any second.
    var mostInASecond: Int {
      var first = 0
      return moments.indices.reduce(0) { most, last in
        while moments[first] <= moments[last].advanced(by: .seconds(-1)) { first += 1 }
        return max(most, last - first + 1)
      }
    }
  }

  /// Enqueues a job, lets four workers process it during an operation on Redis, and expects each entry to be done once.
  private func work(
    _ origin: Origin,
    entries: Int,
    keys: String,
    meanwhile: (RedisServer) async throws -> Void = { _ in }
  ) async throws -> Arrivals {
    let scene = try await QueueScene(urls: imageURLs(origin, 0..<entries), keys: keys)
    // They wait for the job, so that none gets all of it.
    let commands = try (0..<Self.workers).map { try scene.worker($0) }
    for command in commands { try await command.waitForError("waiting for one") }
    let filled = try await scene.enqueue().wait()
    try #require(filled.status == 0, "\(filled.errorText)")
    try await meanwhile(scene.redis)
    for command in commands {
      let result = try await command.wait()
      #expect(result.status == 0, "\(result.errorText)")
    }
    let run = try await scene.report()
    #expect(run.status == 0 && run.totals["downloaded"] == entries, "\(run.totals)")
    return Arrivals(origin)
  }

  @Test("four workers use a host's rate nearly fully and exceed it by at most one request each")
  func sharedRate() async throws {
    let rate = 50
    let entries = SoakCounts.isLong ? rate * SoakCounts.rateSeconds : 4 * rate
    let origin = try makeImageOrigin()
    // Before the first start, so that a busy machine can't shorten the measured time.
    let begin = ContinuousClock.now
    // One transfer each, so that one worker holds only a part of the queue.
    let keys =
      "prefetch: {per-host-rate: \(rate)/s, concurrency: \(SoakCounts.isLong ? 8 : 1), threads: 2}\nrequest: {retries: 0}"
    let arrivals = try await work(origin, entries: entries, keys: keys)
    let last = try #require(arrivals.moments.last)
    #expect(arrivals.moments.count == entries && arrivals.connections > 1)
    #expect(begin.duration(to: last) >= .milliseconds((entries - Self.workers) * 1000 / rate))
    guard SoakCounts.isLong else { return }
    let average =
      Double(entries - 1) / (Double(arrivals.span.components.seconds) + Double(arrivals.span.components.attoseconds) / 1e18)
    print(
      "\(entries) requests in \(arrivals.span), \(average) a second; second by second: \(arrivals.bySecond); most of any: \(arrivals.mostInASecond)"
    )
    #expect(arrivals.mostInASecond <= rate + Self.workers && average >= 0.9 * Double(rate))
  }

  @Test("the rate is kept while Redis is away, just after workers join and later, and when it returns")
  func restarts() async throws {
    let rate = 40
    let origin = try makeImageOrigin()
    let entries = 10 * rate * (SoakCounts.isLong ? 3 : 1)
    let begin = ContinuousClock.now
    let arrivals = try await work(
      origin,
      entries: entries,
      keys: "prefetch: {per-host-rate: \(rate)/s, concurrency: 8, threads: 8}"
    ) {
      redis in
      for (kill, start) in [(1, 3), (5, 6), (7, 8)] {
        try await poll("requests before the loss") { origin.requests.count >= kill * entries / 10 }
        try await redis.kill()
        try await poll("requests while Redis is away") { origin.requests.count >= start * entries / 10 }
        try await redis.start()
      }
    }
    let last = try #require(arrivals.moments.last)
    #expect(arrivals.moments.count == entries && arrivals.connections > 1)
    #expect(begin.duration(to: last) >= .milliseconds((entries - Self.workers) * 1000 / rate))
    guard SoakCounts.isLong else { return }
    print("\(entries) requests; second by second: \(arrivals.bySecond); most of any: \(arrivals.mostInASecond)")
    #expect(arrivals.mostInASecond <= rate + Self.workers)
  }

  @Test("a pause requested from one worker is kept by all", .enabled(if: SoakCounts.isLong, "takes half a minute"))
  func sharedPause() async throws {
    let origin = try makeImageOrigin()
    origin.set(
      "/images/500.jpg",
      .sequence([.status(503, headers: ["Retry-After": "10"]), .body(SampleImages.jpeg(500), type: "image/jpeg")])
    )
    let arrivals = try await work(origin, entries: 1000, keys: "prefetch: {per-host-rate: 100/s}")
    let asked = try #require(origin.requests.first { $0.path == "/images/500.jpg" }).arrival
    // The others learn of it within a tenth of a second, unless they are blocked.
    let intruders = arrivals.moments.filter { $0 > asked.advanced(by: .seconds(1)) && $0 < asked.advanced(by: .seconds(10)) }
    #expect(intruders.isEmpty && arrivals.moments.count == 1001)
  }
}
