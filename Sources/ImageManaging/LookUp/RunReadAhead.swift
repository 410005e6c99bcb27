import ImageCaching
import Synchronization

/// Reads the cache's index ahead for a run, if it looks up enough to be worth it.
final class RunReadAhead: Sendable {
  /// A run with fewer look-ups ends before reading ahead helps.
  private static let leastLookUps = 1024
  /// A run that looks up only a few of the entries wouldn't use most of the index.
  private static let entriesPerLookUp = 256

  private struct State {
    var lookUps = 0
    var phase = Phase.counting
    var reading: IndexReadAhead?
  }

  private enum Phase {
    case counting
    /// A thread finds out the number of look-ups that starts reading.
    case measuring
    /// That number of look-ups starts it.
    case waiting(Int)
    case started
    case ended
  }

  /// An action of the caller after a count, outside of the lock.
  private enum Step {
    case measure, start
  }

  private let beginning: @Sendable () -> Int
  private let read: @Sendable () -> IndexReadAhead?
  private let state = Mutex(State())

  convenience init(_ cache: ImageCache) {
    self.init(beginning: { Self.beginning(for: cache) }, read: { cache.readAhead() })
  }

  /// - Parameters:
  ///   - beginning: returns the number of look-ups that starts reading; called once.
  ///   - read: starts reading; called once.
  init(beginning: @escaping @Sendable () -> Int, read: @escaping @Sendable () -> IndexReadAhead?) {
    self.beginning = beginning
    self.read = read
  }

  func note(_ count: Int) {
    var step = state.withLock { Self.advance(&$0, by: count) }
    if step == .measure {
      let number = beginning()
      step = state.withLock { state in
        if case .measuring = state.phase { state.phase = .waiting(number) }
        return Self.advance(&state, by: 0)
      }
    }
    guard step == .start else { return }
    let reading = read()
    state.withLock { state in
      if case .started = state.phase { state.reading = reading }
    }
  }

  private static func advance(_ state: inout State, by count: Int) -> Step? {
    state.lookUps += count
    switch state.phase {
    case .counting where state.lookUps >= leastLookUps:
      state.phase = .measuring
      return .measure
    case .waiting(let beginning) where state.lookUps >= beginning:
      state.phase = .started
      return .start
    default: return nil
    }
  }

  /// Ends reading: the run has no further look-ups.
  func end() {
    let reading = state.withLock { state in
      state.phase = .ended
      return state.reading.take()
    }
    withExtendedLifetime(reading) {}
  }

  private static func beginning(for cache: ImageCache) -> Int {
    // An index that can't be read is found by the look-ups.
    let entries = (try? cache.totals().entries) ?? 0
    return max(leastLookUps, entries / entriesPerLookUp)
  }
}
