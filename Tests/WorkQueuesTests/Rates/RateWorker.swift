import ImagePrimitives
import RedisClient
import TestSupport

@testable import WorkQueues

/// A worker that records its notifications.
final class RateWorker: Sendable {
  struct State: Sendable {
    var part = 0.0
    var pauses: [MembershipReply.Pause] = []
    /// The sentences of refusals, and the numbers of workers.
    var refusals: [String] = []
    var workersAtRefusal: [Int] = []
  }

  private final class Observer: SharedRatesObserver {
    let state = Watched(State())

    func partChanged(_ part: Double) { state.withLock { $0.part = part } }
    func hostPaused(_ origin: String, for duration: Duration, status: Int) {
      state.withLock { $0.pauses.append(.init(origin: origin, duration: duration, status: status)) }
    }
    func wasRefused(_ why: String, workers: Int) {
      state.withLock { state in
        state.refusals.append(why)
        state.workersAtRefusal.append(workers)
      }
    }
  }

  let rates: SharedRates
  private let observer = Observer()

  init(_ location: QueueLocation, options: SharedRates.Options = .init(), hasWork: Bool = true) throws {
    rates = try SharedRates(location, options: options, observer: observer)
    rates.setHasWork(hasWork)
  }

  var state: State { observer.state.value }

  func wait(for what: String, until condition: @escaping @Sendable (State) -> Bool) async throws {
    try await observer.state.wait(for: what, until: condition)
  }

  func wait(forPart part: Int) async throws {
    try await wait(for: "a part of \(part)") { $0.part == Double(part) / Double(WorkerMembership.whole) }
  }
}

/// A worker as the script sees it; the test sends its heartbeats.
struct ScriptedWorker {
  let name: String
  let connection: RedisConnection
  let keys: RateKeys
  var part = 0
  var lastPause = MembershipScripts.firstPause

  init(_ name: String, _ fixture: QueueFixture) throws {
    self.name = name
    connection = try fixture.connection()
    keys = RateKeys(fixture.location.name)
  }

  /// Sends a heartbeat, and uses the granted part; returns the reply.
  @discardableResult
  mutating func beat(hasWork: Bool = true, lease: Int = 3_600_000, returning: Int = 3_600_000) throws -> MembershipReply? {
    let reply = try connection.run(
      MembershipScripts.beat,
      keys: [keys.members, keys.pauses],
      [RedisArgument(name), hasWork ? 1 : 0, RedisArgument(part), RedisArgument(lease), RedisArgument(returning), lastPause]
    )
    let answer = MembershipReply(reply)
    part = answer?.part ?? part
    lastPause = answer?.lastPause ?? lastPause
    return answer
  }
}
