import Foundation
import ImageCaching
import ImageManaging
import Testing

/// Compares the cache's eviction policy with others, on the shapes of real traces.
///
/// `PREWARM_MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter EvictionMeasurement` prints the whole table.
@Suite struct EvictionMeasurement {
  @Test(arguments: [Costs.unit, .images])
  func `the cache evicts exactly as the S3-FIFO paper specifies`(costs kind: Costs) {
    for trace in [Trace.zipf(0.9, objects: 500, requests: 5_000), .shifting(objects: 500, requests: 5_000)] {
      let costs = kind.costs(of: trace.objectCount)
      let capacity = costs.prefix(500).reduce(0, +) / 10
      let model = measure(S3FIFOModel.self, trace, costs: costs, capacity: capacity)
      let shipped = measure(Shipped.self, trace, costs: costs, capacity: capacity)
      #expect(model.hits > 500 && shipped.hits == model.hits && shipped.hitCost == model.hitCost)
    }
  }

  @Test(
    arguments: [(0.7, 9.0), (0.9, 8.0), (1.0, 6.0), (1.2, 3.0)]
  )
  func `the cache has a better hit ratio than LRU by these points`(alpha: Double, points: Double) {
    expectMoreHits(than: LRU.self, on: .zipf(alpha, objects: 1_000, requests: 20_000), by: points)
  }

  @Test func `crawlers and one-time requests cost the cache less than LRU`() {
    expectMoreHits(than: LRU.self, on: .scans(objects: 1_000, requests: 20_000), by: 8)
    expectMoreHits(than: LRU.self, on: .onceAsked(objects: 1_000, requests: 20_000), by: 8)
  }

  @Test func `loops and shifting popularity cost the cache less than SIEVE`() {
    expectMoreHits(than: Sieve.self, on: .loop(objects: 60, requests: 20_000), by: 30)
    expectMoreHits(than: Sieve.self, on: .shifting(objects: 1_000, requests: 20_000), by: 3)
  }

  /// Unit costs, and capacity for 50 entries.
  private func expectMoreHits<Other: EvictionPolicy>(than other: Other.Type, on trace: Trace, by points: Double) {
    let costs = Costs.unit.costs(of: trace.objectCount)
    let shipped = measure(Shipped.self, trace, costs: costs, capacity: 50)
    let others = measure(other, trace, costs: costs, capacity: 50)
    #expect(shipped.hitPercent >= others.hitPercent + points, "\(trace.name): \(shipped.hitPercent) and \(others.hitPercent)")
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["PREWARM_MEASURE"] == "1"))
  func `the measurement prints hit ratios`() {
    let objects = 10_000
    let requests = 400_000
    print(
      "                               size in | requests found, in % of all | cost found, in % of all    | nanoseconds per request"
    )
    print(
      "trace                  costs   % of all |    LRU   SIEVE   S3-FIFO     |    LRU   SIEVE   S3-FIFO    |   LRU SIEVE S3-FIFO MemoryCache"
    )
    for kind in [Costs.unit, .images] {
      for percent in [1, 5, 10, 50] {
        for trace in traces(objects: objects, requests: requests, loop: objects * percent / 100 * 6 / 5) {
          let costs = kind.costs(of: max(objects, trace.objectCount))
          let capacity = costs.prefix(objects).reduce(0, +) / 100 * percent
          let measured = [
            measure(LRU.self, trace, costs: costs, capacity: capacity),
            measure(Sieve.self, trace, costs: costs, capacity: capacity),
            measure(S3FIFOModel.self, trace, costs: costs, capacity: capacity),
            measure(Shipped.self, trace, costs: costs, capacity: capacity),
          ]
          #expect(measured[2].hits == measured[3].hits)
          let name = trace.name.padding(toLength: 22, withPad: " ", startingAt: 0)
          let costName = kind.rawValue.padding(toLength: 6, withPad: " ", startingAt: 0)
          let ratios = [measured[..<3].map(\.hitPercent), measured[..<3].map(\.costPercent)].map { row in
            row.map { String(format: "%7.2f", $0) }.joined(separator: " ")
          }
          let times = measured.map { String(format: "%5.0f", $0.nanoseconds) }.joined(separator: " ")
          print("\(name) \(costName) \(String(format: "%9d", percent)) | \(ratios[0])     | \(ratios[1])    | \(times)")
        }
      }
    }
  }

  private func traces(objects: Int, requests: Int, loop: Int) -> [Trace] {
    [
      .zipf(0.7, objects: objects, requests: requests),
      .zipf(0.9, objects: objects, requests: requests),
      .zipf(1.0, objects: objects, requests: requests),
      .zipf(1.2, objects: objects, requests: requests),
      .onceAsked(objects: objects, requests: requests),
      .scans(objects: objects, requests: requests),
      .shifting(objects: objects, requests: requests),
      .loop(objects: loop, requests: requests),
      .scan(requests: requests),
    ]
  }
}

/// The results of a policy on a trace.
private struct Measured {
  var requests = 0
  var hits = 0
  var hitCost = 0
  var totalCost = 0
  var time = Duration.zero

  var hitPercent: Double { 100 * Double(hits) / Double(max(1, requests)) }
  var costPercent: Double { 100 * Double(hitCost) / Double(max(1, totalCost)) }
  var nanoseconds: Double { time / .nanoseconds(1) / Double(max(1, requests)) }
}

/// The shipped cache in the form of a policy.
private struct Shipped: EvictionPolicy {
  private let cache: MemoryCache<Int32, Int32>

  init(capacity: Int, objectCount: Int) { cache = MemoryCache(.init(maxCost: capacity)) }

  mutating func access(_ object: Int32, cost: Int) -> Bool {
    if cache.value(for: object) != nil { return true }
    cache.insert(object, for: object, cost: cost)
    return false
  }
}

private func measure<Policy: EvictionPolicy>(
  _ policy: Policy.Type,
  _ trace: Trace,
  costs: [Int],
  capacity: Int
) -> Measured {
  var policy = Policy(capacity: capacity, objectCount: trace.objectCount)
  var measured = Measured(requests: trace.requests.count)
  measured.time = ContinuousClock().measure {
    for object in trace.requests {
      let cost = costs[Int(object)]
      measured.totalCost += cost
      if policy.access(object, cost: cost) {
        measured.hits += 1
        measured.hitCost += cost
      }
    }
  }
  return measured
}
