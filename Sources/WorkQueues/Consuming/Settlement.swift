/// What a worker made of a message.
public struct Settlement: Sendable {
  /// The most bytes of one of ``results``.
  public static let maximumResultBytes = 1 << 20

  /// The message.
  public var message: QueuedMessage.ID
  /// How many entries it had.
  public var entryCount: Int
  /// What followers of the queue read, in order, opaque here; each at most ``maximumResultBytes``.
  public var results: [[UInt8]]
  /// How many of the entries ended how, by `Outcome`'s raw value; several may come of one entry, or none.
  public var counts: [UInt64]
  /// URLs that were found to be bad, with an opaque value each.
  public var badURLs: [(key: BadURLKey, value: [UInt8])] = []
  /// URLs that are good again.
  public var goodURLs: [BadURLKey] = []

  /// What became of `message`.
  public init(of message: QueuedMessage, results: [[UInt8]], counts: [UInt64]) {
    self.message = message.id
    entryCount = message.entries.count
    self.results = results
    self.counts = counts
  }
}
