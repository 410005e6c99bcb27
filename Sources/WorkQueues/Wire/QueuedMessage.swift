#if Queue
public import ImagePrimitives

/// Entries that are delivered, processed and acknowledged together.
public struct QueuedMessage: Sendable {
  /// The maximum length of a URL in bytes.
  public static let maximumURLBytes = 64 << 10
  /// The maximum number of entries of a message.
  public static let maximumEntries = 256
  /// The maximum length of a message in bytes, and of the texts of its entries.
  public static let maximumBytes = 4 << 20

  /// Identifies a message in its queue.
  public struct ID: Sendable, Hashable {
    let stream: QueueStream
    let text: String
  }

  /// A URL of the message that a worker found to be bad.
  public struct KnownBad: Sendable, Hashable {
    /// The entry's index in ``QueuedMessage/entries``.
    public let entry: Int
    /// The index of the job's variant, from 0.
    public let variant: Int
    /// The data that the worker wrote about it.
    public let value: [UInt8]
  }

  /// Identifies it in its queue.
  public let id: ID
  /// The number of deliveries to workers, including this one and, for an entry that is retried alone, those in a batch.
  public let deliveries: Int
  /// Whether it was delivered too often to be tried again, so that its entries have failed.
  public let isGivenUp: Bool
  /// The reason why it can't be decoded; it then has no entries but must still be acknowledged. Nil for all messages
  /// that prewarm wrote.
  public let error: MessageError?
  /// The texts of its entries.
  public let bytes: [UInt8]
  /// Its entries, in the order of their manifests: several of one host, or a single one.
  public let entries: [QueuedEntry]
  /// The URLs known to be bad.
  public internal(set) var knownBad: [KnownBad] = []

  /// The priority of its entries.
  public var priority: LoadPriority { id.stream.priority }
}

/// The reason why a message can't be decoded: one sentence.
public struct MessageError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The sentence.
  public let description: String
}

/// A row of a manifest in a message; its texts are in the message's ``QueuedMessage/bytes``.
public struct QueuedEntry: Sendable, Hashable {
  /// The outcome of reading a row.
  public enum State: Sendable, Hashable {
    /// To be fetched.
    case good
    /// Skipped by the job's filters.
    case filtered
    /// Not a valid URL; the reason is in that range.
    case invalid(sentence: Range<Int>)
  }

  /// The range of its URL, as written.
  public var url: Range<Int>
  /// The index of its manifest.
  public var manifest: UInt32
  /// The line on which it starts, from 1.
  public var line: UInt64
  /// The outcome of reading it.
  public var state: State
}

/// A row of a manifest that is being added to a queue.
public struct NewQueuedEntry {
  /// The outcome of reading a row.
  public enum State {
    /// To be fetched.
    case good
    /// Skipped by the job's filters.
    case filtered
    /// Not a valid URL, for that reason.
    case invalid(sentence: String)
  }

  /// Its URL as written; valid during the call that it is passed to.
  public var url: UnsafeRawBufferPointer
  /// The index of its manifest.
  public var manifest: UInt32
  /// The line on which it starts, from 1.
  public var line: UInt64
  /// The outcome of reading it.
  public var state: State

  /// Creates a row.
  public init(url: UnsafeRawBufferPointer, manifest: UInt32, line: UInt64, state: State = .good) {
    self.url = url
    self.manifest = manifest
    self.line = line
    self.state = state
  }
}
#endif
