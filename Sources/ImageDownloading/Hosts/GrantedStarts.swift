import ImagePrimitives

/// The starts that an authority has granted, at one host or over all of them, and that are not used.
struct GrantedStarts {
  /// What is not used for so long after its time is lost: a burst of what is late would break the rate that others keep to.
  static let lifetimeNanoseconds: UInt64 = 1_000_000_000
  /// What is asked for at once is for so long at most, or one start.
  private static let batchNanoseconds: UInt64 = 100_000_000

  /// What is asked of the authority.
  enum Demand {
    case none
    /// It is to be asked.
    case wanted
    /// It was asked, and has not answered.
    case asked
  }

  private(set) var demand = Demand.none
  /// When a start was last wanted that was not there.
  private var wantedSince = MonotonicInstant(nanoseconds: 0)
  /// The moment of the first that is not used.
  private(set) var next = MonotonicInstant(nanoseconds: 0)
  private var intervalNanoseconds: UInt64 = 0
  private var left = 0

  /// Whether there is one, be its time still to come.
  ///
  /// One that was still good when another, which is needed too, was first wanted, waits for it: each would else be lost while the
  /// other is to come, time and again.
  func isUsable(_ now: MonotonicInstant, with other: AwaitedStart? = nil) -> Bool {
    guard left > 0 else { return false }
    let end = Self.end(of: next)
    return now <= end || other.map { $0.wantedSince <= end && now <= $0.end } ?? false
  }

  /// For what else has to wait that needs one of these; nil where none is to come.
  var awaited: AwaitedStart? {
    switch demand {
    case .wanted, .asked: AwaitedStart(wantedSince: wantedSince, end: MonotonicInstant(nanoseconds: .max))
    case .none: left > 0 ? AwaitedStart(wantedSince: wantedSince, end: Self.end(of: next)) : nil
    }
  }

  private static func end(of moment: MonotonicInstant) -> MonotonicInstant {
    moment.advanced(by: .nanoseconds(Int64(lifetimeNanoseconds)))
  }

  /// Whether there is one only since its time is to come.
  func isWaitedFor(_ now: MonotonicInstant) -> Bool { demand == .asked || left > 0 && next > now }

  /// So many starts are asked for, of `waiting` that want one.
  static func batch(waiting: Int, intervalNanoseconds interval: UInt64) -> Int {
    max(1, min(waiting, Int(clamping: batchNanoseconds / max(1, interval))))
  }

  /// Notes that a start is wanted; true where that is new.
  mutating func want(_ now: MonotonicInstant) -> Bool {
    guard demand == .none else { return false }
    (demand, wantedSince) = (.wanted, now)
    return true
  }

  /// Notes that the authority is asked; or, where nothing is to be begun after all, that it is not.
  mutating func ask(_ isAsked: Bool) { demand = isAsked ? .asked : .none }

  /// Takes an answer; where some of an earlier one is left, that goes on alone.
  mutating func grant(_ grant: StartGrant, now: MonotonicInstant) {
    demand = .none
    dropExpired(now)
    guard left == 0 else { return }
    (next, left, intervalNanoseconds) = (grant.first, grant.count, grant.intervalNanoseconds)
    dropExpired(now)
  }

  /// Forgets all.
  mutating func drop() { (left, next) = (0, MonotonicInstant(nanoseconds: 0)) }

  /// Forgets those that are too late.
  mutating func dropExpired(_ now: MonotonicInstant) {
    while left > 0, !isUsable(now) { use() }
  }

  /// One is used.
  mutating func use() {
    left -= 1
    next = next.advanced(by: .nanoseconds(Int64(clamping: intervalNanoseconds)))
  }

  /// The last one was not used after all.
  mutating func takeBack() {
    left += 1
    next = MonotonicInstant(nanoseconds: next.nanoseconds - min(intervalNanoseconds, next.nanoseconds))
  }
}

/// A start that is to be granted, or is and has its time.
struct AwaitedStart: Equatable {
  /// When it was first wanted.
  var wantedSince: MonotonicInstant
  /// It cannot be used after this; the end of time where it is not granted.
  var end: MonotonicInstant
}
