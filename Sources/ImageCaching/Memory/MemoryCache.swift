import ImagePrimitives
public import Synchronization

/// Values in memory by key, within exact limits of cost and of count.
///
/// Any thread may call it. Every call takes one short lock; keys are hashed and compared under it, and nothing else of the
/// caller's runs there: values and keys that go are freed after it was given back. Some keys are kept for a while after their
/// values, as many as there are values at most. Which entry goes for a new one is told by `S3FIFO`.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The limits of such a cache.
  public typealias Configuration = MemoryCacheConfiguration

  @usableFromInline let entries: Mutex<MemoryEntries<Key, Value>>

  /// An empty cache with those limits; traps where one is negative.
  public init(_ configuration: Configuration = Configuration()) {
    configuration.check()
    entries = Mutex(MemoryEntries(limits: configuration))
  }

  /// The limits as they are now.
  public var configuration: Configuration { entries.withLock { $0.limits } }

  /// The costs of all entries together.
  public var totalCost: Int { entries.withLock { $0.queues.totalCost } }

  /// How many entries there are.
  public var count: Int { entries.withLock { $0.queues.count } }

  /// The value for a key, which counts as a use of it; nil where there is none.
  @inlinable
  public func value(for key: Key) -> Value? { entries.withLock { $0.use(key) } }

  /// Whether there is a value for a key; that is no use of it.
  @inlinable
  public func contains(_ key: Key) -> Bool { entries.withLock { $0.contains(key) } }

  /// Puts a value in, in place of the one that the key had, and removes others until the limits hold.
  ///
  /// An entry that is above a limit by itself is not kept, and the one that it would have replaced is removed all the same. Traps
  /// where `cost` is negative.
  ///
  /// - Returns: Whether the value is kept.
  @discardableResult
  @inlinable
  public func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
    if cost < 0 { fatalError("an entry of a memory cache costs \(cost); give 0 or more") }
    // What leaves the cache is freed when this call returns, outside the lock.
    var removed: [MemoryEntries<Key, Value>.Member] = []
    return entries.withLock { $0.insert(value, for: key, cost: cost, removed: &removed) }
  }

  /// Removes the value of a key and returns it; nil where there was none.
  @discardableResult
  @inlinable
  public func remove(_ key: Key) -> Value? { entries.withLock { $0.remove(key) } }

  /// Removes all values.
  public func removeAll() {
    _ = entries.withLock { entries in
      let removed = entries
      entries = MemoryEntries(limits: removed.limits)
      return removed
    }
  }

  /// Removes the values of all keys that `shouldRemove` is true of.
  ///
  /// It is called outside the lock, once with every key that there is at the start.
  public func removeAll(where shouldRemove: (Key) -> Bool) {
    let keys = entries.withLock { $0.keys }.filter(shouldRemove)
    _ = entries.withLock { entries in keys.compactMap { entries.remove($0) } }
  }

  /// Changes the limits, and removes entries until the new ones hold; traps where one is negative.
  public func setLimits(_ configuration: Configuration) {
    configuration.check()
    var removed: [MemoryEntries<Key, Value>.Member] = []
    entries.withLock { $0.setLimits(configuration, removed: &removed) }
  }
}

/// How much a ``MemoryCache`` may hold.
///
/// Both limits are exact: neither is ever passed, not even while an entry is inserted.
public struct MemoryCacheConfiguration: Sendable, Hashable {
  /// The most that the costs of all entries may add up to, by default 256 MiB; nil: no limit; 0: nothing is kept.
  ///
  /// The unit is the caller's. For decoded images it is bytes.
  public var maxCost: Int?

  /// The most entries, by default without limit (nil); 0: nothing is kept.
  public var maxCount: Int?

  /// The limits; traps where one is negative.
  public init(maxCost: Int? = 256 << 20, maxCount: Int? = nil) {
    self.maxCost = maxCost
    self.maxCount = maxCount
    check()
  }

  /// Traps where a limit is negative.
  func check() {
    if let maxCost { trap(unless: maxCost >= 0, "a memory cache's maxCost is \(maxCost); give 0 or more, or nil for no limit") }
    if let maxCount {
      trap(unless: maxCount >= 0, "a memory cache's maxCount is \(maxCount); give 0 or more, or nil for no limit")
    }
  }

  /// Whether so many entries of that cost together are within the limits.
  @usableFromInline
  func allows(cost: Int, count: Int) -> Bool {
    if count == 0 { return true }
    if let maxCost, maxCost == 0 || cost > maxCost { return false }
    if let maxCount, count > maxCount { return false }
    return true
  }
}

/// What a decoded image is found by in memory: the namespace, the image, and what was done to it.
///
/// Two namespaces share nothing, and an image stands beside its own thumbnails and transforms.
public struct MemoryKey: Hashable, Sendable {
  /// The namespace of the cache that the image belongs to.
  public let namespace: String

  /// The key of the image as it came, the same as on disk.
  public let image: CacheKey

  /// How the image was decoded and transformed, in the words of whoever does that; empty for the image as it came.
  public let processing: String

  /// The key of an image, by default as it came.
  public init(namespace: String, image: CacheKey, processing: String = "") {
    self.namespace = namespace
    self.image = image
    self.processing = processing
  }
}

/// The entries of a memory cache by key: what ``S3FIFO`` decides, done.
///
/// Inlinable like all that is generic here, so that clients get code for their own keys and values: it is several times as fast.
@usableFromInline
struct MemoryEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What an index holds: a key with its value, the key of a ghost, or nothing.
  @usableFromInline
  struct Member: Sendable {
    @usableFromInline var key: Key?
    @usableFromInline var value: Value?

    @inlinable
    init(key: Key?, value: Value?) {
      self.key = key
      self.value = value
    }
  }

  @usableFromInline var limits: MemoryCacheConfiguration
  @usableFromInline var queues: S3FIFO
  @usableFromInline var indices: [Key: Int] = [:]
  @usableFromInline var members: [Member] = []

  @inlinable
  init(limits: MemoryCacheConfiguration) {
    self.limits = limits
    queues = S3FIFO(limits: limits)
  }

  /// All keys, those of ghosts left out.
  @inlinable var keys: [Key] { members.compactMap { $0.value == nil ? nil : $0.key } }

  @inlinable
  func contains(_ key: Key) -> Bool { indices[key].map { members[$0].value != nil } ?? false }

  /// The value of a key, whose use is counted.
  @inlinable
  mutating func use(_ key: Key) -> Value? {
    guard let index = indices[key], let value = members[index].value else { return nil }
    queues.use(index)
    return value
  }

  /// Puts a value in and returns whether it is kept; what had its key, and what goes for it, is added to `removed`.
  @inlinable
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

  /// Removes the value of a key and returns it.
  @inlinable
  mutating func remove(_ key: Key) -> Value? { take(key)?.member.value }

  /// Changes the limits; what goes for them is added to `removed`.
  @inlinable
  mutating func setLimits(_ limits: MemoryCacheConfiguration, removed: inout [Member]) {
    self.limits = limits
    queues.setLimits(limits)
    makeRoom(cost: 0, count: 0, removed: &removed)
  }

  @inlinable
  mutating func take(_ key: Key) -> (member: Member, trace: S3FIFO.Trace)? {
    guard let index = indices.removeValue(forKey: key) else { return nil }
    return (empty(index), queues.remove(index))
  }

  @inlinable
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

  /// Takes what is at an index.
  @inlinable
  mutating func empty(_ index: Int) -> Member {
    let member = members[index]
    members[index] = Member(key: nil, value: nil)
    return member
  }
}
