import ImagePrimitives
import RedisClient

/// A look for what others have lost, through the streams of batches or through those of single entries; it may take many steps.
struct ClaimScan {
  /// When its next step is due.
  var next = MonotonicInstant(nanoseconds: 0)
  /// Whether it has begun, and has not come to the end of all its streams.
  private(set) var isUnfinished = false
  /// Where it goes on, by stream, see ``ConsumerScripts/takeOver``.
  private(set) var cursors: [RedisArgument]

  private let firstCursors: [RedisArgument]

  init(isForRetries: Bool) {
    firstCursors = QueueStream.all.map { $0.isRetry == isForRetries ? "0-0" : "" }
    cursors = firstCursors
  }

  /// A step was taken, after which it goes on at `cursors`; what is forsaken comes as fast as entries are asked for, the next look
  /// begins an `interval` later.
  mutating func advance(to cursors: [RedisArgument], now: MonotonicInstant, interval: Duration) {
    isUnfinished = cursors.count == firstCursors.count && cursors.contains { $0 != "" }
    self.cursors = isUnfinished ? cursors : firstCursors
    next = isUnfinished ? now : now.advanced(by: interval)
  }
}
