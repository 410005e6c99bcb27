package import ImageCaching
import Base
import Synchronization

/// Values in memory by key, with exact limits of cost and count.
///
/// Any thread may call it. Each call takes one short lock, under which only keys are hashed and compared: removed values and keys
/// are freed after it is released. Some keys are kept for a while after their values, at most as many as there are values. `S3FIFO`
/// decides which entry is removed for a new one.
package final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package typealias Configuration = MemoryCacheConfiguration

  let entries: Mutex<MemoryEntries<Key, Value>>

  /// Creates an empty cache; traps if a limit is negative.
  package init(_ configuration: Configuration = Configuration()) {
    configuration.check()
    entries = Mutex(MemoryEntries(limits: configuration))
  }

  /// The current limits.
  package var configuration: Configuration { entries.withLock { $0.limits } }

  /// The sum of all entries' costs.
  package var totalCost: Int { entries.withLock { $0.queues.totalCost } }

  /// The number of entries.
  package var count: Int { entries.withLock { $0.queues.count } }

  /// The value of a key, counted as a use; nil if there is none.
  package func value(for key: Key) -> Value? { entries.withLock { $0.use(key) } }

  /// Whether there is a value for a key; this doesn't count as a use.
  package func contains(_ key: Key) -> Bool { entries.withLock { $0.contains(key) } }

  /// Inserts a value, replacing the key's previous one, and removes others until the limits hold.
  ///
  /// A value that exceeds a limit by itself isn't kept, and the previous one is removed nevertheless. Traps if `cost` is negative.
  ///
  /// - Returns: Whether the value was kept.
  @discardableResult
  package func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
    if cost < 0 { fatalError("the cost of a memory cache's entry is \(cost); use 0 or more") }
    // Removed values are freed when this call returns, outside the lock.
    var removed: [MemoryEntries<Key, Value>.Member] = []
    return entries.withLock { $0.insert(value, for: key, cost: cost, removed: &removed) }
  }

  /// Removes the value of a key and returns it; nil if there was none.
  @discardableResult
  package func remove(_ key: Key) -> Value? { entries.withLock { $0.remove(key) } }

  package func removeAll() {
    _ = entries.withLock { entries in
      let removed = entries
      entries = MemoryEntries(limits: removed.limits)
      return removed
    }
  }

  /// Removes the values of all keys for which `shouldRemove` returns true.
  ///
  /// It is called outside the lock, once for each key present at the start.
  package func removeAll(where shouldRemove: (Key) -> Bool) {
    let keys = entries.withLock { $0.keys }.filter(shouldRemove)
    _ = entries.withLock { entries in keys.compactMap { entries.remove($0) } }
  }

  /// Changes the limits and removes entries until they hold; traps if one is negative.
  package func setLimits(_ configuration: Configuration) {
    configuration.check()
    var removed: [MemoryEntries<Key, Value>.Member] = []
    entries.withLock { $0.setLimits(configuration, removed: &removed) }
  }
}

/// The capacity of a ``MemoryCache``.
///
/// Both limits are exact: they are never exceeded, not even during an insertion.
package struct MemoryCacheConfiguration: Sendable, Hashable {
  /// The maximum sum of all entries' costs, by default 256 MiB; nil: no limit; 0: nothing is kept.
  ///
  /// The caller chooses the unit; for decoded images it is bytes.
  package var maxCost: Int?

  /// The maximum number of entries; nil, the default: no limit; 0: nothing is kept.
  package var maxCount: Int?

  /// Creates the limits; traps if one is negative.
  package init(maxCost: Int? = 256 << 20, maxCount: Int? = nil) {
    self.maxCost = maxCost
    self.maxCount = maxCount
    check()
  }

  func check() {
    if let maxCost { trap(unless: maxCost >= 0, "a memory cache's maxCost is \(maxCost); use 0 or more, or nil for no limit") }
    if let maxCount {
      trap(unless: maxCount >= 0, "a memory cache's maxCount is \(maxCount); use 0 or more, or nil for no limit")
    }
  }

  /// Whether that many entries with that total cost are within the limits.
  func allows(cost: Int, count: Int) -> Bool {
    if count == 0 { return true }
    if let maxCost, maxCost == 0 || cost > maxCost { return false }
    if let maxCount, count > maxCount { return false }
    return true
  }
}

/// The key of a decoded image in memory: the namespace, the image, and its processing.
///
/// Namespaces are independent, and an image can be cached together with its own thumbnails and transforms.
package struct MemoryKey: Hashable, Sendable {
  /// The namespace of the cache that the image belongs to.
  package let namespace: String

  /// The key of the original image, the same as on disk.
  package let image: CacheKey

  /// How the image was decoded and transformed, in a format that the caller chooses; empty for the original.
  package let processing: String

  package init(namespace: String, image: CacheKey, processing: String = "") {
    self.namespace = namespace
    self.image = image
    self.processing = processing
  }
}

/// The entries of a memory cache by key, which carries out the decisions of ``S3FIFO``.
///
/// In the module that uses it, so that its generic code is specialised, which is several times as fast.
struct MemoryEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The contents of an index: a key with its value, the key of a ghost, or nothing.
  struct Member: Sendable {
    var key: Key?
    var value: Value?

    init(key: Key?, value: Value?) {
      self.key = key
      self.value = value
    }
  }

  var limits: MemoryCacheConfiguration
  var queues: S3FIFO
  var indices: [Key: Int] = [:]
  var members: [Member] = []

  init(limits: MemoryCacheConfiguration) {
    self.limits = limits
    queues = S3FIFO(limits: limits)
  }

  /// All keys except those of ghosts.
  var keys: [Key] { members.compactMap { $0.value == nil ? nil : $0.key } }

  func contains(_ key: Key) -> Bool { indices[key].map { members[$0].value != nil } ?? false }

  /// The value of a key, counted as a use.
  mutating func use(_ key: Key) -> Value? {
    guard let index = indices[key], let value = members[index].value else { return nil }
    queues.use(index)
    return value
  }

  /// Inserts a value and returns whether it is kept; the previous value and removed ones are added to `removed`.
  mutating func insert(_ value: Value, for key: Key, cost: Int, removed: inout [Member]) -> Bool {
    let former = take(key)
    if let former { removed.append(former.member) }
    guard limits.allows(cost: cost, count: 1) else { return false }
    makeRoom(cost: cost, count: 1, removed: &removed)
    let index = queues.insert(cost: cost, following: former?.trace)
    let member = Member(key: key, value: value)
    if index == members.count { members.append(member) } else { members[index] = member }
    indices[key] = index
    return true
  }

  mutating func remove(_ key: Key) -> Value? { take(key)?.member.value }

  /// Changes the limits; removed values are added to `removed`.
  mutating func setLimits(_ limits: MemoryCacheConfiguration, removed: inout [Member]) {
    self.limits = limits
    queues.setLimits(limits)
    makeRoom(cost: 0, count: 0, removed: &removed)
  }

  mutating func take(_ key: Key) -> (member: Member, trace: S3FIFO.Trace)? {
    guard let index = indices.removeValue(forKey: key) else { return nil }
    return (empty(index), queues.remove(index))
  }

  mutating func makeRoom(cost: Int, count: Int, removed: inout [Member]) {
    while let removal = queues.removal(forCost: cost, count: count) {
      switch removal {
      case .value(let index):
        removed.append(Member(key: nil, value: members[index].value.take()))
      case .all(let index):
        let member = empty(index)
        if let key = member.key { indices[key] = nil }
        removed.append(member)
      }
    }
  }

  /// Empties an index and returns its contents.
  mutating func empty(_ index: Int) -> Member {
    let member = members[index]
    members[index] = Member(key: nil, value: nil)
    return member
  }
}
