import Foundation
import ImageCaching
import Testing

/// What a policy did with a trace.
private struct Measured {
  var hits = 0
  var hitCost = 0
  var totalCost = 0
  var requests = 0
  var seconds = 0.0

  var hitPercent: Double { 100 * Double(hits) / Double(max(1, requests)) }
  var costPercent: Double { 100 * Double(hitCost) / Double(max(1, totalCost)) }
  var nanoseconds: Double { seconds * 1e9 / Double(max(1, requests)) }
}

/// The shipped cache, asked as the policies are.
private struct Shipped: EvictionPolicy {
  static let name = "MemoryCache"

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
  var measured = Measured()
  let clock = ContinuousClock()
  let time = clock.measure {
    for object in trace.requests {
      let cost = costs[Int(object)]
      measured.totalCost += cost
      if policy.access(object, cost: cost) {
        measured.hits += 1
        measured.hitCost += cost
      }
    }
  }
  measured.requests = trace.requests.count
  measured.seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
  return measured
}

/// Which entry should go first: the shipped rule against others, on the shapes of real traces.
///
/// `PREWARM_MEASURE=1 swift test -c release -Xswiftc -enable-testing --filter EvictionMeasurement` prints the whole table.
@Suite struct EvictionMeasurement {
  @Test("C3: the shipped cache removes exactly what S3-FIFO's paper says", arguments: [Costs.unit, .images])
  func theShippedCacheIsS3FIFO(costs kind: Costs) {
    for trace in [Trace.zipf(0.9, objects: 500, requests: 5_000), .shifting(objects: 500, requests: 5_000)] {
      let costs = kind.costs(of: trace.objectCount)
      let capacity = costs.prefix(500).reduce(0, +) / 10
      let model = measure(S3FIFOModel.self, trace, costs: costs, capacity: capacity)
      let shipped = measure(Shipped.self, trace, costs: costs, capacity: capacity)
      #expect(model.hits > 500 && shipped.hits == model.hits && shipped.hitCost == model.hitCost)
    }
  }

  @Test(.enabled(if: ProcessInfo.processInfo.environment["PREWARM_MEASURE"] == "1"))
  func printHitRatios() {
    let objects = 10_000
    let requests = 400_000
    print("trace                  cost    size   hit % by requests: LRU  SIEVE S3-FIFO | by cost: LRU  SIEVE S3-FIFO | ns/request: LRU SIEVE S3-FIFO MemoryCache")
    for kind in [Costs.unit, .images] {
      for percent in [1, 5, 10, 50] {
        for trace in [
          Trace.zipf(0.7, objects: objects, requests: requests),
          .zipf(0.9, objects: objects, requests: requests),
          .zipf(1.0, objects: objects, requests: requests),
          .zipf(1.2, objects: objects, requests: requests),
          .onceAsked(objects: objects, requests: requests),
          .scans(objects: objects, requests: requests),
          .shifting(objects: objects, requests: requests),
          .loop(objects: objects * percent / 100 * 12 / 10, requests: requests),
          .scan(requests: requests),
        ] {
          let costs = kind.costs(of: max(objects, trace.objectCount))
          let capacity = costs.prefix(objects).reduce(0, +) / 100 * percent + (kind == .unit ? 0 : 0)
          let lru = measure(LRU.self, trace, costs: costs, capacity: capacity)
          let sieve = measure(Sieve.self, trace, costs: costs, capacity: capacity)
          let s3fifo = measure(S3FIFOModel.self, trace, costs: costs, capacity: capacity)
          let shipped = measure(Shipped.self, trace, costs: costs, capacity: capacity)
          let name = trace.name.padding(toLength: 22, withPad: " ", startingAt: 0)
          let unit = kind.rawValue.padding(toLength: 7, withPad: " ", startingAt: 0)
          print(
            String(
              format: "%@ %@ %3d%%  %6.2f %6.2f %6.2f | %6.2f %6.2f %6.2f | %5.0f %5.0f %5.0f %5.0f", name, unit, percent,
              lru.hitPercent, sieve.hitPercent, s3fifo.hitPercent, lru.costPercent, sieve.costPercent, s3fifo.costPercent,
              lru.nanoseconds, sieve.nanoseconds, s3fifo.nanoseconds, shipped.nanoseconds
            )
          )
        }
      }
    }
  }
}
