import Base
import Glibc
import TestOrigin
import TestSupport
import Testing

@testable import ImageDownloading

/// An origin that answers some requests at once and queues the others, with other users, in simulated time (milliseconds).
private struct SimulatedOrigin {
  /// Milliseconds.
  enum Service {
    case even(Double)
    case random(Double)
    /// Most images are there, some have to be made.
    case mixed

    func next(_ random: inout SeededRandom) -> Double {
      switch self {
      case .even(let mean): mean * Double.random(in: 0.9..<1.1, using: &random)
      case .random(let mean): -mean * log(Double.random(in: 0.000_001..<1, using: &random))
      case .mixed:
        Double.random(in: 0..<1, using: &random) < 0.7
          ? Double.random(in: 4..<6, using: &random) : Double.random(in: 150..<450, using: &random)
      }
    }
  }

  /// The requests that it answers at once.
  var capacity: Int
  /// How long one takes it.
  var service: Service
  /// Part of the capacity that its other users take.
  var others = 0.0
  /// Milliseconds of the network.
  var network = 1.0

  struct Outcome {
    var time = 0.0
    /// The latency of the others' requests below which 99 of 100 are.
    var p99 = 0.0
    var transfers = 0
  }

  /// Lets `limit` make `count` requests, or none for as long if it is nil.
  func run(_ limit: inout AdaptiveLimit?, count: Int, upTo maximum: Int, seed: UInt64, learns: Bool = true) -> Outcome {
    struct Request { var sent: Double, isOurs: Bool }
    var random = SeededRandom(seed: seed)
    // The next one last.
    var ends: [(time: Double, request: Request)] = []
    var queue: ArraySlice<Request> = []
    var (now, started, done, running, busy) = (0.0, 0, 0, 0, 0)
    var latencies: [Double] = []
    let mean = (0..<2000).reduce(0.0) { sum, _ in sum + service.next(&random) } / 2000
    let interval = others > 0 ? mean / (Double(capacity) * others) : .infinity
    func pause(_ random: inout SeededRandom) -> Double { -interval * log(Double.random(in: 0.000_001..<1, using: &random)) }
    var next = others > 0 ? pause(&random) : .infinity
    var outcome = Outcome()
    while done < count {
      if let limit {
        while started < count, running < limit.transfers(upTo: maximum) {
          (started, running) = (started + 1, running + 1)
          queue.append(Request(sent: now, isOurs: true))
        }
      } else if now > Double(count) * mean {
        break
      }
      while busy < capacity, let request = queue.popFirst() {
        busy += 1
        let end = now + service.next(&random)
        var place = ends.count
        while place > 0, ends[place - 1].time < end { place -= 1 }
        ends.insert((end, request), at: place)
      }
      if next < ends.last?.time ?? .infinity {
        now = next
        next += pause(&random)
        queue.append(Request(sent: now, isOurs: false))
        continue
      }
      guard let (time, request) = ends.popLast() else { break }
      (now, busy) = (time, busy - 1)
      let latency = now - request.sent + network
      if request.isOurs {
        let response = AdaptiveLimit.Response(
          begun: MonotonicInstant(nanoseconds: UInt64(request.sent * 1e6)),
          latencyNanoseconds: UInt64(latency * 1e6),
          running: running
        )
        if learns { limit?.succeed(response, upTo: maximum, now: MonotonicInstant(nanoseconds: UInt64(now * 1e6))) }
        (done, running) = (done + 1, running - 1)
      } else {
        latencies.append(latency)
      }
    }
    outcome.time = now
    outcome.p99 = latencies.isEmpty ? 0 : latencies.sorted()[latencies.count * 99 / 100]
    outcome.transfers = limit?.transfers(upTo: maximum) ?? 0
    return outcome
  }

  /// A run with the maximum at all times.
  func unlimited(count: Int, _ maximum: Int, _ seed: UInt64) -> Outcome {
    var limit = AdaptiveLimit() as AdaptiveLimit?
    return run(&limit, count: count, upTo: maximum, seed: seed, learns: false)
  }
}

/// The adaptive limit at simulated origins.
struct AdaptiveLimitTests {
  /// Of several seeds the one in the middle.
  private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  @Test(
    arguments: [
      ("4 at once, 20 ms", SimulatedOrigin(capacity: 4, service: .even(20), others: 0.1), 8),
      ("4 at once, 20 ms, random", SimulatedOrigin(capacity: 4, service: .random(20), others: 0.1), 8),
      ("6 at once, 30 ms", SimulatedOrigin(capacity: 6, service: .even(30), others: 0.15), 8),
      ("8 at once of 32, 40 ms", SimulatedOrigin(capacity: 8, service: .even(40), others: 0.2), 32),
      ("16 at once of 64, 30 ms, random", SimulatedOrigin(capacity: 16, service: .random(30), others: 0.2), 64),
      ("1 of 10 ms", SimulatedOrigin(capacity: 1, service: .even(10), others: 0.1), 8),
    ]
  )
  private func `an origin at its capacity keeps its users nearly as fast, and the warm-up takes little longer`(
    name: String,
    origin: SimulatedOrigin,
    maximum: Int
  ) {
    var (times, waits, unlimitedWaits): ([Double], [Double], [Double]) = ([], [], [])
    for seed in UInt64(1)...3 {
      var (idle, full): (AdaptiveLimit?, AdaptiveLimit?) = (nil, AdaptiveLimit())
      let unlimited = origin.unlimited(count: 4000, maximum, seed)
      let alone = origin.run(&idle, count: 4000, upTo: maximum, seed: seed)
      let limited = origin.run(&full, count: 4000, upTo: maximum, seed: seed)
      times.append(limited.time / unlimited.time)
      waits.append(limited.p99 / alone.p99)
      unlimitedWaits.append(unlimited.p99 / alone.p99)
    }
    // Four fifths of the capacity take 1.25 times as long.
    #expect(median(times) <= 1.3, "\(name): \(times)")
    #expect(median(waits) - 1 <= 0.7 * (median(unlimitedWaits) - 1), "\(name): \(waits), \(unlimitedWaits)")
  }

  @Test(
    arguments: [
      ("50 ms", SimulatedOrigin.Service.even(50), 8), ("random", SimulatedOrigin.Service.random(30), 32),
      ("mixed", SimulatedOrigin.Service.mixed, 8),
      ("mixed, many", SimulatedOrigin.Service.mixed, 64),
    ]
  )
  private func `an origin with spare capacity is loaded as if there were no limit`(
    name: String,
    service: SimulatedOrigin.Service,
    maximum: Int
  ) {
    let origin = SimulatedOrigin(capacity: 1000, service: service)
    let times = (UInt64(1)...3).map { seed in
      var limit = AdaptiveLimit() as AdaptiveLimit?
      return origin.run(&limit, count: 4000, upTo: maximum, seed: seed).time / origin.unlimited(count: 4000, maximum, seed).time
    }
    #expect(times.max()! <= 1.06, "\(name): \(times)")
  }

  @Test func `an unused number is never lowered`() {
    var limit = AdaptiveLimit()
    for turn in UInt64(0)..<3000 {
      let response = AdaptiveLimit.Response(
        begun: MonotonicInstant(nanoseconds: turn),
        latencyNanoseconds: turn * 1_000_000,
        running: 7
      )
      limit.succeed(response, upTo: 8, now: MonotonicInstant(nanoseconds: turn))
    }
    #expect(limit.transfers(upTo: 8) == 8 && !limit.isLearned)
  }

  @Test func `a failure halves the number once for all running requests, and it grows again while all is well`() {
    var limit = AdaptiveLimit() as AdaptiveLimit?
    let time = { MonotonicInstant(nanoseconds: $0) }
    for _ in 0..<16 { limit?.fail(begun: time(5), upTo: 16, now: time(10)) }
    #expect(limit?.transfers(upTo: 16) == 8)
    for turn in UInt64(1)...3 { limit?.fail(begun: time(10 * turn), upTo: 16, now: time(10 * turn + 10)) }
    #expect(limit?.transfers(upTo: 16) == 1)
    let origin = SimulatedOrigin(capacity: 100, service: .even(20))
    #expect(origin.run(&limit, count: 2000, upTo: 16, seed: 1).transfers == 16)
  }
}

/// The adaptive limit over real sockets.
struct AdaptiveTests {
  @Test func `with an origin that allows three at once, nearly all requests fit, and the host limit is never exceeded`()
    async throws
  {
    let gate = Gate()
    let origin = try Origin(fallback: .computed { _ in gate.waiting >= 3 ? .status(503) : .held(gate, then: .body([1])) })
    let fetcher = try Fetcher(concurrency: 64, perHost: 64)
    try fetcher.downloader.setLimits(DownloadLimits(concurrency: 64, perHost: 12, isAdaptive: true))
    fetcher.submit((0..<300).map { origin.url("/\($0)") }, options: .forTests(retries: 100_000))
    for _ in 0..<300 {
      try await gate.waitForWaiting(1)
      gate.step()
    }
    let ends = try await fetcher.recorder.waitForEnds(300)
    #expect(ends.allSatisfy { $0.image != nil })
    // With a limit of 12 the origin would reject nine at a time, permanently.
    #expect(origin.requests.count < 600 && origin.peakInFlight <= 12)
  }
}
