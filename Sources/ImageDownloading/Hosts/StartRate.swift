import ImagePrimitives

/// When the next request may begin, so that a rate is kept evenly: virtual scheduling, as the generic cell rate algorithm has it
/// (ITU-T I.371), of depth 1.
///
/// Starts have a schedule of one an interval. One that comes late, since the thread woke late, does not put off those after it,
/// so that the average is the rate; but one that comes later than the tolerance, since nothing waited, begins the schedule anew.
/// So no two starts are closer than an interval less the tolerance, and of any time there are no more than the rate allows, and
/// one.
struct StartRate {
  /// What a start may be late without putting off the others.
  static let toleranceNanoseconds: UInt64 = 5_000_000

  /// Nothing may begin before this.
  private(set) var next = MonotonicInstant(nanoseconds: 0)

  /// Counts a start; an interval of zero is no rate.
  mutating func start(at now: MonotonicInstant, intervalNanoseconds interval: UInt64) {
    guard interval > 0 else { return }
    let isInTime = now.nanoseconds &- next.nanoseconds <= Self.toleranceNanoseconds
    next = (isInTime ? next : now).advanced(by: .nanoseconds(Int64(clamping: interval)))
  }

  /// Takes back the last start, from which no request came.
  mutating func takeBack(intervalNanoseconds interval: UInt64) {
    next = MonotonicInstant(nanoseconds: next.nanoseconds - min(interval, next.nanoseconds))
  }

  /// Goes on with another interval: the part of the present one that is left stays that part of the new one.
  ///
  /// So between two starts the rate always allows one whole start, however often it changes, and a rate that is changed again and again
  /// allows no burst. An interval of zero is no rate.
  mutating func change(from old: UInt64, to new: UInt64, now: MonotonicInstant) {
    guard next > now else { return }
    let left = old > 0 ? Double(next.since(now).wholeNanoseconds) / Double(old) : 0
    next = now.advanced(by: .nanoseconds(Int64(min((left * Double(new)).rounded(.up), 1e18))))
  }

  /// The interval of a number of starts a second; zero where there is no limit.
  static func intervalNanoseconds(ofRate rate: Double?) -> UInt64 {
    guard let rate else { return 0 }
    return UInt64(min(1e9 / rate, 1e18).rounded(.up))
  }
}
