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
    /// The number of look-ups at which the caller acts, outside of the lock; nil: it acts, or nothing is left to do.
    var next: Int? = leastLookUps
    /// Whether ``next`` is the number that starts reading; before, it is the one from which on that is measured.
    var isMeasured = false
    var hasEnded = false
    var reading: IndexReadAhead?
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
    let isMeasured: Bool? = state.withLock { state in
      state.lookUps += count
      guard !state.hasEnded, let next = state.next, state.lookUps >= next else { return nil }
      state.next = nil
      return state.isMeasured
    }
    guard let isMeasured else { return }
    if isMeasured {
      let reading = read()
      state.withLock { if !$0.hasEnded { $0.reading = reading } }
    } else {
      let number = beginning()
      state.withLock { ($0.next, $0.isMeasured) = (number, true) }
      note(0)
    }
  }

  func end() {
    let reading = state.withLock { state in
      state.hasEnded = true
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
