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

  var demand = Demand.none
  /// The moment of the first that is not used.
  private(set) var next = MonotonicInstant(nanoseconds: 0)
  private var intervalNanoseconds: UInt64 = 0
  private var left = 0

  /// Whether there is one, be its time still to come.
  func isUsable(_ now: MonotonicInstant) -> Bool {
    left > 0 && (now <= next || now.nanoseconds - next.nanoseconds <= Self.lifetimeNanoseconds)
  }

  /// Whether there is one only since its time is to come.
  func isWaitedFor(_ now: MonotonicInstant) -> Bool { demand == .asked || left > 0 && next > now }

  /// So many starts are asked for, of `waiting` that want one.
  static func batch(waiting: Int, intervalNanoseconds interval: UInt64) -> Int {
    max(1, min(waiting, Int(clamping: batchNanoseconds / max(1, interval))))
  }

  /// Takes an answer; where some of an earlier one is left, that goes on alone.
  mutating func grant(_ grant: StartGrant, now: MonotonicInstant) {
    demand = .none
    dropExpired(now)
    guard left == 0 else { return }
    (next, left, intervalNanoseconds) = (grant.first, grant.count, grant.intervalNanoseconds)
    dropExpired(now)
  }

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
