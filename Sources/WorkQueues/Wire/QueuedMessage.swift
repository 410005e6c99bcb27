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
  public let problem: MessageProblem?
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
public struct MessageProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// The sentence.
  public let description: String
}
