/// An eviction policy for comparison: objects are numbers from 0, and a miss inserts its object.
protocol EvictionPolicy {
  /// An empty cache for objects below `objectCount` with a total cost of at most `capacity`.
  init(capacity: Int, objectCount: Int)

  /// Requests an object and returns whether it was cached.
  mutating func access(_ object: Int32, cost: Int) -> Bool
}

/// Evicts the least recently used object.
struct LRU: EvictionPolicy {
  private let capacity: Int
  private var queue: ObjectQueue

  init(capacity: Int, objectCount: Int) {
    self.capacity = capacity
    queue = ObjectQueue(objectCount: objectCount)
  }

  mutating func access(_ object: Int32, cost: Int) -> Bool {
    let isHit = queue.contains(object)
    if isHit { queue.remove(object) }
    guard cost <= capacity else { return false }
    while queue.cost + cost > capacity { queue.removeOldest() }
    queue.append(object, cost: cost)
    return isHit
  }
}

/// SIEVE as in its paper (Zhang et al., NSDI 2024, algorithm 1).
struct Sieve: EvictionPolicy {
  private let capacity: Int
  private var queue: ObjectQueue
  private var isVisited: [Bool]
  private var hand: Int32?

  init(capacity: Int, objectCount: Int) {
    self.capacity = capacity
    queue = ObjectQueue(objectCount: objectCount)
    isVisited = Array(repeating: false, count: objectCount)
  }

  mutating func access(_ object: Int32, cost: Int) -> Bool {
    if queue.contains(object) {
      isVisited[Int(object)] = true
      return true
    }
    guard cost <= capacity else { return false }
    while queue.cost + cost > capacity { evict() }
    queue.append(object, cost: cost)
    isVisited[Int(object)] = false
    return false
  }

  private mutating func evict() {
    guard var candidate = hand ?? queue.oldest else { return }
    while isVisited[Int(candidate)] {
      isVisited[Int(candidate)] = false
      guard let next = queue.newer(than: candidate) ?? queue.oldest else { return }
      candidate = next
    }
    hand = queue.newer(than: candidate)
    queue.remove(candidate)
  }
}

/// S3-FIFO (Yang et al.: "FIFO queues are all you need for cache eviction", SOSP 2023, algorithm 1) with its default parameters: a
/// tenth of the cost for the small queue, as many ghosts as entries, two uses in the small queue for promotion to the main one.
/// Until the first eviction, objects that don't fit the small queue join the main one, as in the authors' later code.
struct S3FIFOModel: EvictionPolicy {
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
