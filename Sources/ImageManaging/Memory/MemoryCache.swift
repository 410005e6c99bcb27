package import ImageCaching
import Base
import Synchronization

/// Values in memory by key, with exact limits of cost and count. Any thread may call it. Each call takes one short lock, under
/// which only keys are hashed and compared: removed values are freed after it is released. Some keys are kept for a while after
/// their values, at most as many as there are values. ``S3FIFO`` decides which entry is removed for a new one.
package final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let entries: Mutex<S3FIFO<Key, Value>>

  /// Creates an empty cache; traps if a limit is negative.
  package init(_ configuration: MemoryCacheConfiguration = MemoryCacheConfiguration()) {
    entries = Mutex(S3FIFO(limits: configuration))
  }

  package var totalCost: Int { entries.withLock { $0.totalCost } }
  package var count: Int { entries.withLock { $0.count } }

  /// The value of a key, counted as a use; nil if there is none.
  package func value(for key: Key) -> Value? { entries.withLock { $0.use(key) } }

  /// Whether there is a value for a key; this doesn't count as a use.
  package func contains(_ key: Key) -> Bool { entries.withLock { $0.contains(key) } }

  /// Inserts a value, replacing the key's previous one, and removes others until the limits hold; returns whether it was kept. A
  /// value that exceeds a limit by itself isn't kept, and the previous one is removed nevertheless. Traps if `cost` is negative.
  @discardableResult
  package func insert(_ value: Value, for key: Key, cost: Int) -> Bool {
    trap(unless: cost >= 0, "the cost of a memory cache's entry is \(cost); use 0 or more")
    // Removed values are freed when this call returns, outside the lock.
    var removed: [Value] = []
    return entries.withLock { $0.insert(value, for: key, cost: cost, removed: &removed) }
  }

  /// Removes the value of a key and returns it; nil if there was none.
  @discardableResult
  package func remove(_ key: Key) -> Value? { entries.withLock { $0.remove(key) } }

  package func removeAll() {
    _ = entries.withLock { entries in
      let removed = entries
      entries = S3FIFO(limits: removed.limits)
      return removed
    }
  }

  /// Removes the values of all keys for which `shouldRemove` returns true. It is called outside the lock, once for each key present at the
  /// start.
  package func removeAll(where shouldRemove: (Key) -> Bool) {
    let keys = entries.withLock { $0.keys }.filter(shouldRemove)
    _ = entries.withLock { entries in keys.compactMap { entries.remove($0) } }
  }
}

/// The capacity of a ``MemoryCache``. Both limits are exact: they are never exceeded, not even during an insertion.
package struct MemoryCacheConfiguration: Sendable, Hashable {
  /// The maximum sum of all entries' costs, by default 256 MiB; nil: no limit; 0: nothing is kept.
  package let maxCost: Int?
  /// The maximum number of entries; nil, the default: no limit; 0: nothing is kept.
  package let maxCount: Int?

  /// Creates the limits; traps if one is negative.
  package init(maxCost: Int? = 256 << 20, maxCount: Int? = nil) {
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
