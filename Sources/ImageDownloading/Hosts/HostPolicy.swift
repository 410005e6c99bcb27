import Base

/// The limits of each host.
package struct HostRules {
  var perHost: Int
  /// Between two starts; zero if there is no rate.
  package var intervalNanoseconds: UInt64 = 0
  var isAdaptive = false
  /// Nil: requests never stop.
  var breaker: CircuitBreaker?
}

/// The facts about a request that its host's policy needs.
struct HostRequest {
  /// When it began.
  var begun: MonotonicInstant
  /// Whether someone waits for its download.
  var isAwaited: Bool
  /// Whether it tried a host that had kept failing.
  var isTry = false
  /// Of its download.
  var retries: Int
  var backoff: Backoff
}

/// Limits of one host; nil: those of all hosts.
struct OwnLimits {
  var perHost: Int?
  /// As in ``HostRules``.
  var intervalNanoseconds: UInt64?

  init() {}

  init(_ limits: DownloadLimits.OfHost) {
    perHost = limits.perHost
    intervalNanoseconds = limits.perHostRate.map { StartRate.intervalNanoseconds(ofRate: $0) }
  }
}

/// The state of one host: when its next request may begin, and how many may run.
struct HostPolicy {
  var rate = StartRate()
  var pause = HostPause()
  var breaker = BreakerState()
  /// Its own limits, which replace those of all hosts.
  var own = OwnLimits()
  private var adaptive = AdaptiveLimit()
  private var failuresInRow = 0
  /// The failure after which requests to the host were last stopped.
  private(set) var lastFailure: ImageFailure?
  /// The number of consecutive failures at that time.
  private var failuresByStop = 0
  /// Whether it has responded with anything but a request for a pause or a transient failure.
  private var hasResponded = false

  /// When a download of that kind may start. A pause that the host has asked for concerns batches: others know how long they wait for it.
  func earliestStart(isAwaited: Bool) -> MonotonicInstant {
    isAwaited ? max(rate.next, breaker.earliestStart(isAwaited: true)) : max(rate.next, pausedUntil)
  }

  /// The end of the host's pause for batches, whether requested or after failures.
  var pausedUntil: MonotonicInstant { max(pause.until, breaker.earliestStart(isAwaited: false)) }

  /// The wait of a download that someone waits for, if the host has said that its client sends too much (429) and that is soon over.
  ///
  /// A longer pause can't be waited for, so the download is requested at once. A 503 may concern one image: browsers ignore it for others.
  func wait(_ options: DownloadOptions, now: MonotonicInstant) -> Duration? {
    guard pause.status == 429, options.isAwaited, options.retries > 0 else { return nil }
    let remaining = pause.remaining(at: now)
    return remaining > .zero && remaining <= options.retryAfterMaximum ? remaining : nil
  }

  /// The maximum number of its transfers.
  func limit(_ rules: HostRules) -> Int {
    guard breaker.isClosed else { return 1 }
    let perHost = perHost(rules)
    return rules.isAdaptive ? adaptive.transfers(upTo: perHost) : perHost
  }

  /// Whether it gets fewer transfers than allowed.
  func isLowered(_ rules: HostRules) -> Bool { rules.isAdaptive && adaptive.found < perHost(rules) }

  private func perHost(_ rules: HostRules) -> Int { own.perHost ?? rules.perHost }

  /// Between two starts; zero if there is no rate.
  func intervalNanoseconds(_ rules: HostRules) -> UInt64 { own.intervalNanoseconds ?? rules.intervalNanoseconds }

  /// Whether to keep this state while no download of the host waits or runs.
  func isWorthKeeping(_ rules: HostRules, now: MonotonicInstant) -> Bool {
    pausedUntil > now || rate.next > now || pause.timesAsked > 0 || !breaker.isCalm
      || hasResponded || rules.isAdaptive && adaptive.isLearned
  }

  mutating func start(_ rules: HostRules, isAwaited: Bool, now: MonotonicInstant) {
    rate.start(at: now, intervalNanoseconds: intervalNanoseconds(rules))
    breaker.start(isAwaited: isAwaited)
  }

  /// Records the response to a request while `running` requests run, that one included.
  mutating func record(
    _ response: HostResponse,
    to request: HostRequest,
    running: Int,
    _ rules: HostRules,
    now: MonotonicInstant
  ) -> BreakerState.Change {
    switch response {
    case .responded(let latency):
      pause.recover()
      failuresInRow = 0
      hasResponded = true
      if rules.isAdaptive, let latency {
        let sample = AdaptiveLimit.Response(begun: request.begun, latencyNanoseconds: latency, running: running)
        adaptive.succeed(sample, upTo: perHost(rules), now: now)
      }
      return breaker.recover()
    case .cut:
      failuresInRow = 0
      hasResponded = true
      return breaker.recover()
    case .busy:
      pause.note(begun: request.begun, now: now)
      slowDown(begun: request.begun, rules, now: now)
      // Those who wait get the server's answer.
      if request.isTry, request.isAwaited { return breaker.recover() }
    case .failed(let failure):
      return fail(failure, request, rules, by: rules.breaker, now: now)
    case .unreachable(let failure):
      return fail(failure, request, rules, by: rules.breaker?.forUnreachable(request, pause: breaker.pausesSoFar), now: now)
    case .nothing: break
    }
    return .none
  }

  /// Fewer failures in a row may be those of single images.
  private static let failuresOfLoad = 3

  private mutating func slowDown(begun: MonotonicInstant, _ rules: HostRules, now: MonotonicInstant) {
    if rules.isAdaptive { adaptive.fail(begun: begun, upTo: perHost(rules), now: now) }
  }

  private mutating func fail(
    _ failure: ImageFailure,
    _ request: HostRequest,
    _ hostRules: HostRules,
    by rules: CircuitBreaker?,
    now: MonotonicInstant
  ) -> BreakerState.Change {
    failuresInRow += 1
    if failuresInRow >= Self.failuresOfLoad { slowDown(begun: request.begun, hostRules, now: now) }
    guard let rules else { return .none }
    let change = breaker.fail(request, by: rules, now: now)
    if change != .none { (lastFailure, failuresByStop) = (failure, failuresInRow) }
    return change
  }

  /// Forgets its failures, but not its pauses.
  mutating func forgetFailures() {
    breaker.forget()
    failuresInRow = 0
    hasResponded = false
  }

  /// Whether ``refusal(of:_:wasAsked:now:)`` may return anything; cheap, since it is called for each download.
  var mayRefuse: Bool { pause.isKnown || !breaker.isClosed }

  /// The failure of a download with these options, which can't wait for this host; nil if it can.
  ///
  /// A host that has sent only 429 and 503 in a run counts as down for downloads of batches that it wasn't asked for.
  func refusal(of host: URLOrigin, _ options: DownloadOptions, wasAsked: Bool, now: MonotonicInstant) -> ImageFailure? {
    if breaker.refuses(isAwaited: options.isAwaited, at: now), let lastFailure {
      // Permanent for this run, but a later run may succeed.
      return ImageFailure(.hostDown(failures: failuresByStop, last: lastFailure), isTransient: true)
    }
    let (remaining, total, patience) = (pause.remaining(at: now), pause.total(at: now), options.retryAfterMaximum)
    guard !options.isAwaited, remaining > .zero, total > patience else { return nil }
    let pauses =
      total > remaining
      ? "and its pauses add up to \(total.wholeSecondsText)" : "and is paused for \(remaining.wholeSecondsText)"
    let finding = "\(host.address) responded with \(HTTPStatus.named(Int(pause.status))) \(pauses)"
    let isDown = pause.timesAsked > 0 && !hasResponded && !wasAsked
    return ImageFailure(
      .waitTooLong(finding: finding, maximum: patience, wasRequested: wasAsked, isHostDown: isDown),
      status: isDown ? nil : Int(pause.status),
      isTransient: true
    )
  }
}

/// The outcome of a request, as far as it concerns the host.
enum HostResponse {
  /// A response of any status, with the time from the request to its first byte if it was measured.
  case responded(latencyNanoseconds: UInt64?)
  /// A 429 or 503, which asks for a pause.
  case busy
  case failed(ImageFailure)
  /// A transient failure after the response began: the host is up.
  case cut
  case unreachable(ImageFailure)
  case nothing
}

extension ImageFailure {
  /// The failure of a download that doesn't wait, although its host asks for it.
  static func asksToWait(_ failure: ImageFailure, asked: Duration) -> ImageFailure {
    var failure = failure
    failure.message += " and asks for a pause of \(asked.text)"
    return failure
  }

  /// The failure of a download whose host asks it to wait for too long.
  static func waitsTooLong(_ failure: ImageFailure, asked: Duration, waited: Duration, patience: Duration) -> ImageFailure {
    let before = waited > .zero ? " after \(waited.text) of such pauses" : ""
    let finding = "\(failure.message) and asks for a pause of \(asked.text)\(before)"
    return ImageFailure(
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

/// When the next request may begin to keep an even rate: virtual scheduling, the generic cell rate algorithm (ITU-T I.371).
///
/// The schedule has one start per interval. A start that is late because the thread woke late doesn't delay the later ones, so
/// that the average equals the rate. A start later than the tolerance, because nothing waited, restarts the schedule. So two starts are
/// at least an interval minus the tolerance apart, and any period has at most one start more than the rate allows.
struct StartRate {
  /// How late a start may be without delaying the next ones.
  static let toleranceNanoseconds: UInt64 = 5_000_000

  /// The time before which nothing may begin.
  private(set) var next = MonotonicInstant(nanoseconds: 0)

  /// Counts a start; an interval of zero means no rate.
  mutating func start(at now: MonotonicInstant, intervalNanoseconds interval: UInt64) {
    guard interval > 0 else { return }
    let isInTime = now.nanoseconds &- next.nanoseconds <= Self.toleranceNanoseconds
    next = (isInTime ? next : now).advanced(by: .nanoseconds(Int64(clamping: interval)))
  }

  /// Undoes the last start, which made no request.
  mutating func takeBack(intervalNanoseconds interval: UInt64) {
    next = MonotonicInstant(nanoseconds: next.nanoseconds - min(interval, next.nanoseconds))
  }

  /// Changes the interval: the fraction of the current one that is left becomes the same fraction of the new one.
  ///
  /// So between two starts the rate always allows exactly one, and changes allow no burst. An interval of zero means no rate.
  mutating func change(from old: UInt64, to new: UInt64, now: MonotonicInstant) {
    guard next > now else { return }
    let left = old > 0 ? Double(next.since(now).wholeNanoseconds) / Double(old) : 0
    next = now.advanced(by: .nanoseconds(Int64(min((left * Double(new)).rounded(.up), 1e18))))
  }

  /// The interval of a number of starts per second; zero if there is no limit.
  static func intervalNanoseconds(ofRate rate: Double?) -> UInt64 {
    guard let rate else { return 0 }
    return UInt64(min(1e9 / rate, 1e18).rounded(.up))
  }
}

/// The pauses that a host has asked for by 429 and 503 (RFC 6585 and 9110): the end of the last, and their total since others.
struct HostPause {
  /// The time before which it gets no request.
  private(set) var until = MonotonicInstant(nanoseconds: 0)
  /// The total of its pauses since it last responded otherwise.
  private(set) var totalNanoseconds: UInt64 = 0
  /// The number of consecutive requests for a pause. Responses to requests that were running at that time count as one.
  private(set) var timesAsked = 0
  private var lastAsked = MonotonicInstant(nanoseconds: 0)
  /// The status of its last request for a pause; 0 if there was none.
  private(set) var status: UInt16 = 0

  /// Handles the host's request for a pause, in response to a request that began at `begun`.
  mutating func note(begun: MonotonicInstant, now: MonotonicInstant) {
    guard timesAsked == 0 || begun > lastAsked else { return }
    timesAsked += 1
    lastAsked = now
  }

  /// Pauses the host until `time` at least; overlapping pauses count once.
  mutating func extend(until time: MonotonicInstant, status: Int, now: MonotonicInstant) {
    self.status = UInt16(clamping: status)
    guard time > until else { return }
    totalNanoseconds &+= time.since(max(now, until)).wholeNanoseconds
    until = time
  }

  /// Handles any other response, even to an earlier request; the current pause continues.
  mutating func recover() {
    totalNanoseconds = 0
    timesAsked = 0
  }

  func remaining(at now: MonotonicInstant) -> Duration { until.since(now) }

  /// How long a download has to wait for the host in total: its pauses since any other response, and at least the remaining time.
  func total(at now: MonotonicInstant) -> Duration {
    max(.nanoseconds(Int64(clamping: totalNanoseconds)), remaining(at: now))
  }

  /// Whether it ever asked for a pause; needs no clock, so that most hosts cost nothing.
  var isKnown: Bool { until.nanoseconds > 0 }
}

/// The `Retry-After` of a response (RFC 9110, section 10.2.3): seconds, or a date.
enum RetryAfter {
  /// Longer waits are cut to this, so that no calculation overflows.
  private static let maximumSeconds: Int64 = 10 * 365 * 86_400
  /// A date may be closer; shorter waits would let requests follow too fast, since they don't count as retries.
  private static let leastWait = Duration.seconds(1)

  /// The pause that the host asks for; nil for zero and for a date in the past.
  ///
  /// A date is compared with the response's own `Date`, since clocks may differ, or with `now` if there is none.
  static func wait(_ value: ArraySlice<UInt8>, date: ArraySlice<UInt8>?, now: Timestamp) -> Duration? {
    if let seconds = seconds(value) { return seconds > 0 ? .seconds(seconds) : nil }
    guard let until = HTTPDate.time(value) else { return nil }
    let sent = date.flatMap(HTTPDate.time) ?? now
    guard until > sent else { return nil }
    return max(min(until.since(sent), .seconds(maximumSeconds)), leastWait)
  }

  /// Parses a number of seconds, at most the maximum; nil for other text. Some servers send decimals, which are rounded up.
  private static func seconds(_ text: ArraySlice<UInt8>) -> Int64? {
    let isDigit = { (byte: UInt8) in byte &- UInt8(ascii: "0") < 10 }
    let digits = text.prefix(while: isDigit)
    let decimals = text[digits.endIndex...]
    let isNumber = decimals.isEmpty || decimals.first == UInt8(ascii: ".") && decimals.dropFirst().allSatisfy(isDigit)
    guard isNumber, !digits.isEmpty else { return nil }
    let whole = digits.reduce(0) { min($0 * 10 + Int64($1 - UInt8(ascii: "0")), maximumSeconds) }
    return decimals.dropFirst().contains { $0 != UInt8(ascii: "0") } ? min(whole + 1, maximumSeconds) : whole
  }
}
