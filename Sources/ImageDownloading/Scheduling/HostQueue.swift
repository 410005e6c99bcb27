import HeapModule
import Base

/// The position of a download in the queue; the lowest starts first.
struct Rank: Comparable {
  /// 0 for a continued attempt, then the classes from the highest.
  var order: UInt8
  /// Whether someone waits for it.
  var isAwaited = false
  var sequence: Int64
  /// Unique, so that of equal sequences the one that came first starts first.
  var ticket: UInt64

  /// Whether it is the next request of an attempt.
  var continues: Bool { order == 0 }

  static func < (left: Rank, right: Rank) -> Bool {
    if left.order != right.order { return left.order < right.order }
    if left.sequence != right.sequence { return left.sequence < right.sequence }
    return left.ticket < right.ticket
  }
}

/// The downloads that wait for one host (name and port), the count of its transfers, and its limits.
struct HostQueue {
  struct Entry: Comparable {
    var rank: Rank
    var slot: Int
    static func < (left: Entry, right: Entry) -> Bool { left.rank < right.rank }
  }

  enum Phase {
    /// Not connected to yet: one transfer starts alone.
    case new
    /// The first couldn't connect: the others may try, each counting as a name being resolved.
    case tried
    case open
  }

  var phase = Phase.new
  var running = 0
  /// The ticket of its entry in the heap of hosts; 0 if there is none.
  var announced: UInt64 = 0
  /// Whether it is at its transfer limit and counted as such.
  var isFull = false
  /// Whether it got fewer transfers than others when that number was reached.
  var isLowered = false
  /// Until when it sleeps, for its rate or else a pause; nil if it doesn't.
  var sleep: (until: MonotonicInstant, isForRate: Bool)?
  /// A lower bound of the patience of its waiting downloads.
  var leastPatience = Duration.seconds(Int64.max)
  var policy = HostPolicy()
  /// All downloads of batches that wait, except for retries before their time, stale ones included.
  private(set) var waiting = Heap<Entry>()
  /// The same of those that someone waits for, which have other pauses.
  private(set) var awaited = Heap<Entry>()

  @inline(__always)
  func first(isAwaited: Bool) -> Entry? { isAwaited ? awaited.min : waiting.min }

  mutating func insert(_ entry: Entry) {
    if entry.rank.isAwaited { awaited.insert(entry) } else { waiting.insert(entry) }
  }

  @discardableResult
  mutating func removeFirst(isAwaited: Bool) -> Entry { isAwaited ? awaited.removeMin() : waiting.removeMin() }

  /// Whether its limits let it start one more. The try of a download that someone waits for needs no room beside hanging transfers.
  @inline(__always)
  func hasRoom(_ rules: HostRules, isAwaited: Bool) -> Bool {
    if isAwaited, !policy.breaker.isClosed { return !policy.breaker.isTriedForWaiting }
    return running < (phase == .new ? 1 : policy.limit(rules))
  }

  enum Next {
    case nothing, noRoom
    case later(MonotonicInstant)
    case now(Entry)
  }

  /// The best of those that wait that may start now, or the time when one may.
  @inline(__always)
  func next(_ rules: HostRules, now: MonotonicInstant) -> Next {
    if awaited.isEmpty { return next(waiting.min, isAwaited: false, rules, now: now) }
    let (one, other) = (
      next(awaited.min, isAwaited: true, rules, now: now), next(waiting.min, isAwaited: false, rules, now: now)
    )
    switch (one, other) {
    case (.now(let left), .now(let right)): return .now(min(left, right))
    case (.now, _), (_, .nothing): return one
    case (_, .now), (.nothing, _): return other
    case (.later(let left), .later(let right)): return .later(min(left, right))
    case (.later, .noRoom): return one
    case (.noRoom, _): return other
    }
  }

  @inline(__always)
  private func next(_ first: Entry?, isAwaited: Bool, _ rules: HostRules, now: MonotonicInstant) -> Next {
    guard let first else { return .nothing }
    guard hasRoom(rules, isAwaited: isAwaited) else { return .noRoom }
    let time = policy.earliestStart(isAwaited: isAwaited)
    return time <= now ? .now(first) : .later(time)
  }
}
