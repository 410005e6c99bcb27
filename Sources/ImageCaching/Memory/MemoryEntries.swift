/// The entries of a memory cache by key: what ``S3FIFO`` decides, done.
///
/// Inlinable like all that is generic here, so that clients get code for their own keys and values: it is several times as fast.
@usableFromInline
struct MemoryEntries<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What a place holds: a key with its value, the key of a ghost, or nothing.
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
  @usableFromInline var places: [Key: Int] = [:]
  @usableFromInline var members: [Member] = []

  @inlinable
  init(limits: MemoryCacheConfiguration) {
    self.limits = limits
    queues = S3FIFO(limits: limits)
  }

  /// All keys, those of ghosts left out.
  @inlinable var keys: [Key] { members.compactMap { $0.value == nil ? nil : $0.key } }

  @inlinable
  func contains(_ key: Key) -> Bool { places[key].map { members[$0].value != nil } ?? false }

  /// The value of a key, whose use is counted.
  @inlinable
  mutating func use(_ key: Key) -> Value? {
    guard let place = places[key], let value = members[place].value else { return nil }
    queues.use(place)
    return value
  }

  /// Puts a value in and returns whether it is kept; what had its key, and what goes for it, is added to `removed`.
  @inlinable
  mutating func insert(_ value: Value, for key: Key, cost: Int, removed: inout [Member]) -> Bool {
    let former = take(key)
    if let former { removed.append(former.member) }
    guard limits.allows(cost: cost, count: 1) else { return false }
    makeRoom(cost: cost, count: 1, removed: &removed)
    let place = queues.insert(cost: cost, following: former?.trace)
    let member = Member(key: key, value: value)
    if place == members.count { members.append(member) } else { members[place] = member }
    places[key] = place
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
    guard let place = places.removeValue(forKey: key) else { return nil }
    return (empty(place), queues.remove(place))
  }

  @inlinable
  mutating func makeRoom(cost: Int, count: Int, removed: inout [Member]) {
    while let removal = queues.removal(forCost: cost, count: count) {
      switch removal {
      case .value(let place):
        removed.append(Member(key: nil, value: members[place].value.take()))
      case .all(let place):
        let member = empty(place)
        if let key = member.key { places[key] = nil }
        removed.append(member)
      }
    }
  }

  /// Takes what is at a place.
  @inlinable
  mutating func empty(_ place: Int) -> Member {
    let member = members[place]
    members[place] = Member(key: nil, value: nil)
    return member
  }
}
