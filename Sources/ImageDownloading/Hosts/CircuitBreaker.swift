import ImagePrimitives

/// When requests to a host that only fails stop: the circuit breaker of Nygard's "Release It!", with an end.
///
/// Transient failures count, attempt by attempt; 429 and 503, by which a host asks for a pause, neither count nor reset the count,
/// and every other response, 404 included, resets it, even one whose body is cut off.
///
/// A host that can't be reached, as it refuses connections or its name doesn't resolve, is not overloaded: it gets no pauses of this
/// length but, for each retry that the download has, one of its backoff.
public struct CircuitBreaker: Sendable, Hashable {
  /// Consecutive failures after which requests to the host stop; 20 by default, at least 1.
  public var failures: Int
  /// How long they stop before one request tries the host; 30 s by default.
  public var pause: Duration
  /// Failed tries after which the host's other downloads fail as `host-down` without a request; 3 by default, at least 1.
  public var rounds: Int
  /// How long they fail before one request tries the host again; 5 minutes by default. ``ImageDownloader/forgetFailures()`` ends it
  /// sooner.
  public var downFor: Duration

  /// A circuit breaker; a number below 1 is a programmer error and traps where it is used.
  public init(failures: Int = 20, pause: Duration = .seconds(30), rounds: Int = 3, downFor: Duration = .seconds(300)) {
    self.failures = failures
    self.pause = pause
    self.rounds = rounds
    self.downFor = downFor
  }

  /// Never stops requests to a host.
  public static let off = CircuitBreaker(failures: .max)

  /// The longest pause of a host that can't be reached.
  private static let longestUnreachablePause = Duration.seconds(2)

  /// The same for a host that can't be reached, whose downloads have so many retries after such waits; `number` pauses were before.
  func forUnreachable(_ retries: Int, _ backoff: Backoff, pause number: Int) -> CircuitBreaker {
    var rules = self
    rules.rounds = min(rounds, retries)
    rules.pause = min(pause, backoff.limit(beforeRetry: number), Self.longestUnreachablePause)
    return rules
  }
}

/// The state of a ``CircuitBreaker`` for one host.
struct BreakerState {
  private enum State {
    /// It gets requests, and has failed that often in a row.
    case closed(failures: Int)
    /// It gets no request until then; that many tries have failed.
    case open(until: MonotonicInstant, failedTries: Int)
    /// One request tries it.
    case trying(failedTries: Int)
    /// Its downloads fail until then; that many tries have failed.
    case down(until: MonotonicInstant, failedTries: Int)
  }

  private var state = State.closed(failures: 0)

  enum Change: Equatable {
    case none, leftAlone, healed, down
  }

  /// Nothing may begin before this.
  var earliestStart: MonotonicInstant {
    switch state {
    case .open(let until, _), .down(let until, _): until
    case .closed, .trying: MonotonicInstant(nanoseconds: 0)
    }
  }

  /// Whether it gets requests as usual, though some may have failed.
  var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Whether it counts as down, even if the next request may try it.
  var isDown: Bool { if case .down = state { true } else { false } }

  /// Whether there were no failures.
  var isCalm: Bool { if case .closed(0) = state { true } else { false } }

  /// A request begins; the only one that runs where the breaker is not closed.
  mutating func start() {
    switch state {
    case .open(_, let failedTries), .down(_, let failedTries): state = .trying(failedTries: failedTries)
    case .closed, .trying: break
    }
  }

  /// Pauses since its last response.
  var pausesSoFar: Int {
    switch state {
    case .closed: 0
    case .open(_, let failedTries), .trying(let failedTries), .down(_, let failedTries): failedTries + 1
    }
  }

  /// A request has failed transiently. While the breaker is open, failures of earlier requests don't count.
  mutating func fail(by rules: CircuitBreaker, now: MonotonicInstant) -> Change {
    switch state {
    case .closed(let failures):
      guard failures + 1 >= rules.failures else {
        state = .closed(failures: failures + 1)
        return .none
      }
      if rules.rounds == 0 {
        state = .down(until: now.advanced(by: rules.downFor), failedTries: 0)
        return .down
      }
      state = .open(until: now.advanced(by: rules.pause), failedTries: 0)
      return .leftAlone
    case .trying(let failedTries):
      guard failedTries + 1 >= rules.rounds else {
        state = .open(until: now.advanced(by: rules.pause), failedTries: failedTries + 1)
        return .leftAlone
      }
      state = .down(until: now.advanced(by: rules.downFor), failedTries: failedTries)
      return .down
    case .open, .down: return .none
    }
  }

  /// The host has responded, other than by asking for a pause.
  mutating func heal() -> Change {
    if isDown { return .none }
    let change = isClosed ? Change.none : .healed
    state = .closed(failures: 0)
    return change
  }

  /// Forgets all failures.
  mutating func forget() { state = .closed(failures: 0) }

  /// The request that tried it has ended without a result: another may try at once.
  mutating func abandonTry() {
    if case .trying(let failedTries) = state { state = .open(until: MonotonicInstant(nanoseconds: 0), failedTries: failedTries) }
  }
}
