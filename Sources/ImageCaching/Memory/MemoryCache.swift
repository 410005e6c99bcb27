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
