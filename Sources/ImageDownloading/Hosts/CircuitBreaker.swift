/// When a host that does nothing but fail is left alone: the pattern of Nygard's "Release It!", with an end.
///
/// Failures that may heal count, attempt by attempt; 429 and 503, by which a host asks for a pause, neither count nor set the
/// count back, and every other answer, 404 included, sets it back.
public struct CircuitBreaker: Sendable, Hashable {
  /// So many failures in a row leave the host alone; 20 by default, at least 1.
  public var failures: Int
  /// For how long it is left, before one request tries it; 30 s by default.
  public var pause: Duration
  /// After so many tries that failed too, its other downloads fail as `host-down` without being asked; 3 by default, at least 1.
  public var rounds: Int
  /// For how long they do, before one request tries it again; 5 minutes by default. ``ImageDownloader/forgetFailures()`` ends it
  /// sooner.
  public var downFor: Duration

  /// A circuit breaker; a number below 1 is a programmer's error and traps where it is used.
  public init(failures: Int = 20, pause: Duration = .seconds(30), rounds: Int = 3, downFor: Duration = .seconds(300)) {
    self.failures = failures
    self.pause = pause
    self.rounds = rounds
    self.downFor = downFor
  }

  /// What never leaves a host alone.
  public static let off = CircuitBreaker(failures: .max)
}
