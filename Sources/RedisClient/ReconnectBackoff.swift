/// How long to wait before the next try to reach a server: from 50 ms, doubled up to 5 s, and drawn evenly from the upper half of
/// that.
///
/// The draw spreads clients that lost their server together; the lower half is left out so that none of them hammers it.
public struct ReconnectBackoff: Sendable {
  /// The wait before the first try is at most this.
  public static let initial = Duration.milliseconds(50)
  /// No wait is longer.
  public static let maximum = Duration.seconds(5)

  private var limit = initial

  /// A backoff before its first wait.
  public init() {}

  /// The next wait.
  public mutating func next() -> Duration {
    var generator = SystemRandomNumberGenerator()
    return next(using: &generator)
  }

  /// The next wait, drawn from `generator`.
  public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    let wait = limit / 2 * Double.random(in: 1...2, using: &generator)
    limit = min(limit * 2, Self.maximum)
    return wait
  }

  /// The server has answered: the next wait is the first again.
  public mutating func reset() { limit = Self.initial }
}
