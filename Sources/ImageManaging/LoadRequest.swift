public import ImagePrimitives
public import ImageURLs

/// One image of a batch to be loaded.
public struct LoadRequest: Sendable {
  /// The caller's number for it, given back with its completion.
  public var id: UInt64
  /// Where the normalised URL starts in the batch's bytes.
  public var offset: Int
  /// How many bytes it has.
  public var length: Int
  /// The parts of that URL.
  public var parts: URLParts
  /// The class, which chooses who starts first.
  public var priority: Priority
  /// The place within the class: lower starts first.
  public var sequence: Int64

  /// A request for the URL at `offset` of a batch's bytes.
  public init(id: UInt64, offset: Int, length: Int, parts: URLParts, priority: Priority, sequence: Int64) {
    self.id = id
    self.offset = offset
    self.length = length
    self.parts = parts
    self.priority = priority
    self.sequence = sequence
  }
}

/// How one request ended.
public struct LoadCompletion: Sendable {
  /// The caller's number.
  public var id: UInt64
  /// How it ended.
  public var result: EntryResult
  /// Whether its success took the URL off the blacklist.
  public var leftBlacklist: Bool
  /// Whether its failure put the URL on the blacklist, where it was not before.
  public var joinedBlacklist: Bool

  /// The end of the request of that number.
  public init(id: UInt64, result: EntryResult, leftBlacklist: Bool = false, joinedBlacklist: Bool = false) {
    self.id = id
    self.result = result
    self.leftBlacklist = leftBlacklist
    self.joinedBlacklist = joinedBlacklist
  }
}

/// Who waits for the requests of a batch.
public protocol LoadReceiver: AnyObject, Sendable {
  /// Takes completions, each request's exactly once; called on the manager's threads, under no lock.
  func complete(_ completions: [LoadCompletion])
}
