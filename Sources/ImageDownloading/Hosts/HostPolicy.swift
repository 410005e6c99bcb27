import ImagePrimitives

/// What one host allows and deserves: when the next request to it may begin, and how many may run.
struct HostPolicy {
  private(set) var rate = StartRate()
  private(set) var pause = HostPause()
  private(set) var breaker = BreakerState()
  private var adaptive = AdaptiveLimit()
  /// What the host did when it was last left alone.
  private(set) var lastFailure: String?

  /// Nothing may begin before this.
  var earliestStart: MonotonicInstant { max(rate.next, restsUntil) }

  /// Until when it is left alone, be it by its own wish.
  var restsUntil: MonotonicInstant { max(pause.until, breaker.earliestStart) }

  /// How many transfers it may have.
  func limit(_ rules: HostRules) -> Int {
    guard breaker.isClosed else { return 1 }
    return rules.isAdaptive ? min(adaptive.transfers, rules.perHost) : rules.perHost
  }

  /// Whether this is to outlive the moment when nothing waits or runs for the host.
  func isWorthKeeping(_ rules: HostRules, now: MonotonicInstant) -> Bool {
    restsUntil > now || rate.next > now || pause.timesAsked > 0 || !breaker.isCalm
      || rules.isAdaptive && adaptive.isLearned
  }

  /// A request begins.
  mutating func start(_ rules: HostRules, now: MonotonicInstant) {
    rate.start(at: now, intervalNanoseconds: rules.intervalNanoseconds)
    breaker.start()
  }

  /// The last start has come to no request.
  mutating func takeBackStart(_ rules: HostRules) { rate.takeBack(intervalNanoseconds: rules.intervalNanoseconds) }

  /// Takes what a request tells of the host, while `running` run, that one included.
  mutating func record(_ answer: HostResponse, running: Int, _ rules: HostRules, now: MonotonicInstant) -> BreakerState.Change {
    switch answer {
    case .answered(let latency):
      pause.heal()
      if rules.isAdaptive { adaptive.succeed(latencyNanoseconds: latency, running: running, upTo: rules.perHost) }
      return breaker.heal()
    case .busy(let begun):
      pause.note(begun: begun, now: now)
      if rules.isAdaptive { adaptive.fail(running: running) }
    case .failed(let failure):
      if rules.isAdaptive { adaptive.fail(running: running) }
      let change = breaker.fail(by: rules.breaker, now: now)
      if change != .none { lastFailure = failure.message }
      return change
    case .nothing:
      if rules.isAdaptive { adaptive.pass() }
    }
    return .none
  }

  /// A request has ended, of whatever kind.
  mutating func finish() { breaker.abandonTry() }

  /// The host asks to be left alone until `time`.
  mutating func pause(until time: MonotonicInstant, status: Int, now: MonotonicInstant) {
    pause.extend(until: time, status: status, now: now)
  }

  /// Forgets that it failed, and not what it asked for.
  mutating func forgetFailures() { breaker.forget() }

  /// Goes on with another interval between two starts.
  mutating func changeInterval(from old: UInt64, to new: UInt64, now: MonotonicInstant) {
    rate.change(from: old, to: new, now: now)
  }

  /// Whether ``refusal(_:now:)`` may refuse anything: asked for each download, so cheap.
  var mayRefuse: Bool { pause.isKnown || breaker.isDown }

  /// Why one that may wait for so long in all is not asked of this host; nil where it is.
  func refusal(_ patience: Duration, now: MonotonicInstant) -> HostRefusal? {
    let downFor = breaker.earliestStart.since(now)
    if breaker.isDown, downFor > .zero { return .down(lastFailure: lastFailure ?? "it only failed", remaining: downFor) }
    let remaining = pause.remaining(at: now)
    let total = pause.total(at: now)
    guard remaining > .zero, total > patience else { return nil }
    return .paused(status: Int(pause.status), remaining: remaining, total: total)
  }
}
