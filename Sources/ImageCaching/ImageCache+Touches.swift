import ImagePrimitives
import Synchronization

/// Times of access that wait for being written, many at a time.
///
/// Keys are hashes, so a few records lie each on a page of their own, and to change one is to copy and write its page. Of very many,
/// sorted by key, each page has several.
final class WaitingTouches: Sendable {
  /// Records that one transaction changes.
  static let sliceCount = 8192

  private let waiting = Mutex<[EntryTouch]>([])

  /// Returns how many there are by now.
  func add(_ touches: [EntryTouch]) -> Int {
    waiting.withLock { waiting in
      waiting += touches
      return waiting.count
    }
  }

  /// All of them, sorted by key.
  func takeAll() -> [EntryTouch] {
    var all: [EntryTouch] = []
    waiting.withLock { swap(&$0, &all) }
    all.sort { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) }
    return all
  }
}

extension ImageCache {
  /// How many records whose time of access is out of date should wait for ``writeTouches()`` at most: 24 bytes each.
  package static let touchLimit = 1 << 17

  /// Notes that records were asked for whose time of access is out of date, and returns how many wait for ``writeTouches()`` by now.
  ///
  /// What waits when the process dies is lost, as times of access are best effort: the next hit renews them.
  package func note(_ touches: [EntryTouch]) -> Int { touches.isEmpty ? 0 : touched.add(touches) }

  /// Writes down what ``note(_:)`` took: that those records were asked for just now. What has been replaced since stays as it is.
  ///
  /// They get one and the same time, so that in the order of accesses those lie side by side that do so in the order of keys, and the
  /// next renewal finds them there. Several transactions; what went before a failure is written, the rest is lost.
  package func writeTouches() throws(CacheError) {
    let touches = touched.takeAll()
    let now = configuration.time.wall()
    var start = 0
    while start < touches.count {
      let slice = touches[start..<min(start + WaitingTouches.sliceCount, touches.count)]
      try checkWritable()
      try environment.write { (transaction) throws(CacheError) in try transaction.touch(slice, at: now) }
      start = slice.endIndex
    }
  }
}
