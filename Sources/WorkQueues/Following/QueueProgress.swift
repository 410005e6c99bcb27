#if Queue
import ImagePrimitives
import RedisClient

/// The progress of a queue.
public struct QueueProgress: Sendable, Hashable {
  /// Identifies the filling; nil if unknown.
  var filling: String?
  /// The number of outcomes by `LoadOutcome`'s raw value.
  public var counts: [UInt64] = []
  /// Entries that are final.
  public var finalEntries: UInt64 = 0
  /// Messages that couldn't be decoded.
  public var undecodableMessages: UInt64 = 0
  /// Entries and messages that were written so far.
  public var written = QueueSize(entries: 0, messages: 0)
  /// Whether the queue is completely written.
  public var isSealed = false
  /// Messages that aren't final, including ``heldMessages``.
  public var openMessages: UInt64 = 0
  /// Messages that a worker holds.
  public var heldMessages: UInt64 = 0
  /// Workers that were seen within the last 30 s.
  public var workers = 0
  /// Whether the reports are written.
  public var isReported = false

  /// Whether everything that was written is final. ``finalEntries`` then equals the written entries, unless the streams
  /// were changed by others.
  public var isDrained: Bool { isSealed && openMessages == 0 }

  /// Whether this is the progress of `queue`, not of a later filling.
  public func isOf(_ queue: OpenQueue) -> Bool { filling == queue.filling }
}

extension QueueProgress {
  /// Reads the fields and values of the queue's totals; ignores those of later versions.
  mutating func take(totals: [RedisReply]) {
    counts = Array(repeating: 0, count: LoadOutcome.allCases.count)
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

/// A worker's results for one message, or a part of them.
public struct QueueResult: Sendable, Hashable {
  /// A position among the results.
  public struct ID: Sendable, Hashable {
    let milliseconds: UInt64
    let sequence: UInt64

    /// Before the first.
    public static let start = ID(milliseconds: 0, sequence: 0)

    init(milliseconds: UInt64, sequence: UInt64) {
      self.milliseconds = milliseconds
      self.sequence = sequence
    }

    /// Parses Redis' form; nil for any other text.
    init?(_ text: String) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, let milliseconds = UInt64(parts[0]), let sequence = UInt64(parts[1]) else { return nil }
      self.init(milliseconds: milliseconds, sequence: sequence)
    }

    var text: String { "\(milliseconds)-\(sequence)" }

    /// The next possible ID; nil after the last.
    var next: ID? {
      if sequence < .max { return ID(milliseconds: milliseconds, sequence: sequence + 1) }
      return milliseconds < .max ? ID(milliseconds: milliseconds + 1, sequence: 0) : nil
    }
  }

  /// Its position.
  public let id: ID
  /// The data that the worker wrote; nil if no worker wrote it.
  public let payload: [UInt8]?
}
#endif
