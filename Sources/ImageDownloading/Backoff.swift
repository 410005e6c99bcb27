extension DownloadOptions {
  /// Exponential backoff with full jitter: a wait is drawn evenly from zero to `initial · 2ⁿ`, at most `maximum`.
  ///
  /// The draw spreads clients that failed together; see "Exponential Backoff and Jitter" in the AWS Architecture Blog.
  public struct Backoff: Sendable, Hashable {
    /// The longest wait before the first retry; 500 ms by default.
    public var initial: Duration
    /// The longest wait before any retry; 30 s by default.
    public var maximum: Duration

    /// A backoff between those two.
    public init(initial: Duration = .milliseconds(500), maximum: Duration = .seconds(30)) {
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
}
