import HeapModule
package import Base

/// The limit that keeps more downloads from starting.
package enum StartLimit: Sendable {
  case empty
  /// The limit over all hosts is reached.
  case concurrency
  /// Hosts are at their limit.
  case hosts
  /// Most of these get fewer transfers, since they were slow or failed.
  case slowHosts
  /// Downloads wait for their host's first connection or the time of their retry.
  case notYet
  /// Only continued attempts may start now.
  case held
  /// A rate, over all hosts or of hosts with waiting downloads.
  case rate
  case paused
}

/// The order of all waiting downloads: which one starts next, and which ones may not start yet.
///
/// Among those that may start now, the highest class goes first, then the lowest sequence. A host at its limit delays only its
/// own downloads: each host has a heap, and a heap of hosts orders those that can start something by their best download. A host
/// that has to wait for a time, because of its rate or a pause, sleeps in a heap by time. A retry waits in another heap, uses no
/// slot, and keeps its sequence. Entries are removed lazily: each has a ticket, and is skipped if its slot has another by then.
///
/// A new host starts one transfer alone, and its others once that one has connected or failed: they then find a resolved name, and with
/// HTTP/2 a connection to share. The number of names being resolved is limited, since each takes a thread.
///
/// The queue uses no clock and no sockets; `slot` and `host` are small numbers of the caller, which it reuses.
package struct DownloadQueue {
  static let maximumResolving = 32

  /// By host number.
  private var hosts: [HostQueue] = []
  /// By slot: the ticket of its entry; 0 if it doesn't wait.
  private var tickets: [UInt64] = []
  private var lastTicket: UInt64 = 0
  /// Hosts that can start something, by whether their name is known to resolve. Some entries are stale.
  private var openHosts = Heap<Candidate>()
  private var newHosts = Heap<Candidate>()
  private var sleepers = Heap<Sleeper>()
  private var retries = Heap<Retry>()

  var concurrency: Int
  package var rules: HostRules
  private var rate = StartRate()
  private var intervalNanoseconds: UInt64 = 0
  /// Whether only the rate over all hosts keeps something from starting.
  private var waitsForRate = false
  private(set) var now = MonotonicInstant(nanoseconds: 0)

  private(set) var running = 0
  /// Hosts at their transfer limit.
  private var fullHosts = 0
  /// Those of them that get fewer transfers than others.
  private var loweredHosts = 0
  /// Hosts that only their rate keeps from starting something; below, those that only a pause does.
  private var ratedHosts = 0
  private var pausedHosts = 0
  private(set) var waiting = 0
  private var resolving = 0

  private struct Candidate: Comparable {
    var rank: Rank
    var host: Int
    static func < (left: Candidate, right: Candidate) -> Bool { left.rank < right.rank }
  }

  private struct Sleeper: Comparable {
    var until: MonotonicInstant
    var host: Int
    static func < (left: Sleeper, right: Sleeper) -> Bool { left.until < right.until }
  }

  private struct Retry: Comparable {
    var time: MonotonicInstant
    var host: Int
    var entry: HostQueue.Entry
    static func < (left: Retry, right: Retry) -> Bool { (left.time, left.entry.rank) < (right.time, right.entry.rank) }
  }

  /// Creates an empty queue with both limits, at least 1 each, and without rates.
  package init(concurrency: Int, perHost: Int, breaker: CircuitBreaker? = CircuitBreaker()) {
    self.concurrency = concurrency
    rules = HostRules(perHost: perHost, breaker: breaker)
  }

  package enum Step: Equatable {
    /// Start this one; if `resolves`, its host's name may have to be resolved, and ``resolved()`` must follow.
    case start(slot: Int, resolves: Bool)
    case none(StartLimit)
  }

  /// Adds the download in `slot` to `host`; it doesn't start before `time`.
  ///
  /// `continues` marks the next request of an attempt, which precedes all new ones; `isAwaited` one that someone waits for; `patience`
  /// limits the wait of others for host pauses.
  package mutating func insert(
    slot: Int,
    host: Int,
    priority: LoadPriority,
    sequence: Int64,
    notBefore time: MonotonicInstant? = nil,
    continues: Bool = false,
    isAwaited: Bool = false,
    patience: Duration = .seconds(Int64.max)
  ) {
    while tickets.count <= slot { tickets.append(0) }
    while hosts.count <= host { hosts.append(HostQueue()) }
    precondition(tickets[slot] == 0, "slot \(slot) is already waiting")
    lastTicket += 1
    tickets[slot] = lastTicket
    waiting += 1
    let order = continues ? 0 : priority.rawValue + 1
    let rank = Rank(order: order, isAwaited: isAwaited, sequence: sequence, ticket: lastTicket)
    let entry = HostQueue.Entry(rank: rank, slot: slot)
    if !isAwaited { hosts[host].leastPatience = min(hosts[host].leastPatience, patience) }
    if let time {
      retries.insert(Retry(time: time, host: host, entry: entry))
    } else {
      hosts[host].insert(entry)
      announce(host)
    }
  }

  /// Removes the download in `slot` of `host`, if one waits there.
  mutating func remove(slot: Int, host: Int) {
    guard slot < tickets.count, tickets[slot] != 0 else { return }
    tickets[slot] = 0
    waiting -= 1
    dropStale(host)
    announce(host)
  }

  /// Removes the download to start now and counts it as running; if `startsNew` is false, only one that continues an attempt.
  package mutating func next(now: MonotonicInstant, startsNew: Bool = true) -> Step {
    self.now = now
    waitsForRate = false
    admitRetries()
    wakeSleepers()
    guard waiting > 0 else { return .none(.empty) }
    guard running < concurrency else { return .none(.concurrency) }
    guard let candidate = best() else { return .none(hostLimit) }
    guard startsNew || candidate.rank.continues else { return .none(.held) }
    guard rate.next <= now else {
      waitsForRate = true
      return .none(.rate)
    }
    return start(candidate)
  }

  /// The limit of most of the hosts that can start something.
  private var hostLimit: StartLimit {
    if fullHosts == 0, ratedHosts == 0, pausedHosts == 0 { return .notYet }
    if fullHosts >= max(ratedHosts, pausedHosts) { return 2 * loweredHosts > fullHosts ? .slowHosts : .hosts }
    return ratedHosts > pausedHosts ? .rate : .paused
  }

  /// The next start because of a time (a retry's, a host's or the rate's); nil if nothing waits for a time.
  package var nextStart: MonotonicInstant? {
    mutating get {
      while let first = retries.min, isStale(first.entry) { retries.removeMin() }
      while let first = sleepers.min, hosts[first.host].sleep?.until != first.until { sleepers.removeMin() }
      var earliest = MonotonicInstant(nanoseconds: .max)
      if waitsForRate { earliest = rate.next }
      if let retry = retries.min { earliest = min(earliest, retry.time) }
      if let sleeper = sleepers.min { earliest = min(earliest, sleeper.until) }
      return earliest.nanoseconds < .max ? earliest : nil
    }
  }

  // MARK: Running transfers

  /// A transfer started with `resolves` has resolved its name or ended before.
  package mutating func resolved() { resolving -= 1 }

  /// A transfer to `host` has connected, so its others may start.
  package mutating func connected(host: Int) {
    guard hosts[host].phase != .open else { return }
    hosts[host].phase = .open
    // An entry in the heap of new hosts is stale now.
    hosts[host].announced = 0
    announce(host)
  }

  /// A transfer to `host` has ended. If it failed to connect, its others may try; if it made no request, its start doesn't count.
  ///
  /// - Parameter tryOfAwaited: nil unless it tried a host that had kept failing, for downloads that someone waits for or for others.
  package mutating func finished(
    host: Int,
    failedToConnect: Bool = false,
    wasRequested: Bool = true,
    tryOfAwaited: Bool? = nil
  ) {
    running -= 1
    hosts[host].running -= 1
    if let tryOfAwaited { hosts[host].policy.breaker.endTry(isAwaited: tryOfAwaited) }
    if !wasRequested {
      rate.takeBack(intervalNanoseconds: intervalNanoseconds)
      hosts[host].policy.rate.takeBack(intervalNanoseconds: hosts[host].policy.intervalNanoseconds(rules))
    }
    if failedToConnect, hosts[host].phase == .new { hosts[host].phase = .tried }
    countFullness(host)
    announce(host)
  }

  // MARK: Choosing

  /// The best of the hosts that can start something.
  private mutating func best() -> Candidate? {
    while let candidate = openHosts.min, !isCurrent(candidate, open: true) { drop(openHosts.removeMin()) }
    while let candidate = newHosts.min, !isCurrent(candidate, open: false) { drop(newHosts.removeMin()) }
    guard resolving < Self.maximumResolving, let new = newHosts.min else { return openHosts.min }
    return openHosts.min.map { min($0, new) } ?? new
  }

  // A separate call would copy the whole queue.
  @inline(__always)
  private func isCurrent(_ candidate: Candidate, open: Bool) -> Bool {
    let isAwaited = candidate.rank.isAwaited
    return hosts[candidate.host].first(isAwaited: isAwaited)?.rank == candidate.rank
      && hosts[candidate.host].hasRoom(rules, isAwaited: isAwaited)
      && hosts[candidate.host].policy.earliestStart(isAwaited: isAwaited) <= now
      && (hosts[candidate.host].phase == .open) == open
  }

  private mutating func drop(_ stale: Candidate) {
    if hosts[stale.host].announced == stale.rank.ticket { hosts[stale.host].announced = 0 }
  }

  private mutating func start(_ candidate: Candidate) -> Step {
    let host = candidate.host
    let slot = hosts[host].removeFirst(isAwaited: candidate.rank.isAwaited).slot
    let resolves = hosts[host].phase != .open
    tickets[slot] = 0
    waiting -= 1
    running += 1
    hosts[host].running += 1
    rate.start(at: now, intervalNanoseconds: intervalNanoseconds)
    hosts[host].policy.start(rules, isAwaited: candidate.rank.isAwaited, now: now)
    countFullness(host)
    if resolves { resolving += 1 }
    dropStale(host)
    announce(host)
    return .start(slot: slot, resolves: resolves)
  }

  private func isStale(_ entry: HostQueue.Entry) -> Bool { tickets[entry.slot] != entry.rank.ticket }

  private mutating func dropStale(_ host: Int) {
    while let best = hosts[host].waiting.min, isStale(best) { hosts[host].removeFirst(isAwaited: false) }
    while let best = hosts[host].awaited.min, isStale(best) { hosts[host].removeFirst(isAwaited: true) }
  }

  private mutating func admitRetries() {
    while let retry = retries.min {
      guard isStale(retry.entry) || retry.time <= now else { return }
      retries.removeMin()
      if isStale(retry.entry) { continue }
      hosts[retry.host].insert(retry.entry)
      announce(retry.host)
    }
  }

  /// Adds a host that can start something to its heap, by its best download, or to the heap of sleeping hosts.
  private mutating func announce(_ host: Int) {
    var best: HostQueue.Entry?
    switch hosts[host].next(rules, now: now) {
    case .nothing: return wake(host)
    case .noRoom: return
    case .later(let time): return sleep(host, until: time)
    case .now(let entry): best = entry
    }
    wake(host)
    guard let best, hosts[host].announced != best.rank.ticket else { return }
    hosts[host].announced = best.rank.ticket
    let candidate = Candidate(rank: best.rank, host: host)
    if hosts[host].phase == .open { openHosts.insert(candidate) } else { newHosts.insert(candidate) }
  }

  // MARK: Sleeping and full hosts

  private mutating func sleep(_ host: Int, until time: MonotonicInstant) {
    guard hosts[host].sleep?.until != time else { return }
    wake(host)
    let isForRate = time > hosts[host].policy.pausedUntil
    hosts[host].sleep = (time, isForRate)
    countSleep(isForRate, 1)
    sleepers.insert(Sleeper(until: time, host: host))
  }

  private mutating func wake(_ host: Int) {
    if let sleep = hosts[host].sleep.take() { countSleep(sleep.isForRate, -1) }
  }

  private mutating func countSleep(_ isForRate: Bool, _ change: Int) {
    if isForRate { ratedHosts += change } else { pausedHosts += change }
  }

  private mutating func wakeSleepers() {
    while let first = sleepers.min, first.until <= now {
      sleepers.removeMin()
      guard hosts[first.host].sleep?.until == first.until else { continue }
      wake(first.host)
      announce(first.host)
    }
  }

  /// Updates the count of hosts at their transfer limit; paused hosts don't count.
  private mutating func countFullness(_ host: Int) {
    let isFull = hosts[host].policy.breaker.isClosed && hosts[host].running >= hosts[host].policy.limit(rules)
    guard isFull != hosts[host].isFull else { return }
    hosts[host].isFull = isFull
    fullHosts += isFull ? 1 : -1
    let isLowered = isFull && hosts[host].policy.isLowered(rules)
    if isLowered != hosts[host].isLowered { loweredHosts += isLowered ? 1 : -1 }
    hosts[host].isLowered = isLowered
  }
}

extension DownloadQueue {
  /// Changes all limits: numbers of at least 1, rates above zero. `own` returns those of a host, nil if it has none.
  mutating func setLimits(
    _ limits: DownloadLimits,
    now: MonotonicInstant,
    own: (Int) -> DownloadLimits.OfHost? = { _ in nil }
  ) {
    concurrency = limits.concurrency
    rules.isAdaptive = limits.isAdaptive
    rules.perHost = limits.perHost
    let interval = StartRate.intervalNanoseconds(ofRate: limits.rate)
    rate.change(from: intervalNanoseconds, to: interval, now: now)
    intervalNanoseconds = interval
    let before = hosts.map { $0.policy.intervalNanoseconds(rules) }
    rules.intervalNanoseconds = StartRate.intervalNanoseconds(ofRate: limits.perHostRate)
    for host in hosts.indices {
      hosts[host].policy.own = own(host).map { OwnLimits($0) } ?? OwnLimits()
      hosts[host].policy.rate.change(from: before[host], to: hosts[host].policy.intervalNanoseconds(rules), now: now)
    }
    for host in hosts.indices {
      countFullness(host)
      announce(host)
    }
  }

  /// Sets the own limits of a host without downloads.
  mutating func setLimits(_ limits: DownloadLimits.OfHost, of host: Int) {
    while hosts.count <= host { hosts.append(HostQueue()) }
    hosts[host].policy.own = OwnLimits(limits)
  }

  /// Records the outcome of a transfer to `host`, before ``finished(host:failedToConnect:wasRequested:)`` is called for it.
  mutating func record(_ response: HostResponse, to request: HostRequest, from host: Int, now: MonotonicInstant)
    -> BreakerState.Change
  {
    hosts[host].policy.record(response, to: request, running: hosts[host].running, rules, now: now)
  }

  /// Starts nothing at `host` before `time`, at its own request.
  mutating func pause(_ host: Int, until time: MonotonicInstant, status: Int, now: MonotonicInstant) {
    while hosts.count <= host { hosts.append(HostQueue()) }
    hosts[host].policy.pause.extend(until: time, status: status, now: now)
    announce(host)
  }

  subscript(host: Int) -> HostPolicy {
    // A call would copy the whole queue.
    @inline(__always) get { host < hosts.count ? hosts[host].policy : HostPolicy() }
  }

  mutating func forgetFailures() {
    for host in hosts.indices {
      hosts[host].policy.forgetFailures()
      countFullness(host)
      announce(host)
    }
  }

  /// Whether pauses of `host` may exceed the patience of some of its waiting downloads.
  func triesPatience(of host: Int, now: MonotonicInstant) -> Bool {
    hosts[host].policy.pause.total(at: now) > hosts[host].leastPatience
  }

  mutating func setLeastPatience(_ patience: Duration, of host: Int) { hosts[host].leastPatience = patience }

  /// The slots of all that wait for `host`, retries included, in order; linear in the length of the queue.
  func slots(waitingFor host: Int) -> [Int] {
    let due = (hosts[host].waiting.unordered + hosts[host].awaited.unordered).filter { !isStale($0) }
    let retrying = retries.unordered.lazy.filter { $0.host == host }.map(\.entry).filter { !isStale($0) }
    return (due + retrying).sorted().map(\.slot)
  }

  /// Resets a host for which nothing waits or runs. Returns whether its pauses and failures are worth keeping.
  mutating func settle(host: Int, now: MonotonicInstant) -> Bool {
    guard host < hosts.count else { return false }
    let policy = hosts[host].policy
    forget(host: host)
    guard policy.isWorthKeeping(rules, now: now) else { return false }
    hosts[host].policy = policy
    return true
  }

  /// Forgets a host for which nothing waits or runs; its number may be used again.
  mutating func forget(host: Int) {
    guard host < hosts.count else { return }
    wake(host)
    if hosts[host].isFull { countFullness(host) }
    hosts[host] = HostQueue()
  }
}
