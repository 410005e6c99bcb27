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
