import ImageCaching
import ImagePrimitives
import ImageURLs
import Synchronization

/// Who waits for a flight.
struct Waiter: Sendable {
  let receiver: any LoadReceiver
  let entry: Entry
  /// Whose rules hold for this one; the flight's own, or those of a context that shares its requests.
  let context: LoadContext
}

/// The flights under way, found by identity and by number, each with those who share it.
///
/// A flight stays until its result is committed, so that whoever asks later either joins it or finds in the cache and on the
/// blacklist what came of it. Requests of contexts that share may join each other's flights: each is judged by its own rules in the end.
final class FlightTable: Sendable {
  /// What a flight is found by.
  fileprivate struct Index: Hashable {
    let key: CacheKey
    let share: ObjectIdentifier
    /// Whether it reads what is cached: who finds something cached does not wait for who asks the network.
    let isRead: Bool
  }

  fileprivate struct Underway {
    let flight: Flight
    /// nil once the first has left.
    var first: Waiter?
    /// Mostly none, which costs nothing.
    var others: [Waiter] = []

    var waiters: [Waiter] { (first.map { [$0] } ?? []) + others }
  }

  fileprivate struct State {
    var entries: [UInt64: Underway] = [:]
    var numbers: [Index: UInt64] = [:]
    /// Numbers are not used again, as late events of an ended flight could come.
    var nextNumber: UInt64 = 1
  }

  private let state = Mutex(State())

  /// How many flights are under way.
  var count: Int { state.withLock { $0.entries.count } }

  /// Which of `keys` are in flight for `context`, a mark for each; nil where nothing is in flight at all.
  func marks(of keys: some Sequence<CacheKey>, for context: LoadContext) -> [Bool]? {
    state.withLock { state in
      if state.numbers.isEmpty { return nil }
      let share = ObjectIdentifier(context.share)
      return keys.map { state.numbers[Index(key: $0, share: share, isRead: false)] != nil }
    }
  }

  /// What became of a request for a flight.
  enum Joined {
    /// It shares the flight of that number; `raises` where it is more urgent than that was.
    case shared(UInt64, raises: Bool)
    /// Its own flight is under way from now on, as this number.
    case began(UInt64)
    /// The flight that it was left out of the look-up for has ended since: what came of it is to be looked up.
    case ended
  }

  /// Adds the entry of each of `flights` to the flight of its identity that is under way, or else begins that flight; all in one step.
  ///
  /// - Parameter mustShare: whether a flight, by its index, was left out of the look-up, because its identity was in flight.
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

  /// Who shares the flight of that number now.
  func waiters(_ number: UInt64) -> [Waiter] { state.withLock { $0.entries[number]?.waiters ?? [] } }

  /// A flight that has ended, with those who shared it, in the order in which they came.
  struct Ended {
    let flight: Flight
    let waiters: [Waiter]
  }

  /// Ends flights; nil for one that had ended before.
  func end(_ numbers: [UInt64]) -> [Ended?] {
    state.withLock { state in numbers.map { state.end($0) } }
  }

  /// What became of a request to leave a flight.
  enum Left {
    /// It was not there: its completion has come or is on its way.
    case notThere
    case left
    /// It was the last; the flight has been told to stop, and nobody joins it any more.
    case last
  }

  /// Takes a waiter away from a flight.
  func leave(_ number: UInt64, _ receiver: any LoadReceiver) -> Left {
    state.withLock { $0.leave(number) { $0.receiver === receiver } }
  }

  /// Tells all flights to stop, and gives their numbers. Nobody joins them any more.
  func stopAll() -> [UInt64] {
    state.withLock { state in
      for entry in state.entries.values { entry.flight.stop(.now) }
      state.numbers.removeAll(keepingCapacity: true)
      return Array(state.entries.keys)
    }
  }

  /// What a receiver's leaving has done.
  struct Stopped {
    /// Flights that nobody else waits for, nor joins any more.
    var numbers: [UInt64] = []
    /// Entries that were taken away from flights which others wait for.
    var left: [Entry] = []
  }

  /// Tells all flights to stop that `receiver` alone waits for; with `now` it also leaves those that it shares with others.
  func stop(_ stop: Flight.Stop, for receiver: any LoadReceiver) -> Stopped {
    state.withLock { state in
      var stopped = Stopped()
      for (number, entry) in state.entries {
        let own = entry.waiters.filter { $0.receiver === receiver }
        guard !own.isEmpty else { continue }
        if own.count == (entry.first == nil ? 0 : 1) + entry.others.count {
          entry.flight.stop(stop)
          // Whoever asks from now on begins anew, and does not get what was cancelled; a transfer that runs on is shared below.
          state.forget(number, entry)
          stopped.numbers.append(number)
        } else if stop == .now {
          _ = state.leave(number) { $0.receiver === receiver }
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
    // Another identity of the same hash is a flight of its own that nobody joins.
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
    // Whoever asks from now on begins anew, and does not get what was cancelled.
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
