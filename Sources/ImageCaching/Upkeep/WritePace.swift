import Base
import Platform

/// How many rows a write transaction changes, so that none of them takes more than a few milliseconds and others get their turn.
struct WritePace {
  /// What a transaction with its commit should take. A slow disk may need more to sync even one page.
  private static let stepTime = Duration.milliseconds(8)
  /// The least number of rows that longer transactions lead to: the sync takes most of their time.
  private static let leastRowCount = 32
  /// LMDB's lock for writers isn't fair: without a pause, the next step often takes it before those who wait for it wake up.
  private static let pause: UInt32 = 500

  private let maximum: Int
  /// Before anything was measured, a number for a slow disk.
  private(set) var rowCount = 128

  init(maximum: Int) { self.maximum = maximum }

  /// Calls `write` with the number of rows for one transaction; from the time that it takes follows the next number.
  mutating func step<R>(_ write: (Int) throws(CacheError) -> R) throws(CacheError) -> R {
    let started = TimeSource.system.monotonic()
    let result = try write(rowCount)
    let taken = TimeSource.system.monotonic().since(started)
    if taken > Self.stepTime {
      rowCount = max(min(rowCount, Self.leastRowCount), Int(Double(rowCount) * (Self.stepTime / taken)))
    } else if taken < Self.stepTime / 2 {
      rowCount = min(maximum, rowCount * 2)
    }
    usleep(Self.pause)
    return result
  }

  /// Fewer rows, since there is no room for the pages of as many.
  mutating func shorten() { rowCount = max(1, rowCount / 32) }
}
