import ImagePrimitives

/// What a worker knows of the others: how many there are, and whether each of them knows that Redis is there.
///
/// Where Redis is away each worker begins its part of the rates by itself, until it has found that Redis is back, which it looks
/// for in its own time. So one that is back early has to keep to its part until the last must be back too: what is reserved for
/// it would else come to the others' parts.
struct Attendance {
  enum News: Equatable {
    case none
    /// Redis is back; or, where others may still miss it, there are more workers than was told.
    case returned(workers: Int)
    /// All others must be back too.
    case othersReturned
  }

  private enum Phase {
    case present, away
    case returning(until: MonotonicInstant)
  }

  /// After so long the others must have found Redis too.
  let returnInterval: Duration
  /// This one included; 1 where it was never told.
  private(set) var workers = 1
  private var toldWorkers = 0
  private var phase = Phase.present

  init(returnInterval: Duration) { self.returnInterval = returnInterval }

  /// Whether Redis is away, and that was told.
  var isAway: Bool { if case .away = phase { true } else { false } }

  /// Notes how many workers there are by Redis. One that is just back may have lost the others, which come one by one, and is
  /// not believed that there are fewer.
  mutating func hear(workers count: Int) {
    switch phase {
    case .present: workers = count
    case .away, .returning: workers = max(workers, count)
    }
  }

  /// Redis is away; true where that has to be told, since it is new, or since there are more workers than was told.
  mutating func lose() -> Bool {
    let isNews = !isAway || workers > toldWorkers
    (phase, toldWorkers) = (.away, workers)
    return isNews
  }

  /// Redis has answered all.
  mutating func answer(now: MonotonicInstant) -> News {
    switch phase {
    case .present: return .none
    case .away: phase = .returning(until: now.advanced(by: returnInterval))
    case .returning(let until):
      if now >= until {
        phase = .present
        return .othersReturned
      }
      if workers <= toldWorkers { return .none }
    }
    toldWorkers = workers
    return .returned(workers: workers)
  }
}
