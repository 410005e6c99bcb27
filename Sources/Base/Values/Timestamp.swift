package import Platform

/// A moment on the monotonic clock, in nanoseconds: for durations and timers, never stored.
///
/// Public, since functions of a package type aren't inlined in other modules, and queues call these for each download.
public struct MonotonicInstant: Sendable, Comparable, Hashable {
  /// Since an arbitrary moment, the same for all threads until the next boot.
  public var nanoseconds: UInt64

  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// Later by `duration`; a negative duration counts as zero, and overflow saturates.
  public func advanced(by duration: Duration) -> MonotonicInstant {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return MonotonicInstant(nanoseconds: overflow ? .max : sum)
  }

  /// The time from `earlier` to this moment; zero if `earlier` is later.
  public func since(_ earlier: MonotonicInstant) -> Duration {
    nanoseconds > earlier.nanoseconds ? .nanoseconds(Int64(clamping: nanoseconds - earlier.nanoseconds)) : .zero
  }

  public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// A calendar time in milliseconds since 1970 (UTC), for times that are stored.
public struct Timestamp: Sendable, Comparable, Hashable {
  /// Since 1970-01-01T00:00:00Z, without leap seconds.
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Converts a reading of the system's clock or a file's time, clamped to the range.
  package init(_ time: timespec) {
    let (product, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1000)
    self.init(milliseconds: overflow ? (time.tv_sec < 0 ? .min : .max) : product &+ Int64(time.tv_nsec) / 1_000_000)
  }

  /// Later by `duration`, earlier if it is negative; overflow saturates.
  public func advanced(by duration: Duration) -> Timestamp {
    let (sum, overflow) = milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
    return Timestamp(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
  }

  /// The time from `earlier` to this moment, negative if `earlier` is later; overflow saturates.
  public func since(_ earlier: Timestamp) -> Duration {
    let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
    return .milliseconds(overflow ? (self < earlier ? .min : .max) : difference)
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }
}

/// The source of the time: the system's clocks, or a test's.
public struct TimeSource: Sendable {
  package var monotonic: @Sendable () -> MonotonicInstant
  /// Reads the calendar time.
  public var wall: @Sendable () -> Timestamp

  /// Creates a source of the calendar time `wall`; durations are measured by the system.
  public init(wall: @escaping @Sendable () -> Timestamp) { self.init(monotonic: Self.system.monotonic, wall: wall) }

  package init(monotonic: @escaping @Sendable () -> MonotonicInstant, wall: @escaping @Sendable () -> Timestamp) {
    (self.monotonic, self.wall) = (monotonic, wall)
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
  /// Whole nanoseconds, clamped to the range; zero for a negative duration.
  public var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : product &+ UInt64(attoseconds / 1_000_000_000)
  }

  /// Whole milliseconds, clamped to the range.
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

/// Exponential backoff: the longest wait before each retry doubles up to a maximum.
///
/// The actual wait is a random part of it, so that clients that failed together don't retry together; see "Exponential Backoff and
/// Jitter" in the AWS Architecture Blog.
public struct Backoff: Sendable, Hashable {
  /// The longest wait before the first retry.
  public var initial: Duration
  /// The longest wait before any retry.
  public var maximum: Duration

  public init(initial: Duration, maximum: Duration) { (self.initial, self.maximum) = (initial, maximum) }

  /// The longest wait before retry `retry`, counted from 0.
  public func limit(beforeRetry retry: Int) -> Duration {
    var limit = initial
    for _ in 0..<max(0, retry) where limit < maximum { limit *= 2 }
    return min(limit, maximum)
  }
}
