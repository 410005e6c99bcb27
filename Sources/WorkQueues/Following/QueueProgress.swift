#if Queue
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

/// What a worker made of one message, or a part of that.
public struct QueueResult: Sendable, Hashable {
  /// Where it stands among the results.
  public struct ID: Sendable, Hashable {
    let milliseconds: UInt64
    let sequence: UInt64

    /// Before the first.
    public static let start = ID(milliseconds: 0, sequence: 0)

    init(milliseconds: UInt64, sequence: UInt64) {
      self.milliseconds = milliseconds
      self.sequence = sequence
    }

    /// As Redis writes it; nil for any other text.
    init?(_ text: String) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, let milliseconds = UInt64(parts[0]), let sequence = UInt64(parts[1]) else { return nil }
      self.init(milliseconds: milliseconds, sequence: sequence)
    }

    var text: String { "\(milliseconds)-\(sequence)" }

    /// The next that there could be; nil behind the last.
    var next: ID? {
      if sequence < .max { return ID(milliseconds: milliseconds, sequence: sequence + 1) }
      return milliseconds < .max ? ID(milliseconds: milliseconds + 1, sequence: 0) : nil
    }
  }

  /// Where it stands.
  public let id: ID
  /// What the worker wrote; nil for what no worker wrote.
  public let payload: [UInt8]?
}
#endif
