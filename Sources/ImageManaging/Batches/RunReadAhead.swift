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
    /// The number of look-ups that starts it; nil: not known yet.
    var beginning: Int?
    var reading: IndexReadAhead?
  }

  private let cache: ImageCache
  private let state = Mutex(State())

  init(_ cache: ImageCache) { self.cache = cache }

  /// Counts further look-ups of the run.
  func note(_ count: Int) {
    state.withLock { state in
      let before = state.lookUps
      state.lookUps += count
      guard state.lookUps >= Self.leastLookUps else { return }
      let beginning = state.beginning ?? Self.beginning(for: cache)
      state.beginning = beginning
      if before < beginning, state.lookUps >= beginning { state.reading = cache.readAhead() }
    }
  }

  /// Ends reading: the run has no further look-ups.
  func end() { state.withLock { $0.reading = nil } }

  private static func beginning(for cache: ImageCache) -> Int {
    // An index that can't be read is found by the look-ups.
    let entries = (try? cache.totals().entries) ?? 0
    return max(leastLookUps, entries / entriesPerLookUp)
  }
}
