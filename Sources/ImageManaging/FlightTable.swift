import ImageCaching
import Synchronization

/// Who waits for a flight.
struct Sharer: Sendable {
  let receiver: any LoadReceiver
  let id: UInt64
}

/// The flights under way, found by identity and by number, each with those who share it.
///
/// A flight stays until its result is committed, so that whoever asks later either joins it or finds in the cache and on the
/// blacklist what came of it. Only requests of one context share a flight: another's rules could change the result.
final class FlightTable: Sendable {
  /// What a flight is found by.
  fileprivate struct Index: Hashable {
    let key: CacheKey
    let context: ObjectIdentifier
  }

  fileprivate struct Entry {
    let flight: Flight
    let first: Sharer
    /// Mostly none, which costs nothing.
    var others: [Sharer] = []

    func isShared(onlyBy receiver: any LoadReceiver) -> Bool {
      first.receiver === receiver && others.allSatisfy { $0.receiver === receiver }
    }
  }

  fileprivate struct State {
    var entries: [UInt64: Entry] = [:]
    var numbers: [Index: UInt64] = [:]
    /// Numbers are not used again, as late events of an ended flight could come.
    var nextNumber: UInt64 = 1
  }

  private let state = Mutex(State())

  /// Which of `keys` are in flight for `context`, a mark for each; nil where nothing is in flight at all.
  func marks(of keys: [CacheKey], for context: LoadContext) -> [Bool]? {
    state.withLock { state in
      if state.numbers.isEmpty { return nil }
      return keys.map { state.numbers[Index(key: $0, context: ObjectIdentifier(context))] != nil }
    }
  }

  /// What became of a request for a flight.
  enum Joined {
    /// It shares a flight that is under way.
    case shared
    /// Its own flight is under way from now on, as this number.
    case began(UInt64)
    /// The flight that it was left out of the look-up for has ended since: what came of it is to be looked up.
    case ended
  }

  /// A request with the flight that it would begin.
  struct Request {
    let flight: Flight
    let sharer: Sharer
    /// Whether it was left out of the look-up, because its identity was in flight.
    let mustExist: Bool
  }

  /// Adds each request to the flight of its identity, or begins its own; all in one step.
  func join(_ requests: [Request]) -> [Joined] {
    state.withLock { state in requests.map { state.join($0) } }
  }

  /// The flight of that number; nil once it has ended.
  func flight(_ number: UInt64) -> Flight? { state.withLock { $0.entries[number]?.flight } }

  /// Ends flights; each with those who shared it, in the order in which they came.
  func end(_ numbers: [UInt64]) -> [[Sharer]] {
    state.withLock { state in numbers.map { state.end($0) } }
  }

  /// Tells all flights to stop that `receiver` alone waits for, and gives their numbers.
  func stop(_ stop: Flight.Stop, for receiver: any LoadReceiver) -> [UInt64] {
    state.withLock { state in
      state.entries.compactMap { number, entry in
        guard entry.isShared(onlyBy: receiver) else { return nil }
        entry.flight.stop(stop)
        return number
      }
    }
  }
}

extension FlightTable.State {
  fileprivate mutating func join(_ request: FlightTable.Request) -> FlightTable.Joined {
    let flight = request.flight
    let index = FlightTable.Index(flight)
    let number = numbers[index]
    // Another identity of the same hash is a flight of its own that nobody joins.
    if let number, entries[number]!.flight.identity == flight.identity {
      entries[number]!.others.append(request.sharer)
      return .shared
    }
    if request.mustExist, number == nil { return .ended }
    let newNumber = nextNumber
    nextNumber += 1
    if number == nil { numbers[index] = newNumber }
    entries[newNumber] = FlightTable.Entry(flight: flight, first: request.sharer)
    return .began(newNumber)
  }

  fileprivate mutating func end(_ number: UInt64) -> [Sharer] {
    guard let entry = entries.removeValue(forKey: number) else { return [] }
    let index = FlightTable.Index(entry.flight)
    if numbers[index] == number { numbers[index] = nil }
    return [entry.first] + entry.others
  }
}

extension FlightTable.Index {
  fileprivate init(_ flight: Flight) { self.init(key: flight.key, context: ObjectIdentifier(flight.context)) }
}
