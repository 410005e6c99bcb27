public import ImagePrimitives
import Synchronization

/// A clock that stands still until a test moves it.
public final class ManualClock: Sendable {
  private let elapsed = Mutex(Duration.zero)
  private let start: Timestamp

  /// A clock that shows `start` on the calendar and zero on the monotonic clock.
  public init(start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)) { self.start = start }

  /// Moves both clocks on by `duration`.
  public func advance(by duration: Duration) { elapsed.withLock { $0 += duration } }

  /// This clock as a source of time.
  public var source: TimeSource {
    TimeSource(
      monotonic: { MonotonicInstant(nanoseconds: 1).advanced(by: self.elapsed.withLock { $0 }) },
      wall: { self.start.advanced(by: self.elapsed.withLock { $0 }) }
    )
  }
}
