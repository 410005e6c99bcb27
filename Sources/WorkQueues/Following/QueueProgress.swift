import ImagePrimitives
import RedisClient

/// How far a queue is.
public struct QueueProgress: Sendable, Hashable {
  /// What tells the filling from others; nil where that is unknown.
  var filling: String?
  /// How many entries ended how, by `Outcome`'s raw value.
  public var counts: [UInt64] = []
  /// Entries that are final.
  public var finalEntries: UInt64 = 0
  /// Messages of which nothing could be made.
  public var undecodableMessages: UInt64 = 0
  /// What was written so far.
  public var written = QueueSize(entries: 0, messages: 0)
  /// Whether that is all.
  public var isSealed = false
  /// Messages that are not final; among them ``heldMessages``.
  public var openMessages: UInt64 = 0
  /// Messages that some worker holds.
  public var heldMessages: UInt64 = 0
  /// Workers that were seen within the last 30 s.
  public var workers = 0
  /// Whether the reports are written.
  public var isReported = false

  /// Whether all that was written is final. Then ``finalEntries`` is what was written, unless somebody meddled with the streams.
  public var isDrained: Bool { isSealed && openMessages == 0 }

  /// Whether this is how far `queue` is, and not what the queue was filled with since.
  public func isOf(_ queue: OpenQueue) -> Bool { filling == queue.filling }
}

extension QueueProgress {
  /// Takes the fields and values of the queue's totals; those of a later version are passed over.
  mutating func take(totals: [RedisReply]) {
    counts = Array(repeating: 0, count: Outcome.allCases.count)
    for index in stride(from: 0, to: totals.count - 1, by: 2) {
      let value = totals[index + 1].count
      switch totals[index].text ?? "" {
      case "entries": finalEntries = value
      case "undecodable": undecodableMessages = value
      case let field: if let outcome = Int(field), counts.indices.contains(outcome) { counts[outcome] = value }
      }
    }
  }
}
