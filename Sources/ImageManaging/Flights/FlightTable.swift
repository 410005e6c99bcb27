import ImageCaching
import Base
import Synchronization

/// A request that waits for a flight.
struct Waiter: Sendable {
  let receiver: any LoadReceiver
  let entry: Entry
  /// The rules for this request: the flight's own, or those of a context that shares its requests.
  let context: LoadContext
}

/// The current flights, by identity and by number, each with its waiters.
///
/// A flight stays until its result is committed, so that a later request either joins it or finds its result in the cache and on the
/// blacklist. Requests of contexts that share may join each other's flights: each is judged by its own rules in the end.
final class FlightTable: Sendable {
  /// The key of look-ups.
  fileprivate struct Index: Hashable {
    let key: CacheKey
    let share: ObjectIdentifier
    /// Whether it reads a cached image: such requests don't wait for flights that use the network.
    let isRead: Bool
  }

  fileprivate struct Underway {
    let flight: Flight
    /// Nil once the first has left.
    var first: Waiter?
    /// Mostly none, which costs nothing.
    var others: [Waiter] = []

    var waiters: [Waiter] { (first.map { [$0] } ?? []) + others }
  }

  fileprivate struct State {
    var entries: [UInt64: Underway] = [:]
    var numbers: [Index: UInt64] = [:]
    /// Numbers aren't reused, since late events of an ended flight may come.
    var nextNumber: UInt64 = 1
  }

  private let state = Mutex(State())

  /// The number of current flights.
  var count: Int { state.withLock { $0.entries.count } }

  /// For each of `keys`, whether it is in flight for `context`; nil if there are no flights at all.
  func marks(of keys: some Sequence<CacheKey>, for context: LoadContext) -> [Bool]? {
    state.withLock { state in
      if state.numbers.isEmpty { return nil }
      let share = ObjectIdentifier(context.share)
      return keys.map { state.numbers[Index(key: $0, share: share, isRead: false)] != nil }
    }
  }

  /// The outcome of a request for a flight.
  enum Joined {
    /// It shares the flight of that number; `raises` if it is more urgent than that was.
    case shared(UInt64, raises: Bool)
    /// Its own flight has begun, with this number.
    case began(UInt64)
    /// The flight that it relied on has ended: its result must be looked up.
    case ended
  }

  /// Adds the entry of each of `flights` to the current flight of its identity, or else starts that flight; atomically.
  ///
  /// - Parameter mustShare: whether the flight of that index relied on another flight of its identity at the look-up.
  func join(_ flights: [Flight], receiver: any LoadReceiver, mustShare: (Int) -> Bool) -> [Joined] {
    state.withLock { state in
      flights.indices.map { index in
        let flight = flights[index]
        let waiter = Waiter(receiver: receiver, entry: flight.entry, context: flight.context)
        return state.join(flight, waiter, mustShare: mustShare(index))
      }
    }
  }

  /// The flight of that number; nil once it has ended.
  func flight(_ number: UInt64) -> Flight? { state.withLock { $0.entries[number]?.flight } }

  /// The current waiters of the flight of that number.
  func waiters(_ number: UInt64) -> [Waiter] { state.withLock { $0.entries[number]?.waiters ?? [] } }

  /// A flight that has ended, with its waiters in the order in which they joined.
  struct Ended {
    let flight: Flight
    let waiters: [Waiter]
  }

  /// Ends flights; nil for one that had ended before.
  func end(_ numbers: [UInt64]) -> [Ended?] {
    state.withLock { state in numbers.map { state.end($0) } }
  }

  /// The outcome of a request to leave a flight.
  enum Left {
    /// It wasn't a waiter: its completion has come or is about to.
    case notThere
    case left
    /// It was the last; the flight was stopped, and no request joins it any more.
    case last
  }

  /// Removes a waiter from a flight.
  func leave(_ number: UInt64, _ receiver: any LoadReceiver) -> Left {
    state.withLock { $0.leave(number) { $0.receiver === receiver } }
  }

  /// Stops all flights and returns their numbers. No request joins them any more.
  func stopAll() -> [UInt64] {
    state.withLock { state in
      for entry in state.entries.values { entry.flight.stop(.now) }
      state.numbers.removeAll(keepingCapacity: true)
      return Array(state.entries.keys)
    }
  }

  /// The effect of removing a receiver.
  struct Stopped {
    /// Flights without other waiters; no request joins them any more.
    var numbers: [UInt64] = []
    /// Entries that were removed from flights with other waiters.
    var left: [Entry] = []
  }

  /// Stops all flights that only `receiver` waits for; with `now` it also leaves those that it shares with others. `isMeant` selects
  /// entries of the receiver.
  func stop(
    _ stop: Flight.Stop,
    for receiver: any LoadReceiver,
    where isMeant: (Entry) -> Bool = { _ in true }
  ) -> Stopped {
    state.withLock { state in
      var stopped = Stopped()
      for (number, entry) in state.entries {
        let isLeaving = { (waiter: Waiter) in waiter.receiver === receiver && isMeant(waiter.entry) }
        let own = entry.waiters.filter(isLeaving)
        guard !own.isEmpty else { continue }
        if own.count == (entry.first == nil ? 0 : 1) + entry.others.count {
          entry.flight.stop(stop)
          // Later requests start over instead of getting a cancellation; a running transfer is shared below.
          state.forget(number, entry)
          stopped.numbers.append(number)
        } else if stop == .now {
          _ = state.leave(number, isLeaving)
          stopped.left += own.map(\.entry)
        }
      }
      return stopped
    }
  }
}

extension FlightTable.State {
  fileprivate mutating func join(_ flight: Flight, _ waiter: Waiter, mustShare: Bool) -> FlightTable.Joined {
    let index = FlightTable.Index(flight)
    let number = numbers[index]
    // Another identity with the same hash has a flight of its own that no request joins.
    if let number, entries[number]!.flight.identity == flight.identity {
      entries[number]!.others.append(waiter)
      return .shared(number, raises: entries[number]!.flight.raise(to: waiter.entry.priority))
    }
    if mustShare, number == nil { return .ended }
    let newNumber = nextNumber
    nextNumber += 1
    if number == nil { numbers[index] = newNumber }
    entries[newNumber] = FlightTable.Underway(flight: flight, first: waiter)
    return .began(newNumber)
  }

  fileprivate mutating func end(_ number: UInt64) -> FlightTable.Ended? {
    guard let entry = entries.removeValue(forKey: number) else { return nil }
    forget(number, entry)
    return FlightTable.Ended(flight: entry.flight, waiters: entry.waiters)
  }

  fileprivate mutating func leave(_ number: UInt64, _ isLeaving: (Waiter) -> Bool) -> FlightTable.Left {
    guard var entry = entries[number] else { return .notThere }
    let before = entry.waiters.count
    if let first = entry.first, isLeaving(first) { entry.first = nil }
    entry.others.removeAll(where: isLeaving)
    let after = entry.waiters.count
    if after == before { return .notThere }
    entries[number] = entry
    if after > 0 { return .left }
    entry.flight.stop(.now)
    // Later requests start over instead of getting a cancellation.
    forget(number, entry)
    return .last
  }

  fileprivate mutating func forget(_ number: UInt64, _ entry: FlightTable.Underway) {
    let index = FlightTable.Index(entry.flight)
    if numbers[index] == number { numbers[index] = nil }
  }
}

extension FlightTable.Index {
  fileprivate init(_ flight: Flight) {
    self.init(key: flight.key, share: ObjectIdentifier(flight.context.share), isRead: flight.copy != nil)
  }
}
