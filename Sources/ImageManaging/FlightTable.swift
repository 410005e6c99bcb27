import ImageCaching
import ImageDownloading
import ImagePrimitives
import Synchronization

/// One identity on its way: from the moment it is asked for until its result is final.
final class Flight: Sendable {
  let key: CacheKey
  let identity: [UInt8]
  /// The URL that is requested, credentials included.
  let url: [UInt8]
  let priority: Priority
  let sequence: Int64
  let context: LoadContext
  /// Whether the URL was on the blacklist when it was asked for all the same.
  let wasBlacklisted: Bool
  private let cancelled = Atomic(false)

  init(
    key: CacheKey,
    identity: [UInt8],
    url: [UInt8],
    priority: Priority,
    sequence: Int64,
    context: LoadContext,
    wasBlacklisted: Bool
  ) {
    self.key = key
    self.identity = identity
    self.url = url
    self.priority = priority
    self.sequence = sequence
    self.context = context
    self.wasBlacklisted = wasBlacklisted
  }

  /// Whether nobody waits for it any more, so that no further transfer may start for it.
  var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

  func cancel() { cancelled.store(true, ordering: .relaxed) }

  /// The transfer that this flight asks for.
  func download(id: UInt64) -> Download {
    Download(id: id, url: url, priority: priority, sequence: sequence, options: context.download)
  }
}

/// Who waits for a flight.
struct Sharer: Sendable {
  let receiver: any LoadReceiver
  let id: UInt64
}

/// The flights under way, found by identity and by number, each with those who share it.
///
/// A flight stays until its result is committed, so that whoever asks later either joins it or finds it in the cache.
final class FlightTable: Sendable {
  /// A flight's place in the table; numbers are not used again while late events of an ended flight could come.
  private struct State {
    var entries: [UInt64: (flight: Flight, sharers: [Sharer])] = [:]
    var numbers: [CacheKey: UInt64] = [:]
    var nextNumber: UInt64 = 1
  }

  private let state = Mutex(State())

  /// Which of `keys` are in flight: a mark for each.
  func marks(of keys: [CacheKey]) -> [Bool]? {
    state.withLock { state in
      state.numbers.isEmpty ? nil : keys.map { state.numbers[$0] != nil }
    }
  }

  /// What became of a request for a flight.
  enum Joined {
    /// It shares a flight that is under way.
    case shared
    /// It began this flight.
    case began(UInt64)
    /// Its flight was under way a moment ago and has ended since: its result is in the cache by now.
    case ended
  }

  /// Adds each request to the flight of its identity, or begins one; all in one step.
  ///
  /// - Parameter mustExist: whether the request of that index was left out of the look-up because its flight was seen.
  func join<Request>(
    _ requests: [Request],
    sharer: (Request) -> Sharer,
    key: (Request) -> CacheKey,
    mustExist: (Request) -> Bool,
    flight: (Request) -> Flight
  ) -> [Joined] {
    state.withLock { state in
      requests.map { request in
        let key = key(request)
        if let number = state.numbers[key] {
          state.entries[number]!.sharers.append(sharer(request))
          return .shared
        }
        if mustExist(request) { return .ended }
        let number = state.nextNumber
        state.nextNumber += 1
        state.numbers[key] = number
        state.entries[number] = (flight(request), [sharer(request)])
        return .began(number)
      }
    }
  }

  /// The flight of that number; nil once it has ended.
  func flight(_ number: UInt64) -> Flight? { state.withLock { $0.entries[number]?.flight } }

  /// Ends flights; each with those who shared it, in the order in which they came.
  func end(_ numbers: [UInt64]) -> [[Sharer]] {
    state.withLock { state in
      numbers.map { number in
        guard let entry = state.entries.removeValue(forKey: number) else { return [] }
        state.numbers[entry.flight.key] = nil
        return entry.sharers
      }
    }
  }

  /// Marks all flights that `receiver` alone waits for as cancelled, and gives their numbers.
  func cancel(for receiver: any LoadReceiver) -> [UInt64] {
    state.withLock { state in
      state.entries.compactMap { number, entry in
        guard entry.sharers.allSatisfy({ $0.receiver === receiver }) else { return nil }
        entry.flight.cancel()
        return number
      }
    }
  }
}
