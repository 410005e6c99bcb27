import ImagePrimitives

/// When the next request may begin, at one host or over all: by a rate of our own, or by what an authority grants within a rate
/// that others share.
///
/// What is granted keeps to our own schedule too. So starts that are late, since the thread woke late or limits had no room, do
/// not come in a burst.
struct StartPace {
  private var rate = StartRate()
  private(set) var granted = GrantedStarts()

  /// Nothing may begin before this; where starts are granted, it holds once there are any.
  func next(_ rule: PaceRule) -> MonotonicInstant { rule.isGranted ? max(rate.next, granted.next) : rate.next }

  /// Whether nothing may begin for want of a grant. One who keeps to a part needs none before its time by that: what is granted
  /// long before would be lost until then.
  func lacksGrant(_ rule: PaceRule, now: MonotonicInstant) -> Bool {
    guard rule.isGranted, !rule.isPart || rate.next <= now else { return false }
    return !granted.isUsable(now, with: rule.awaited)
  }

  /// Whether a pace that begins now would allow more.
  func isWorthKeeping(_ rule: PaceRule, now: MonotonicInstant) -> Bool {
    rate.next > now || rule.isGranted && granted.isWaitedFor(now)
  }

  /// A request begins.
  mutating func start(_ rule: PaceRule, now: MonotonicInstant) {
    rate.start(at: now, intervalNanoseconds: rule.intervalNanoseconds)
    if rule.isGranted { granted.use() }
  }

  /// The last start has come to no request.
  mutating func takeBack(_ rule: PaceRule) {
    rate.takeBack(intervalNanoseconds: rule.intervalNanoseconds)
    if rule.isGranted { granted.takeBack() }
  }

  /// Goes on with another rule, be it by another's grants. What is granted stays; what was asked for may never be answered.
  mutating func change(_ rule: PaceRule) {
    rate.change(intervalNanoseconds: rule.intervalNanoseconds)
    granted.ask(false)
  }

  /// Goes on by another authority: what was granted before is for times when the others may count on what this one has now.
  mutating func change(_ rule: PaceRule, notBefore time: MonotonicInstant) {
    change(rule)
    granted.drop()
    rate.postpone(until: time)
  }

  // MARK: Grants

  /// Notes that a start is wanted; true where that is new.
  @discardableResult
  mutating func want(_ now: MonotonicInstant) -> Bool { granted.want(now) }

  /// Whether the authority is to be asked.
  var wantsGrant: Bool { granted.demand == .wanted }

  /// Notes that the authority is asked; or, where nothing is to be begun after all, that it is not.
  mutating func ask(_ isAsked: Bool) { granted.ask(isAsked) }

  /// Takes what the authority grants.
  mutating func grant(_ grant: StartGrant, now: MonotonicInstant) { granted.grant(grant, now: now) }
}

/// What a ``StartPace`` keeps to.
struct PaceRule {
  /// Between two starts of one's own; zero without a rate.
  var intervalNanoseconds: UInt64 = 0
  /// Whether each start has to be granted.
  var isGranted = false
  /// Between two starts of all that share the rate.
  var sharedNanoseconds: UInt64 = 0
  /// What a start has to wait for besides, where that is granted too.
  var awaited: AwaitedStart?

  /// Whether it keeps to a part of what may be granted.
  var isPart: Bool { isGranted && intervalNanoseconds > sharedNanoseconds }
}
