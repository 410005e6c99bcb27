public import Base
import Synchronization

/// A clock that advances only when a test moves it.
public final class ManualClock: Sendable {
  private let elapsed = Mutex(Duration.zero)
  private let start: Timestamp

  /// A clock with the calendar time `start` and a monotonic time of zero.
  public init(start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)) { self.start = start }

  public func advance(by duration: Duration) { elapsed.withLock { $0 += duration } }

  public var source: TimeSource {
    TimeSource(
      monotonic: { MonotonicInstant(nanoseconds: 1).advanced(by: self.elapsed.withLock { $0 }) },
      wall: { self.start.advanced(by: self.elapsed.withLock { $0 }) }
    )
  }
}
