import ImagePrimitives
import TestSupport
import WorkQueues

/// A worker that keeps what it is told.
final class PoliteWorker: Sendable {
  struct Rest: Sendable {
    var origin: String
    var duration: Duration
    var status: Int
  }

  struct State: Sendable {
    var starts: [ReservedStarts] = []
    var rests: [Rest] = []
    /// Each time that Redis was away: how many workers there were.
    var away: [Int] = []
    /// Each time that it was back: how many workers there were.
    var back: [Int] = []
    var returns: Int { back.count }
    /// How often the others were back too.
    var othersReturns = 0
    /// Whether it is away now.
    var isAway = false
    /// The sentences of refusals, and how many workers there were.
    var refusals: [String] = []
    var workersAtRefusal: [Int] = []
  }

  /// What it was told.
  private final class Receiver: PolitenessReceiver {
    let state = Watched(State())

    func reserved(_ starts: [ReservedStarts]) { state.withLock { $0.starts += starts } }
    func rests(_ origin: String, for duration: Duration, status: Int) {
      state.withLock { $0.rests.append(Rest(origin: origin, duration: duration, status: status)) }
    }
    func becameUnavailable(workers: Int) {
      state.withLock { state in
        state.away.append(workers)
        state.isAway = true
      }
    }
    func wasRefused(_ why: String, workers: Int) {
      state.withLock { state in
        state.refusals.append(why)
        state.workersAtRefusal.append(workers)
      }
    }
    func becameAvailable(workers: Int) {
      state.withLock { state in
        state.back.append(workers)
        state.isAway = false
      }
    }
    func othersReturned() { state.withLock { $0.othersReturns += 1 } }
  }

  let politeness: SharedPoliteness
  private let receiver = Receiver()

  init(_ place: QueuePlace, options: SharedPoliteness.Options = .init()) throws {
    politeness = try SharedPoliteness(place, options: options, receiver: receiver)
  }

  var state: State { receiver.state.value }

  func wait(for what: String, until condition: @escaping @Sendable (State) -> Bool) async throws {
    try await receiver.state.wait(for: what, until: condition)
  }

  /// Reserves starts, and waits for the answer.
  func reserve(_ count: Int, at origin: String = "https://a", milliseconds: UInt64) async throws -> ReservedStarts {
    let before = state.starts.count
    politeness.reserve([StartReservation(origin: origin, count: count, intervalNanoseconds: milliseconds * 1_000_000)])
    try await wait(for: "reserved starts") { $0.starts.count > before }
    return state.starts[before]
  }
}

extension ReservedStarts {
  /// The moments of all of them.
  var moments: [MonotonicInstant] {
    (0..<count).map { first.advanced(by: .nanoseconds(Int64(intervalNanoseconds) * Int64($0))) }
  }
}
