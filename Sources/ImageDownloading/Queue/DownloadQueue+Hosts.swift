import HeapModule
import ImagePrimitives

/// What hosts allow, and what becomes of those that wait for them.
extension DownloadQueue {
  /// Changes all limits: numbers of at least 1, rates above zero.
  mutating func setLimits(_ limits: DownloadLimits, now: MonotonicInstant) {
    concurrency = limits.concurrency
    rules.isAdaptive = limits.isAdaptive
    rules.perHost = limits.perHost
    let interval = StartRate.intervalNanoseconds(ofRate: limits.rate)
    rate.change(from: intervalNanoseconds, to: interval, now: now)
    intervalNanoseconds = interval
    let hostInterval = StartRate.intervalNanoseconds(ofRate: limits.perHostRate)
    for host in hosts.indices {
      hosts[host].policy.changeInterval(from: rules.intervalNanoseconds, to: hostInterval, now: now)
    }
    rules.intervalNanoseconds = hostInterval
    limitsChanged()
  }

  /// Changes both limits, at least 1 each.
  mutating func setLimits(concurrency: Int, perHost: Int) {
    self.concurrency = concurrency
    rules.perHost = perHost
    limitsChanged()
  }

  private mutating func limitsChanged() {
    for host in hosts.indices {
      countFullness(host)
      announce(host)
    }
  }

  /// Takes what a transfer to `host` tells of it, before it has ``finished(host:failedToConnect:wasRequested:)``.
  mutating func record(_ answer: HostResponse, from host: Int, now: MonotonicInstant) -> BreakerState.Change {
    hosts[host].policy.record(answer, running: hosts[host].running, rules, now: now)
  }

  /// Lets nothing begin at `host` before `time`, since it asked for that.
  mutating func pause(_ host: Int, until time: MonotonicInstant, status: Int, now: MonotonicInstant) {
    while hosts.count <= host { hosts.append(HostQueue()) }
    hosts[host].policy.pause(until: time, status: status, now: now)
    announce(host)
  }

  /// How often in a row `host` has asked for a pause.
  func timesAsked(of host: Int) -> Int { hosts[host].policy.pause.timesAsked }

  /// Whether ``refusal(of:patience:now:)`` may refuse anything.
  func mayRefuse(_ host: Int) -> Bool { host < hosts.count && hosts[host].policy.mayRefuse }

  /// Why one that may wait for so long in all is not asked of `host`; nil where it is.
  func refusal(of host: Int, patience: Duration, now: MonotonicInstant) -> HostRefusal? {
    hosts[host].policy.refusal(patience, now: now)
  }

  /// Until when `host` is left alone.
  func restsUntil(_ host: Int) -> MonotonicInstant { hosts[host].policy.restsUntil }

  /// Forgets of all hosts that they failed.
  mutating func forgetFailures() {
    for host in hosts.indices {
      hosts[host].policy.forgetFailures()
      countFullness(host)
      announce(host)
    }
  }

  /// Whether `host` is given up.
  func isDown(_ host: Int) -> Bool { host < hosts.count && hosts[host].policy.breaker.isDown }

  /// Whether some that wait for `host` may have less patience than its pauses take.
  func triesPatience(of host: Int, now: MonotonicInstant) -> Bool {
    hosts[host].policy.pause.total(at: now) > hosts[host].leastPatience
  }

  /// Notes that none of those that wait for `host` has less patience.
  mutating func setLeastPatience(_ patience: Duration, of host: Int) { hosts[host].leastPatience = patience }

  /// The slots of all that waits for `host`, retries too, in their order: as long as the queue, so for rare occasions.
  func slots(waitingFor host: Int) -> [Int] {
    let due = hosts[host].entries.filter { !isStale($0) }
    let retrying = retries.unordered.lazy.filter { $0.host == host }.map(\.entry).filter { !isStale($0) }
    return (due + retrying).sorted().map(\.slot)
  }

  /// Forgets what concerns transfers of a host for which nothing waits or runs. Where what is left need not be kept, its number
  /// may serve another.
  mutating func settle(host: Int, now: MonotonicInstant) -> Bool {
    guard host < hosts.count else { return false }
    let policy = hosts[host].policy
    forget(host: host)
    guard policy.isWorthKeeping(rules, now: now) else { return false }
    hosts[host].policy = policy
    return true
  }

  /// Forgets a host for which nothing waits or runs, so that its number may serve another.
  mutating func forget(host: Int) {
    guard host < hosts.count else { return }
    wake(host)
    if hosts[host].isFull { countFullness(host) }
    hosts[host] = HostQueue()
  }
}
