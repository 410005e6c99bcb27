import Base

/// When requests to a host that keeps failing stop: the circuit breaker of Nygard's "Release It!", with an end.
///
/// Each attempt that fails transiently counts. 429 and 503, which ask for a pause, neither count nor reset the count; every other
/// response resets it, 404 included, even if its body is cut off.
///
/// A host that can't be reached (connection refused, name not resolved) isn't overloaded, so its pauses are shorter: one per retry
/// of the download, each at most as long as its backoff and 2 s.
package struct CircuitBreaker: Sendable, Hashable {
  /// Consecutive failures after which requests to the host stop; 20 by default, at least 1.
  package var failures: Int
  /// How long they stop before one request tries the host; 30 s by default.
  package var pause: Duration
  /// Failed tries after which the host's other downloads fail as `host-down` without a request; 3 by default, at least 1.
  package var rounds: Int
  /// How long they fail before one request tries the host again; 5 minutes by default. See ``ImageDownloader/forgetFailures()``.
  package var downFor: Duration

  /// Creates a circuit breaker; a number below 1 traps when it is used.
  package init(failures: Int = 20, pause: Duration = .seconds(30), rounds: Int = 3, downFor: Duration = .seconds(300)) {
    self.failures = failures
    self.pause = pause
    self.rounds = rounds
    self.downFor = downFor
  }

  private static let longestUnreachablePause = Duration.seconds(2)

  /// The rules for an unreachable host whose downloads have `retries` retries, before its pause `number`, counted from 0.
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
    /// Gets requests; `failures` in a row have failed.
    case closed(failures: Int)
    /// Gets no requests until then; `failedTries` have failed.
    case open(until: MonotonicInstant, failedTries: Int)
    /// One request is trying it.
    case trying(failedTries: Int)
    /// Its downloads fail until then; `failedTries` have failed.
    case down(until: MonotonicInstant, failedTries: Int)
  }

  private var state = State.closed(failures: 0)

  enum Change: Equatable {
    case none, paused, recovered, down
  }

  var earliestStart: MonotonicInstant {
    switch state {
    case .open(let until, _), .down(let until, _): until
    case .closed, .trying: MonotonicInstant(nanoseconds: 0)
    }
  }

  /// Whether it gets requests as usual, even if some have failed.
  var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Whether it counts as down, even if the next request may try it.
  var isDown: Bool { if case .down = state { true } else { false } }

  /// Whether there are no failures.
  var isCalm: Bool { if case .closed(0) = state { true } else { false } }

  /// Handles the start of a request; only one runs if the breaker isn't closed.
  mutating func start() {
    switch state {
    case .open(_, let failedTries), .down(_, let failedTries): state = .trying(failedTries: failedTries)
    case .closed, .trying: break
    }
  }

  /// The number of pauses since its last response.
  var pausesSoFar: Int {
    switch state {
    case .closed: 0
    case .open(_, let failedTries), .trying(let failedTries), .down(_, let failedTries): failedTries + 1
    }
  }

  /// Handles a transient failure. While the breaker is open, failures of earlier requests don't count.
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
      return .paused
    case .trying(let failedTries):
      guard failedTries + 1 >= rules.rounds else {
        state = .open(until: now.advanced(by: rules.pause), failedTries: failedTries + 1)
        return .paused
      }
      state = .down(until: now.advanced(by: rules.downFor), failedTries: failedTries)
      return .down
    case .open, .down: return .none
    }
  }

  /// Handles a response that doesn't ask for a pause.
  mutating func recover() -> Change {
    if isDown { return .none }
    let change = isClosed ? Change.none : .recovered
    state = .closed(failures: 0)
    return change
  }

  mutating func forget() { state = .closed(failures: 0) }

  /// The request that tried the host has ended without a result: another may try at once.
  mutating func abandonTry() {
    if case .trying(let failedTries) = state { state = .open(until: MonotonicInstant(nanoseconds: 0), failedTries: failedTries) }
  }
}
