import HeapModule
import Base

/// The position of a download in the queue; the lowest starts first.
struct Rank: Comparable {
  /// 0 for a continued attempt, then the classes from the highest.
  var order: UInt8
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
    /// A transfer has connected.
    case open
  }

  /// Why it starts nothing before a certain time.
  enum SleepReason {
    case rate, pause
  }

  var phase = Phase.new
  var running = 0
  /// The ticket of its entry in the heap of hosts; 0 if there is none.
  var announced: UInt64 = 0
  /// Whether it is at its transfer limit and counted as such.
  var isFull = false
  /// When and why it sleeps; nil if it doesn't.
  var sleep: (until: MonotonicInstant, reason: SleepReason)?
  /// A lower bound of the patience of its waiting downloads.
  var leastPatience = Duration.seconds(Int64.max)
  var policy = HostPolicy()
  private var waiting = Heap<Entry>()

  var best: Entry? { waiting.min }

  /// All that wait except for retries before their time, stale ones included, unordered.
  var entries: some Collection<Entry> { waiting.unordered }

  /// Whether its limits let it start one more.
  func hasRoom(_ rules: HostRules) -> Bool { running < (phase == .new ? 1 : policy.limit(rules)) }

  mutating func insert(_ entry: Entry) { waiting.insert(entry) }

  @discardableResult
  mutating func removeBest() -> Entry { waiting.removeMin() }
}
