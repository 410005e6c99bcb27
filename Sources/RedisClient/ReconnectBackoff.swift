public import ImagePrimitives

/// How long to wait before the next try to reach a server: drawn evenly from the upper half of what the backoff allows.
///
/// The lower half is left out so that no client hammers a server that many have lost together.
public struct ReconnectBackoff: Sendable {
  /// From 50 ms up to 5 s.
  public static let limits = Backoff(initial: .milliseconds(50), maximum: .seconds(5))

  /// Tries since the server answered last.
  private var tries = 0

  /// A backoff before its first wait.
  public init() {}

  /// The next wait.
  public mutating func next() -> Duration {
    var generator = SystemRandomNumberGenerator()
    return next(using: &generator)
  }

  /// The next wait, drawn from `generator`.
  public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    defer { tries += 1 }
    return Self.limits.limit(beforeRetry: tries) / 2 * Double.random(in: 1...2, using: &generator)
  }

  /// The server has answered: the next wait is the first again.
  public mutating func reset() { tries = 0 }
}
