import ImageCaching
import ImageDownloading
import Base
import Synchronization

/// A request that waits for a flight.
struct Waiter: Sendable {
  let receiver: any LoadReceiver
  let entry: Entry
  /// The rules for this request: the flight's own, or those of a context that shares its requests.
  let context: LoadContext
}

/// The current flights, by identity and by number, each with its waiters. A flight stays until its result is committed, so that a
/// later request either joins it or finds its result in the cache and on the blacklist. Requests of contexts that share may join
/// each other's flights: each is judged by its own rules in the end.
final class FlightTable: Sendable {
  fileprivate struct Index: Hashable {
    let key: CacheKey
    let share: ObjectIdentifier
    /// Whether it reads a cached image: such requests don't wait for flights that use the network.
    let isRead: Bool
  }

  fileprivate struct Underway: SharedWork {
    let number: UInt64
    let flight: Flight
    let identity: Index
    var waiters: [Waiter]
  }

  fileprivate struct State {
    var flights = SingleFlight<Underway>()
    /// Numbers aren't reused, since late events of an ended flight may come; the lower half of one is the flight's slot.
    var lastNumber: UInt64 = 0

    func slot(_ number: UInt64) -> Int? {
      let slot = Int(number & UInt64(UInt32.max))
      return flights.contains(slot) && flights[slot].number == number ? slot : nil
    }
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.flights.count } }

  /// For each of `keys`, whether it is in flight for `context`; nil if there are no flights at all.
  func marks(of keys: some Sequence<CacheKey>, for context: LoadContext) -> [Bool]? {
    state.withLock { state in
      if state.flights.isClosed { return nil }
      let share = ObjectIdentifier(context.share)
      return keys.map { state.flights.slot(of: Index(key: $0, share: share, isRead: false)) != nil }
    }
  }

  enum Joined {
    /// It shares the flight of that number, and `raised` if that has become more urgent by it.
    case shared(UInt64, raised: Flight?)
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

  func flight(_ number: UInt64) -> Flight? { state.withLock { state in state.slot(number).map { state.flights[$0].flight } } }

  func waiters(_ number: UInt64) -> [Waiter] {
    state.withLock { state in state.slot(number).map { state.flights[$0].waiters } ?? [] }
  }

  /// Ends flights and returns the waiters of each, in the order in which they joined; none for one that had ended before.
  func end(_ numbers: [UInt64]) -> [[Waiter]] {
    state.withLock { state in
      numbers.map { number in state.slot(number).map { state.flights.remove($0).waiters } ?? [] }
    }
  }

  /// Removes a waiter, if it is one. Returns whether it was the last: the flight was stopped, and no request joins it any more.
  func leave(_ number: UInt64, _ receiver: any LoadReceiver) -> Bool {
    state.withLock { state in
      guard let slot = state.slot(number), !state.flights.leave(slot, where: { $0.receiver === receiver }).isEmpty,
        state.flights[slot].waiters.isEmpty
      else { return false }
      state.flights[slot].flight.stop(.now)
      return true
    }
  }

  func stopAll() -> [UInt64] {
    state.withLock { state in
      state.flights.closeAll()
      return state.flights.all.map { slot in
        state.flights[slot].flight.stop(.now)
        return state.flights[slot].number
      }
    }
  }

  struct Stopped {
    /// Flights without other waiters; no request joins them any more.
    var numbers: [UInt64] = []
    /// Entries that were removed from flights with other waiters.
    var left: [Entry] = []
  }

  /// Stops all flights that only `receiver` waits for; with `now` it also leaves those that it shares with others. `isMeant` selects
  /// entries of the receiver.
  func stop(_ stop: Flight.Stop, for receiver: any LoadReceiver, where isMeant: (Entry) -> Bool = { _ in true }) -> Stopped {
    state.withLock { state in
      var stopped = Stopped()
      for slot in Array(state.flights.all) {
        let waiters = state.flights[slot].waiters
        let isLeaving = { (waiter: Waiter) in waiter.receiver === receiver && isMeant(waiter.entry) }
        let own = waiters.filter(isLeaving)
        guard !own.isEmpty else { continue }
        if own.count == waiters.count {
          state.flights[slot].flight.stop(stop)
          // Running work that continues is shared by the downloader.
          state.flights.close(slot)
          stopped.numbers.append(state.flights[slot].number)
        } else if stop == .now {
          stopped.left += state.flights.leave(slot, where: isLeaving).map(\.entry)
        }
      }
      return stopped
    }
  }
}

extension FlightTable.State {
  fileprivate mutating func join(_ flight: Flight, _ waiter: Waiter, mustShare: Bool) -> FlightTable.Joined {
    let share = ObjectIdentifier(flight.context.share)
    let index = FlightTable.Index(key: flight.name.key, share: share, isRead: flight.copy != nil)
    let current = flights.slot(of: index)
    // Another identity with the same hash has a flight of its own that no request joins.
    if let current, flights[current].flight.name.identity == flight.name.identity {
      flights[current].waiters.append(waiter)
      let shared = flights[current].flight
      return .shared(flights[current].number, raised: shared.join(flight) ? shared : nil)
    }
    if mustShare, current == nil { return .ended }
    lastNumber += 1
    let number = lastNumber << 32 | UInt64(flights.nextSlot)
    let underway = FlightTable.Underway(number: number, flight: flight, identity: index, waiters: [waiter])
    _ = flights.insert(underway, isJoinable: current == nil)
    return .began(number)
  }
}
