import HeapModule

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

/// What waits for one host (name and port), and how many transfers it has.
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

  var phase = Phase.new
  var running = 0
  /// The ticket under which it stands in the heap of hosts; 0 where it does not.
  var announced: UInt64 = 0
  private var waiting = Heap<Entry>()

  /// What would start first.
  var best: Entry? { waiting.min }

  /// Whether its limit lets it start one more.
  func mayStart(perHost: Int) -> Bool { running < (phase == .new ? 1 : perHost) }

  mutating func insert(_ entry: Entry) { waiting.insert(entry) }

  @discardableResult
  mutating func removeBest() -> Entry { waiting.removeMin() }
}
