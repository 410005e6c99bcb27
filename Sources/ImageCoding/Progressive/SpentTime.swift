import Glibc

/// The processor time that a file has taken, over calls that may come on different threads.
struct SpentTime {
  private let limits: DecodingLimits
  private var spent = Duration.zero

  init(_ limits: DecodingLimits) { self.limits = limits }

  /// Calls `body` with the deadline that is left.
  mutating func spend<Result>(_ body: (DecodingDeadline) throws(ImageError) -> Result) throws(ImageError) -> Result {
    let start = Self.now
    defer { spent += Self.now - start }
    return try body(DecodingDeadline(limits, spent: spent))
  }

  private static var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}
