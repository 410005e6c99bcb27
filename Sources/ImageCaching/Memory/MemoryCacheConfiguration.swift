import ImagePrimitives

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
