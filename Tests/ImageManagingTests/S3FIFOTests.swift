import Foundation
@testable import ImageManaging
import TestSupport
import Testing

/// The eviction order of a memory cache, compared with the paper's algorithm on the shapes of real traces.
@Suite struct S3FIFOTests {
  @Test(arguments: Costs.allCases) func `the cache evicts exactly as the S3-FIFO paper specifies`(kind: Costs) {
    for trace in [
      Trace.zipf(0.7, objects: 500, requests: 5_000), .zipf(1.2, objects: 500, requests: 5_000),
      .shifting(objects: 500, requests: 5_000),
    ] {
      let costs = kind.costs(of: trace.objectCount)
      let capacity = costs.prefix(500).reduce(0, +) / 10
      let cache = MemoryCache<Int32, Int32>(.init(maxCost: capacity))
      var model = S3FIFOModel(capacity: capacity, costs: costs)
      var hits = 0
      for (place, object) in trace.requests.enumerated() {
        let isHit = cache.value(for: object) != nil
        if isHit { hits += 1 } else { cache.insert(object, for: object, cost: costs[Int(object)]) }
        guard model.access(object) == isHit else {
          Issue.record("request \(place) of object \(object)")
          return
        }
      }
      #expect(hits > 500)
    }
  }
}

/// S3-FIFO (Yang et al.: "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1) with its default parameters: a
/// tenth of the cost for the small queue, as many ghosts as entries, two uses in the small queue for promotion to the main one.
/// Until the first eviction, objects that don't fit the small queue join the main one, as in the authors' later code.
private struct S3FIFOModel {
  private let capacity: Int
  private let costs: [Int]
  private var small: [Int32] = []
  private var main: [Int32] = []
  private var ghosts: [Int32] = []
  private var uses: [UInt8]
  private var hasEvicted = false

  private var smallCapacity: Int { capacity / 10 }

  init(capacity: Int, costs: [Int]) {
    self.capacity = capacity
    self.costs = costs
    uses = Array(repeating: 0, count: costs.count)
  }

  /// Requests an object, which a miss inserts, and returns whether it was cached.
  mutating func access(_ object: Int32) -> Bool {
    if small.contains(object) || main.contains(object) {
      uses[Int(object)] = min(uses[Int(object)] + 1, 3)
      return true
    }
    guard cost([object]) <= capacity else { return false }
    let wasGhost = ghosts.contains(object)
    ghosts.removeAll { $0 == object }
    while cost(small) + cost(main) + cost([object]) > capacity { evict() }
    ghosts.removeFirst(max(0, ghosts.count - small.count - main.count))
    if wasGhost || !hasEvicted && cost(small) >= smallCapacity { main.append(object) } else { small.append(object) }
    uses[Int(object)] = 0
    return false
  }

  /// One step: moves or removes the oldest object of one of the queues.
  private mutating func evict() {
    hasEvicted = true
    if !small.isEmpty, cost(main) <= capacity - smallCapacity {
      let object = small.removeFirst()
      if uses[Int(object)] > 1 { main.append(object) } else { ghosts.append(object) }
      uses[Int(object)] = 0
    } else if !main.isEmpty {
      let object = main.removeFirst()
      if uses[Int(object)] == 0 { return }
      uses[Int(object)] -= 1
      main.append(object)
    }
  }

  private func cost(_ objects: [Int32]) -> Int { objects.reduce(0) { $0 + costs[Int($1)] } }
}

/// Requests for objects, numbered below `objectCount`, in a shape that real traces have.
private struct Trace {
  let requests: [Int32]
  var objectCount: Int { Int(requests.max() ?? -1) + 1 }

  /// The object of rank r is requested in proportion to 1 / r^alpha, as on the web (Breslau et al. 1999 found 0.64 to 0.83; caches
  /// close to users see steeper distributions).
  static func zipf(_ alpha: Double, objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(alpha, objects: objects)
    return Trace(requests: (0..<requests).map { _ in popularity.next() })
  }

  /// Zipf 0.9 with shifting popularity: after each `objects` / 2 requests, a hundredth of the objects is replaced by new ones,
  /// which become the most popular.
  static func shifting(objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(0.9, objects: objects)
    let steps = requests / (objects / 2)
    return Trace(
      requests: (0..<requests).map { index in
        let step = index / (objects / 2)
        return popularity.next() + Int32((steps - step) * (objects / 100))
      }
    )
  }
}

/// Costs of objects, constant for each object.
enum Costs: CaseIterable {
  case unit
  /// Bytes of decoded pictures: log-normal with a median of 300,000, a sixth above 1,100,000.
  case images

  func costs(of count: Int) -> [Int] {
    guard self == .images else { return Array(repeating: 1, count: count) }
    var random = SeededRandom(seed: 7)
    return (0..<count).map { _ in
      // The Box-Muller transform yields a normal deviate.
      let radius = (-2 * log(1 - random.nextUnit())).squareRoot()
      let deviate = radius * cos(2 * .pi * random.nextUnit())
      return min(max(Int(300_000 * exp(1.3 * deviate)), 1_024), 64 << 20)
    }
  }
}

/// Draws objects by Zipf's law, object 0 being the most popular.
private struct Popularity {
  private let cumulated: [Double]
  private var random = SeededRandom(seed: 1)

  init(_ alpha: Double, objects: Int) {
    var sum = 0.0
    cumulated = (1...objects).map { rank in
      sum += pow(Double(rank), -alpha)
      return sum
    }
  }

  mutating func next() -> Int32 {
    let drawn = random.nextUnit() * cumulated[cumulated.count - 1]
    return Int32(cumulated.firstIndex { $0 > drawn } ?? cumulated.count - 1)
  }
}

extension SeededRandom {
  /// A number from 0 up to but excluding 1.
  fileprivate mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
