import ImagePrimitives

/// The limits of each host.
package struct HostRules {
  var perHost: Int
  /// Between two starts; zero without a rate.
  package var intervalNanoseconds: UInt64 = 0
  var isAdaptive = false
  var breaker = CircuitBreaker()
}

/// The state of one host: when its next request may begin, and how many may run.
struct HostPolicy {
  private(set) var rate = StartRate()
  private(set) var pause = HostPause()
  private(set) var breaker = BreakerState()
  private var adaptive = AdaptiveLimit()
  /// Consecutive failures.
  private var failuresInRow = 0
  /// The failure after which requests to the host last stopped.
  private(set) var lastFailure: Failure?
  /// The consecutive failures by then.
  private var failuresByStop = 0

  /// Nothing may begin before this.
  var earliestStart: MonotonicInstant { max(rate.next, pausedUntil) }

  /// Until when the host is paused, by its own request or by its failures.
  var pausedUntil: MonotonicInstant { max(pause.until, breaker.earliestStart) }

  /// The limit of its transfers.
  func limit(_ rules: HostRules) -> Int {
    guard breaker.isClosed else { return 1 }
    return rules.isAdaptive ? min(adaptive.transfers, rules.perHost) : rules.perHost
  }

  /// Whether to keep this while nothing waits or runs for the host.
  func isWorthKeeping(_ rules: HostRules, now: MonotonicInstant) -> Bool {
    pausedUntil > now || rate.next > now || pause.timesAsked > 0 || !breaker.isCalm
      || rules.isAdaptive && adaptive.isLearned
  }

  /// A request begins.
  mutating func start(_ rules: HostRules, now: MonotonicInstant) {
    rate.start(at: now, intervalNanoseconds: rules.intervalNanoseconds)
    breaker.start()
  }

  /// Undoes the last start, which made no request.
  mutating func takeBackStart(_ rules: HostRules) { rate.takeBack(intervalNanoseconds: rules.intervalNanoseconds) }

  /// Records the response to a request, while `running` run, that one included.
  mutating func record(_ response: HostResponse, running: Int, _ rules: HostRules, now: MonotonicInstant) -> BreakerState.Change {
    switch response {
    case .answered(let latency):
      pause.heal()
      failuresInRow = 0
      if rules.isAdaptive { adaptive.succeed(latencyNanoseconds: latency, running: running, upTo: rules.perHost) }
      return breaker.heal()
    case .cut:
      failuresInRow = 0
      if rules.isAdaptive { adaptive.fail(running: running) }
      return breaker.heal()
    case .busy(let begun):
      pause.note(begun: begun, now: now)
      if rules.isAdaptive { adaptive.fail(running: running) }
    case .failed(let failure): return fail(failure, by: rules.breaker, running: running, rules, now: now)
    case .unreachable(let failure, let retries, let backoff):
      let breaker = rules.breaker.forUnreachable(retries, backoff, pause: breaker.pausesSoFar)
      return fail(failure, by: breaker, running: running, rules, now: now)
    case .nothing:
      if rules.isAdaptive { adaptive.pass() }
    }
    return .none
  }

  private mutating func fail(
    _ failure: Failure,
    by rules: CircuitBreaker,
    running: Int,
    _ host: HostRules,
    now: MonotonicInstant
  ) -> BreakerState.Change {
    if host.isAdaptive { adaptive.fail(running: running) }
    failuresInRow += 1
    let change = breaker.fail(by: rules, now: now)
    if change != .none { (lastFailure, failuresByStop) = (failure, failuresInRow) }
    return change
  }

  /// A request has ended, of whatever kind.
  mutating func finish() { breaker.abandonTry() }

  /// The host asks for a pause until `time`.
  mutating func pause(until time: MonotonicInstant, status: Int, now: MonotonicInstant) {
    pause.extend(until: time, status: status, now: now)
  }

  /// Forgets its failures, but not its pauses.
  mutating func forgetFailures() {
    breaker.forget()
    failuresInRow = 0
  }

  /// Changes the interval between two starts.
  mutating func changeInterval(from old: UInt64, to new: UInt64, now: MonotonicInstant) {
    rate.change(from: old, to: new, now: now)
  }

  /// Whether ``refusal(_:now:)`` may return anything; asked for each download, so cheap.
  var mayRefuse: Bool { pause.isKnown || breaker.isDown }

  /// Why a download with that patience can't wait for this host; nil if it can.
  func refusal(_ patience: Duration, now: MonotonicInstant) -> HostRefusal? {
    let downFor = breaker.earliestStart.since(now)
    if breaker.isDown, downFor > .zero, let lastFailure { return .down(failures: failuresByStop, last: lastFailure) }
    let remaining = pause.remaining(at: now)
    let total = pause.total(at: now)
    guard remaining > .zero, total > patience else { return nil }
    return .paused(status: Int(pause.status), remaining: remaining, total: total)
  }
}

/// The outcome of a request, as far as it concerns the host.
enum HostResponse {
  /// A response of any status, with the time from the request to its first byte if that was asked for.
  case answered(latencyNanoseconds: UInt64?)
  /// A 429 or 503, which asks for a pause, to a request that began then.
  case busy(begun: MonotonicInstant)
  /// A transient failure.
  case failed(Failure)
  /// A transient failure of a response that had begun: the host is up.
  case cut
  /// A host that can't be reached by a download with so many retries.
  case unreachable(Failure, retries: Int, backoff: Backoff)
  case nothing
}

/// Why a host gets no request.
enum HostRefusal: Equatable {
  /// It failed so often that it counts as down.
  case down(failures: Int, last: Failure)
  /// It has sent nothing but 429 and 503; `remaining` is left of pauses of `total`.
  case paused(status: Int, remaining: Duration, total: Duration)

  /// The failure of downloads that wait for the host.
  func failure(of host: URLOrigin, patience: Duration, wasAsked: Bool) -> Failure {
    switch self {
    case .down(let failures, let last):
      // Final for this run, but a later one may succeed.
      return Failure(.hostDown(failures: failures, last: last), isTransient: true)
    case .paused(let status, let remaining, let total):
      let answer = "\(host.address) answered \(status)\(HTTPPhrases.phrase(of: status).map { " \($0)" } ?? "")"
      let wish =
        total > remaining
        ? "and has only asked for pauses, \(total.wholeSecondsText) in all"
        : "and asks to wait \(remaining.wholeSecondsText)"
      return Failure(
        .waitTooLong(finding: "\(answer) \(wish)", maximum: patience, wasRequested: wasAsked),
        status: status,
        isTransient: true
      )
    }
  }
}

extension Failure {
  /// The failure of a download that its host asks to wait for too long.
  static func waitsTooLong(_ failure: Failure, asked: Duration, waited: Duration, patience: Duration) -> Failure {
    let before = waited > .zero ? " after \(waited.text) of such waits" : ""
    let finding = "\(failure.message) and asks to wait \(asked.text)\(before)"
    return Failure(
      .waitTooLong(finding: finding, maximum: patience, wasRequested: true),
      status: failure.status,
      isTransient: failure.isTransient
    )
  }
}

extension Duration {
  /// In seconds, rounded up.
  fileprivate var wholeSecondsText: String { "\((wholeMilliseconds + 999) / 1000) s" }
}
