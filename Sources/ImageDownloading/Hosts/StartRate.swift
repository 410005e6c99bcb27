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
  /// The moment of the last start, by the schedule.
  private var last: MonotonicInstant?

  /// Counts a start; an interval of zero is no rate.
  mutating func start(at now: MonotonicInstant, intervalNanoseconds interval: UInt64) {
    guard interval > 0 else { return }
    let isInTime = now.nanoseconds &- next.nanoseconds <= Self.toleranceNanoseconds
    let start = isInTime ? next : now
    last = start
    next = start.advanced(by: .nanoseconds(Int64(clamping: interval)))
  }

  /// Takes back the last start, from which no request came.
  mutating func takeBack(intervalNanoseconds interval: UInt64) {
    next = MonotonicInstant(nanoseconds: next.nanoseconds - min(interval, next.nanoseconds))
    last = last.map { MonotonicInstant(nanoseconds: $0.nanoseconds - min(interval, $0.nanoseconds)) }
  }

  /// Goes on with another interval, from the last start on. So an interval that is shorter for a moment lets nothing begin early
  /// once it is the longer one again.
  mutating func change(intervalNanoseconds interval: UInt64) {
    guard let last else { return }
    next = last.advanced(by: .nanoseconds(Int64(clamping: interval)))
  }

  /// Lets nothing begin before `time`.
  mutating func postpone(until time: MonotonicInstant) { next = max(next, time) }

  /// The interval of a number of starts a second; zero where there is no limit.
  static func intervalNanoseconds(ofRate rate: Double?) -> UInt64 {
    guard let rate else { return 0 }
    return UInt64(min(1e9 / rate, 1e18).rounded(.up))
  }
}
