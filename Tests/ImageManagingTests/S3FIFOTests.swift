import Foundation
import ImageManaging
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
      var model = S3FIFOModel(capacity: capacity, objectCount: trace.objectCount)
      var hits = 0
      for (place, object) in trace.requests.enumerated() {
        let cost = costs[Int(object)]
        let isHit = cache.value(for: object) != nil
        if isHit { hits += 1 } else { cache.insert(object, for: object, cost: cost) }
        guard model.access(object, cost: cost) == isHit else {
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
  private var small: ObjectQueue
  private var main: ObjectQueue
  private var ghost: ObjectQueue
  private var uses: [UInt8]
  private var costs: [Int]
  private var hasEvicted = false

  private var smallCapacity: Int { capacity / 10 }
  private var mainCapacity: Int { capacity - smallCapacity }

  init(capacity: Int, objectCount: Int) {
    self.capacity = capacity
    small = ObjectQueue(objectCount: objectCount)
    main = ObjectQueue(objectCount: objectCount)
    ghost = ObjectQueue(objectCount: objectCount)
    uses = Array(repeating: 0, count: objectCount)
    costs = Array(repeating: 0, count: objectCount)
  }

  /// Requests an object, which a miss inserts, and returns whether it was cached.
  mutating func access(_ object: Int32, cost: Int) -> Bool {
    if small.contains(object) || main.contains(object) {
      uses[Int(object)] = min(uses[Int(object)] + 1, 3)
      return true
    }
    guard cost <= capacity else { return false }
    let wasGhost = ghost.contains(object)
    if wasGhost { ghost.remove(object) }
    while small.cost + main.cost + cost > capacity { evict() }
    while ghost.count > small.count + main.count { ghost.removeOldest() }
    if wasGhost {
      main.append(object, cost: cost)
    } else if !hasEvicted, small.cost >= smallCapacity {
      main.append(object, cost: cost)
    } else {
      small.append(object, cost: cost)
    }
    uses[Int(object)] = 0
    costs[Int(object)] = cost
    return false
  }

  /// One step: moves or removes the oldest object of one of the queues.
  private mutating func evict() {
    hasEvicted = true
    if let object = small.oldest, main.cost <= mainCapacity {
      small.removeOldest()
      if uses[Int(object)] > 1 {
        main.append(object, cost: costs[Int(object)])
      } else {
        ghost.append(object, cost: costs[Int(object)])
      }
      uses[Int(object)] = 0
    } else if let object = main.oldest {
      main.removeOldest()
      if uses[Int(object)] == 0 { return }
      uses[Int(object)] -= 1
      main.append(object, cost: costs[Int(object)])
    }
  }
}

/// Objects, numbered from 0, in insertion order, and their total cost.
private struct ObjectQueue {
  private(set) var cost = 0
  private(set) var count = 0
  private(set) var oldest: Int32?
  private var newest: Int32?
  private var links: [Link]

  private struct Link {
    var newer: Int32 = -1
    var older: Int32 = -1
    var cost = -1
  }

  init(objectCount: Int) { links = Array(repeating: Link(), count: objectCount) }

  func contains(_ object: Int32) -> Bool { links[Int(object)].cost >= 0 }

  /// The object inserted next; nil for the newest.
  func newer(than object: Int32) -> Int32? {
    let newer = links[Int(object)].newer
    return newer < 0 ? nil : newer
  }

  mutating func append(_ object: Int32, cost objectCost: Int) {
    links[Int(object)] = Link(newer: -1, older: newest ?? -1, cost: objectCost)
    if let newest { links[Int(newest)].newer = object } else { oldest = object }
    newest = object
    count += 1
    cost += objectCost
  }

  mutating func remove(_ object: Int32) {
    let link = links[Int(object)]
    if link.older < 0 { oldest = newer(than: object) } else { links[Int(link.older)].newer = link.newer }
    if link.newer < 0 { newest = link.older < 0 ? nil : link.older } else { links[Int(link.newer)].older = link.older }
    links[Int(object)] = Link()
    count -= 1
    cost -= link.cost
  }

  mutating func removeOldest() { if let oldest { remove(oldest) } }
}

/// Requests for objects, numbered below `objectCount`, in a shape that real traces have.
private struct Trace {
  let objectCount: Int
  let requests: [Int32]

  private init(_ requests: [Int32]) {
    self.requests = requests
    objectCount = Int(requests.max() ?? -1) + 1
  }

  /// The object of rank r is requested in proportion to 1 / r^alpha, as on the web (Breslau et al. 1999 found 0.64 to 0.83; caches
  /// close to users see steeper distributions).
  static func zipf(_ alpha: Double, objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(alpha, objects: objects)
    return Trace((0..<requests).map { _ in popularity.next() })
  }

  /// Zipf 0.9 with shifting popularity: after each `objects` / 2 requests, a hundredth of the objects is replaced by new ones,
  /// which become the most popular.
  static func shifting(objects: Int, requests: Int) -> Trace {
    var popularity = Popularity(0.9, objects: objects)
    let steps = requests / (objects / 2)
    return Trace(
      (0..<requests).map { index in
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
    var low = 0
    var high = cumulated.count - 1
    while low < high {
      let middle = (low + high) / 2
      if cumulated[middle] > drawn { high = middle } else { low = middle + 1 }
    }
    return Int32(low)
  }
}

extension SeededRandom {
  /// A number from 0 up to but excluding 1.
  fileprivate mutating func nextUnit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
