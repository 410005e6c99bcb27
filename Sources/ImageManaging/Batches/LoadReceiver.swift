public import ImageCoding
public import ImagePrimitives
public import ImageURLs

/// How a load ended.
public struct LoadCompletion: Sendable {
  /// How it ended.
  public var result: EntryResult
  /// Whether its success took the URL off the blacklist.
  public var leftBlacklist: Bool
  /// Whether its failure put the URL on the blacklist, where it was not before.
  public var joinedBlacklist: Bool
  /// What the context's ``LoadContext/Parts/delivery`` asks for, where the load brought it.
  public var payload: LoadPayload?

  public init(
    _ result: EntryResult,
    leftBlacklist: Bool = false,
    joinedBlacklist: Bool = false,
    payload: LoadPayload? = nil
  ) {
    self.result = result
    self.leftBlacklist = leftBlacklist
    self.joinedBlacklist = joinedBlacklist
    self.payload = payload
  }
}

/// Who waits for the entries of a batch.
///
/// Everything is called under no lock: on the store thread, except that cancelling completes entries on the caller's thread, which also
/// finds out there what its entries joined.
public protocol LoadReceiver: AnyObject, Sendable {
  /// Takes entries with how they ended, each exactly once.
  func complete(_ completions: [(Entry, LoadCompletion)])

  /// So many bytes of an entry's body have come, of so many if that is known; only with ``LoadContext/Parts/reportsProgress``.
  func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?)

  /// The image of an entry as far as it has come, each better than the one before, in full size and not transformed; only with
  /// ``LoadContext/Parts/showsPartialImages``.
  func partialImage(_ entry: Entry, _ image: DecodedImage)

  /// An entry waits for the flight of that number from now on.
  func joined(_ entry: Entry, flight: UInt64)
}

extension LoadReceiver {
  public func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?) {}
  public func partialImage(_ entry: Entry, _ image: DecodedImage) {}
  public func joined(_ entry: Entry, flight: UInt64) {}
}
