#if Queue
public import ImagePrimitives

/// Entries that are delivered together, worked together, and acknowledged together.
public struct QueuedMessage: Sendable {
  /// The most bytes of a URL.
  public static let maximumURLBytes = 64 << 10
  /// The most entries of a message.
  public static let maximumEntries = 256
  /// The most bytes of a message, and of the texts of its entries.
  public static let maximumBytes = 4 << 20

  /// What tells a message from all others of its queue.
  public struct ID: Sendable, Hashable {
    let stream: QueueStream
    let text: String
  }

  /// A URL of the message that some worker found to be bad.
  public struct KnownBad: Sendable, Hashable {
    /// The entry's index in ``QueuedMessage/entries``.
    public let entry: Int
    /// Which of the job's variants, from 0.
    public let variant: Int
    /// What that worker wrote of it.
    public let value: [UInt8]
  }

  /// What tells it from all others of its queue.
  public let id: ID
  /// How often it was given to a worker, this time included; an entry that was delivered in other company before counts that too.
  public let deliveries: Int
  /// Whether it was delivered too often to be tried once more: its entries have failed.
  public let isGivenUp: Bool
  /// Why nothing can be made of it: then it has no entries, and has to be acknowledged all the same. Nil for all that prewarm
  /// wrote.
  public let error: MessageError?
  /// The texts of its entries.
  public let bytes: [UInt8]
  /// Its entries, in the order of their manifests: several of one host, or a single one.
  public let entries: [QueuedEntry]
  /// Which of its URLs are known to be bad.
  public internal(set) var knownBad: [KnownBad] = []

  /// The class of its entries.
  public var priority: Priority { id.stream.priority }
}

/// Why nothing can be made of a message: one sentence.
public struct MessageError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The sentence.
  public let description: String
}

/// A row of a manifest in a message; its texts lie in the message's ``QueuedMessage/bytes``.
public struct QueuedEntry: Sendable, Hashable {
  /// What became of a row when its manifest was read.
  public enum State: Sendable, Hashable {
    /// To be fetched.
    case good
    /// Left out by the job's filters.
    case filtered
    /// No URL can be made of it; the sentence on why lies there.
    case invalid(sentence: Range<Int>)
  }

  /// Where its URL lies, as written.
  public var url: Range<Int>
  /// The index of its manifest.
  public var manifest: UInt32
  /// The line on which it begins, from 1.
  public var line: UInt64
  /// What became of it.
  public var state: State
}

/// A row of a manifest on its way into a queue.
public struct NewQueuedEntry {
  /// What became of a row when its manifest was read.
  public enum State {
    /// To be fetched.
    case good
    /// Left out by the job's filters.
    case filtered
    /// No URL can be made of it, for the reason that the sentence tells.
    case invalid(sentence: String)
  }

  /// Its URL as written; valid for the call that it is given to.
  public var url: UnsafeRawBufferPointer
  /// The index of its manifest.
  public var manifest: UInt32
  /// The line on which it begins, from 1.
  public var line: UInt64
  /// What became of it.
  public var state: State

  /// A row.
  public init(url: UnsafeRawBufferPointer, manifest: UInt32, line: UInt64, state: State = .good) {
    self.url = url
    self.manifest = manifest
    self.line = line
    self.state = state
  }
}
#endif
