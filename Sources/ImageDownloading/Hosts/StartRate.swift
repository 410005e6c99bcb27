import Base

/// When the next request may begin to keep an even rate: virtual scheduling, as in the generic cell rate algorithm (ITU-T I.371), of
/// depth 1.
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
  /// So between two starts the rate always allows exactly one start, and repeated changes of the rate allow no burst. An interval of
  /// zero means no rate.
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
