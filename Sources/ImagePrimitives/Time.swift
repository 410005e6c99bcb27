public import Glibc

/// A moment on the monotonic clock, in nanoseconds: for durations and timers, never written down.
public struct MonotonicInstant: Sendable, Comparable, Hashable {
  /// Since some moment in the past, the same for all threads of this boot.
  public var nanoseconds: UInt64

  /// The moment of that reading.
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// Later by `duration`; a negative duration is taken as none, and the far future does not overflow.
  public func advanced(by duration: Duration) -> MonotonicInstant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return MonotonicInstant(nanoseconds: overflow ? .max : sum)
  }

  /// The time from `earlier` to this moment; zero where `earlier` is not earlier.
  public func since(_ earlier: MonotonicInstant) -> Duration {
    nanoseconds > earlier.nanoseconds ? .nanoseconds(Int64(clamping: nanoseconds - earlier.nanoseconds)) : .zero
  }

  /// Earlier moments are less.
  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// A moment of the calendar, in milliseconds since 1970 (UTC): for what is written down.
public struct Timestamp: Sendable, Comparable, Hashable {
  /// Since 1970-01-01T00:00:00Z, leap seconds not counted.
  public var milliseconds: Int64

  /// The moment of that count.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// The moment of a reading of the calendar's clock or of a file's time, clamped to what fits.
  public init(_ time: timespec) {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1000)
    self.init(milliseconds: overflow ? (time.tv_sec < 0 ? .min : .max) : product &+ Int64(time.tv_nsec) / 1_000_000)
  }

  /// Later by `duration`, earlier where it is negative; the far future and past do not overflow.
  public func advanced(by duration: Duration) -> Timestamp {
    let (sum, overflow) = milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
    return Timestamp(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
  }

  /// The time from `earlier` to this moment, negative if `earlier` is later; differences that don't fit are clamped.
  public func since(_ earlier: Timestamp) -> Duration {
    let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
    return .milliseconds(overflow ? (self < earlier ? .min : .max) : difference)
  }

  /// Earlier moments are less.
  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }
}

/// Where the time comes from: the system's clocks, or a test's own.
public struct TimeSource: Sendable {
  /// Reads the monotonic clock.
  public var monotonic: @Sendable () -> MonotonicInstant
  /// Reads the calendar.
  public var wall: @Sendable () -> Timestamp

  /// A source over two clocks.
  public init(monotonic: @escaping @Sendable () -> MonotonicInstant, wall: @escaping @Sendable () -> Timestamp) {
    self.monotonic = monotonic
    self.wall = wall
  }

  /// `CLOCK_MONOTONIC` and `CLOCK_REALTIME`.
  public static let system = TimeSource(
    monotonic: {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return MonotonicInstant(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    },
    wall: {
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      return Timestamp(time)
    }
  )
}

extension Duration {
  /// Whole nanoseconds, clamped to what fits; zero for a negative duration.
  public var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : product &+ UInt64(attoseconds / 1_000_000_000)
  }

  /// Whole milliseconds, clamped to what fits.
  public var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    return overflow ? (seconds < 0 ? .min : .max) : product &+ attoseconds / 1_000_000_000_000_000
  }

  /// Seconds as a floating-point number.
  public var inSeconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}

/// Exponential backoff: how long to wait at most before a try, which doubles from one to the next up to a maximum.
///
/// What is waited is drawn below that, so that clients that failed together do not come back together; see "Exponential Backoff
/// and Jitter" in the AWS Architecture Blog.
public struct Backoff: Sendable, Hashable {
  /// The longest wait before the first retry.
  public var initial: Duration
  /// The longest wait before any retry.
  public var maximum: Duration

  /// A backoff between those two.
  public init(initial: Duration, maximum: Duration) {
    self.initial = initial
    self.maximum = maximum
  }

  /// The longest wait before retry `retry`, counted from 0.
  public func limit(beforeRetry retry: Int) -> Duration {
    var limit = initial
    for _ in 0..<max(0, retry) where limit < maximum { limit *= 2 }
    return min(limit, maximum)
  }
}
