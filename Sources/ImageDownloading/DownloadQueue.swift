import HeapModule
import ImagePrimitives

/// What keeps more downloads from starting.
enum StartLimit: Sendable {
  /// Nothing waits.
  case empty
  /// The limit over all hosts is reached.
  case concurrency
  /// Hosts are at their limit.
  case hosts
  /// What waits has to wait for its host's first connection, or for the time of its retry.
  case notYet
  /// Only what already began may start now.
  case held
}

/// The order of everything that waits: which download starts next, and what may not start yet.
///
/// The next one is that of the highest class, then of the lowest sequence, among those that may start now. A host at its limit
/// holds back only itself: each host keeps a heap of its own, and a heap of hosts orders those that could start something by
/// the best they have. A retry waits in a heap by time, holds no slot, and keeps its sequence. Entries are removed lazily: each
/// carries a ticket, and one whose ticket is no longer its slot's is passed over. So every operation costs O(log n).
///
/// A host that is new starts one transfer alone, and its others once that one has connected or failed: they then find a
/// resolved name, and with HTTP/2 a connection to share. Names that are being resolved are limited, since each costs a thread.
///
/// There is no clock and no socket here; `slot` and `host` are small numbers of the caller's, used again when free.
struct DownloadQueue {
  /// Names that are resolved at once, at most.
  static let maximumResolving = 32

  private var hosts: [HostQueue] = []
  /// By slot: the ticket of its entry; 0 where it does not wait.
  private var tickets: [UInt64] = []
  private var lastTicket: UInt64 = 0
  /// Hosts with something to start, by whether their name is known to resolve. Some entries are stale.
  private var openHosts = Heap<Candidate>()
  private var newHosts = Heap<Candidate>()
  private var retries = Heap<Retry>()

  private(set) var concurrency: Int
  private(set) var perHost: Int
  private(set) var running = 0
  /// Hosts with as many transfers as one may have.
  private var fullHosts = 0
  private(set) var waiting = 0
  private var resolving = 0

  private struct Candidate: Comparable {
    var rank: Rank
    var host: Int
    static func < (left: Candidate, right: Candidate) -> Bool { left.rank < right.rank }
  }

  private struct Retry: Comparable {
    var time: MonotonicInstant
    var host: Int
    var entry: HostQueue.Entry
    static func < (left: Retry, right: Retry) -> Bool { (left.time, left.entry.rank) < (right.time, right.entry.rank) }
  }

  /// An empty queue with both limits, at least 1 each.
  init(concurrency: Int, perHost: Int) {
    self.concurrency = concurrency
    self.perHost = perHost
  }

  /// What ``next(now:startsNew:)`` says.
  enum Step: Equatable {
    /// Start this one; `resolves` where its host's name may have to be resolved, to be ended by ``resolved()``.
    case start(slot: Int, resolves: Bool)
    case none(StartLimit)
  }

  /// Adds what waits in `slot` to `host`; before `time` it does not start.
  ///
  /// `continues` marks what already began, the next request of an attempt: it comes before all that has not.
  mutating func insert(
    slot: Int,
    host: Int,
    priority: Priority,
    sequence: Int64,
    notBefore time: MonotonicInstant? = nil,
    continues: Bool = false
  ) {
    while tickets.count <= slot { tickets.append(0) }
    while hosts.count <= host { hosts.append(HostQueue()) }
    precondition(tickets[slot] == 0, "slot \(slot) waits already")
    lastTicket += 1
    tickets[slot] = lastTicket
    waiting += 1
    let rank = Rank(order: continues ? 0 : priority.rawValue + 1, sequence: sequence, ticket: lastTicket)
    let entry = HostQueue.Entry(rank: rank, slot: slot)
    if let time {
      retries.insert(Retry(time: time, host: host, entry: entry))
    } else {
      hosts[host].insert(entry)
      announce(host)
    }
  }

  /// Removes what waits in `slot` of `host`; nothing where nothing waits there.
  mutating func remove(slot: Int, host: Int) {
    guard slot < tickets.count, tickets[slot] != 0 else { return }
    tickets[slot] = 0
    waiting -= 1
    dropStale(host)
    announce(host)
  }

  /// Takes the download to start now, and counts it as running; without `startsNew` only what continues.
  mutating func next(now: MonotonicInstant, startsNew: Bool = true) -> Step {
    admitRetries(now)
    guard waiting > 0 else { return .none(.empty) }
    guard running < concurrency else { return .none(.concurrency) }
    guard let candidate = best() else { return .none(fullHosts > 0 ? .hosts : .notYet) }
    guard startsNew || candidate.rank.continues else { return .none(.held) }
    return start(candidate.host)
  }

  /// When the next retry may start; nil where none waits.
  var nextRetry: MonotonicInstant? {
    mutating get {
      while let first = retries.min, tickets[first.entry.slot] != first.entry.rank.ticket { retries.removeMin() }
      return retries.min?.time
    }
  }

  // MARK: What becomes of those that run

  /// One of those started with `resolves` has resolved its name, or has ended before.
  mutating func resolved() { resolving -= 1 }

  /// A transfer to `host` has connected, so its others may start.
  mutating func connected(host: Int) {
    guard hosts[host].phase != .open else { return }
    hosts[host].phase = .open
    // Where it stands in the heap of new hosts, that entry is stale now.
    hosts[host].announced = 0
    announce(host)
  }

  /// A transfer to `host` has ended; one that could not connect lets the host's others try too.
  mutating func finished(host: Int, failedToConnect: Bool = false) {
    running -= 1
    let wasFull = hosts[host].running >= perHost
    hosts[host].running -= 1
    if wasFull, hosts[host].running < perHost { fullHosts -= 1 }
    if failedToConnect, hosts[host].phase == .new { hosts[host].phase = .tried }
    announce(host)
  }

  /// Forgets a host for which nothing waits or runs, so that its number may serve another.
  mutating func forget(host: Int) { hosts[host] = HostQueue() }

  /// Changes both limits, at least 1 each.
  mutating func setLimits(concurrency: Int, perHost: Int) {
    self.concurrency = concurrency
    self.perHost = perHost
    fullHosts = hosts.count { $0.running >= self.perHost }
    for host in hosts.indices { announce(host) }
  }

  // MARK: Choosing

  /// The best of the hosts that may start something.
  private mutating func best() -> Candidate? {
    while let candidate = openHosts.min, !isCurrent(candidate, open: true) { drop(openHosts.removeMin()) }
    while let candidate = newHosts.min, !isCurrent(candidate, open: false) { drop(newHosts.removeMin()) }
    guard resolving < Self.maximumResolving, let new = newHosts.min else { return openHosts.min }
    return openHosts.min.map { min($0, new) } ?? new
  }

  private func isCurrent(_ candidate: Candidate, open: Bool) -> Bool {
    hosts[candidate.host].best?.rank == candidate.rank
      && hosts[candidate.host].mayStart(perHost: perHost)
      && (hosts[candidate.host].phase == .open) == open
  }

  private mutating func drop(_ stale: Candidate) {
    if hosts[stale.host].announced == stale.rank.ticket { hosts[stale.host].announced = 0 }
  }

  private mutating func start(_ host: Int) -> Step {
    let slot = hosts[host].removeBest().slot
    let resolves = hosts[host].phase != .open
    tickets[slot] = 0
    waiting -= 1
    running += 1
    hosts[host].running += 1
    if hosts[host].running == perHost { fullHosts += 1 }
    if resolves { resolving += 1 }
    dropStale(host)
    announce(host)
    return .start(slot: slot, resolves: resolves)
  }

  private mutating func admitRetries(_ now: MonotonicInstant) {
    while let time = nextRetry, time <= now {
      let retry = retries.removeMin()
      hosts[retry.host].insert(retry.entry)
      announce(retry.host)
    }
  }

  /// Enters a host that may start something into its heap, by the best it has.
  private mutating func announce(_ host: Int) {
    guard let best = hosts[host].best, hosts[host].announced != best.rank.ticket else { return }
    guard hosts[host].mayStart(perHost: perHost) else { return }
    hosts[host].announced = best.rank.ticket
    let candidate = Candidate(rank: best.rank, host: host)
    if hosts[host].phase == .open { openHosts.insert(candidate) } else { newHosts.insert(candidate) }
  }

  private mutating func dropStale(_ host: Int) {
    while let best = hosts[host].best, tickets[best.slot] != best.rank.ticket { hosts[host].removeBest() }
  }
}
