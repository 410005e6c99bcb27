import ImagePrimitives

/// What a ``CircuitBreaker`` has come to for one host.
struct BreakerState {
  private enum State {
    /// It is asked, and has failed so often in a row.
    case closed(failures: Int)
    /// It is left alone until then; that many tries have failed.
    case open(until: MonotonicInstant, failedTries: Int)
    /// One request tries it.
    case trying(failedTries: Int)
    /// What is to be asked of it fails until then; that many tries have failed.
    case down(until: MonotonicInstant, failedTries: Int)
  }

  private var state = State.closed(failures: 0)

  /// What changed.
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

  /// Whether it is asked as if nothing were, though it may have failed.
  var isClosed: Bool { if case .closed = state { true } else { false } }

  /// Whether it is given up, be it that the next request may try it.
  var isDown: Bool { if case .down = state { true } else { false } }

  /// Whether it knows of nothing bad.
  var isCalm: Bool { if case .closed(0) = state { true } else { false } }

  /// A request begins; the only one that runs where the breaker is not closed.
  mutating func start() {
    switch state {
    case .open(_, let failedTries), .down(_, let failedTries): state = .trying(failedTries: failedTries)
    case .closed, .trying: break
    }
  }

  /// A request has failed in a way that may heal. While the host is left alone, those begun before say nothing new.
  mutating func fail(by rules: CircuitBreaker, now: MonotonicInstant) -> Change {
    switch state {
    case .closed(let failures):
      guard failures + 1 >= rules.failures else {
        state = .closed(failures: failures + 1)
        return .none
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

  /// The host has answered, other than by asking for a pause.
  mutating func heal() -> Change {
    if isDown { return .none }
    let change = isClosed ? Change.none : .healed
    state = .closed(failures: 0)
    return change
  }

  /// Goes on as if it had never failed.
  mutating func forget() { state = .closed(failures: 0) }

  /// The request that tried it has ended and told nothing: another may try at once.
  mutating func abandonTry() {
    if case .trying(let failedTries) = state { state = .open(until: MonotonicInstant(nanoseconds: 0), failedTries: failedTries) }
  }
}
