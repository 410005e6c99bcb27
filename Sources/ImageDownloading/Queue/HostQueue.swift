import HeapModule
import ImagePrimitives

/// The place of a download among all that wait; the least starts first.
struct Rank: Comparable {
  /// 0 for what continues, then the classes from the highest.
  var order: UInt8
  var sequence: Int64
  /// Unique, so that of equal sequences the one that came first starts first.
  var ticket: UInt64

  /// Whether it already began: the next request of an attempt.
  var continues: Bool { order == 0 }

  static func < (left: Rank, right: Rank) -> Bool {
    if left.order != right.order { return left.order < right.order }
    if left.sequence != right.sequence { return left.sequence < right.sequence }
    return left.ticket < right.ticket
  }
}

/// What waits for one host (name and port), how many transfers it has, and what it allows.
struct HostQueue {
  struct Entry: Comparable {
    var rank: Rank
    var slot: Int
    static func < (left: Entry, right: Entry) -> Bool { left.rank < right.rank }
  }

  enum Phase {
    /// Not connected to yet: one transfer starts alone.
    case new
    /// The first could not connect: the others may try, each counting as a name that is resolved.
    case tried
    /// A transfer has connected.
    case open
  }

  /// Why it may start nothing before a certain time.
  enum SleepReason {
    case rate, pause
  }

  var phase = Phase.new
  var running = 0
  /// The ticket under which it stands in the heap of hosts; 0 where it does not.
  var announced: UInt64 = 0
  /// Whether it has as many transfers as it may, and is counted so.
  var isFull = false
  /// Until when it stands in the heap of hosts that sleep, and why; nil where it does not.
  var sleep: (until: MonotonicInstant, reason: SleepReason)?
  /// None of those that wait has less patience with pauses.
  var leastPatience = Duration.seconds(Int64.max)
  var policy = HostPolicy()
  private var waiting = Heap<Entry>()

  /// What would start first.
  var best: Entry? { waiting.min }

  /// All that waits but for retries whose time has not come, stale ones too, in no order.
  var entries: some Collection<Entry> { waiting.unordered }

  /// Whether its limits let it start one more.
  func hasRoom(_ rules: HostRules) -> Bool { running < (phase == .new ? 1 : policy.limit(rules)) }

  mutating func insert(_ entry: Entry) { waiting.insert(entry) }

  @discardableResult
  mutating func removeBest() -> Entry { waiting.removeMin() }
}
