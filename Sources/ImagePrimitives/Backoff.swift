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
