public import ImageCoding
public import ImagePrimitives
public import ImageURLs

/// One image of a batch to be loaded.
public struct LoadRequest: Sendable {
  /// The caller's number for it, given back with its completion.
  public var id: UInt64
  /// Where in the batch's bytes the normalised URL lies.
  public var url: Range<Int>
  /// Where in the batch's bytes the URL lies as it was first written, a relative one resolved: it is what the cache's record keeps and
  /// what exports hash. The same place where it was written in normal form.
  public var written: Range<Int>
  /// The parts of the normalised URL.
  public var parts: URLParts
  /// The class, which chooses who starts first.
  public var priority: Priority
  /// Which of the context's ways to ask is meant: 0 is the plain one, and n the one at n - 1 of ``LoadContext/Parts/variants``.
  public var variant: UInt16
  /// The place within the class: lower starts first.
  public var sequence: Int64

  /// A request for the URL at `url` of a batch's bytes, which was written as it stands at `written`, by default the same.
  public init(
    id: UInt64,
    url: Range<Int>,
    written: Range<Int>? = nil,
    parts: URLParts,
    priority: Priority,
    sequence: Int64,
    variant: UInt16 = 0
  ) {
    self.id = id
    self.url = url
    self.written = written ?? url
    self.parts = parts
    self.priority = priority
    self.sequence = sequence
    self.variant = variant
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
  /// What the context's ``LoadContext/Parts/delivery`` asks for, where the load brought it.
  public var payload: LoadPayload?

  /// The end of the request of that number.
  public init(
    id: UInt64,
    result: EntryResult,
    leftBlacklist: Bool = false,
    joinedBlacklist: Bool = false,
    payload: LoadPayload? = nil
  ) {
    self.id = id
    self.result = result
    self.leftBlacklist = leftBlacklist
    self.joinedBlacklist = joinedBlacklist
    self.payload = payload
  }
}

/// Who waits for the requests of a batch.
public protocol LoadReceiver: AnyObject, Sendable {
  /// Takes completions, each request's exactly once; called on the manager's threads, under no lock.
  func complete(_ completions: [LoadCompletion])
  /// So many bytes of a request's body are there, of so many where that is known; only with
  /// ``LoadContext/Parts/reportsProgress``.
  func progress(_ id: UInt64, receivedBytes: Int, expectedBytes: Int?)
  /// The image of a request as far as it has come, each better than the one before, in full size and not transformed; only with
  /// ``LoadContext/Parts/showsPartialImages``.
  func partialImage(_ id: UInt64, _ image: DecodedImage)
  /// The request waits for the flight of that number, by which the manager knows what to take it away from.
  func joined(_ id: UInt64, flight: UInt64)
}

extension LoadReceiver {
  /// Does nothing.
  public func progress(_ id: UInt64, receivedBytes: Int, expectedBytes: Int?) {}
  /// Does nothing.
  public func partialImage(_ id: UInt64, _ image: DecodedImage) {}
  /// Does nothing.
  public func joined(_ id: UInt64, flight: UInt64) {}
}
