package import ImageCoding
package import ImagePrimitives
package import ImageURLs

/// How a load ended.
package struct LoadCompletion: Sendable {
  /// How it ended.
  package var result: EntryResult
  /// Whether its success took the URL off the blacklist.
  package var leftBlacklist: Bool
  /// Whether its failure put the URL on the blacklist, where it was not before.
  package var joinedBlacklist: Bool
  /// What the context's ``LoadOptions/delivery`` asks for, where the load brought it.
  package var payload: LoadPayload?

  package init(
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
package protocol LoadReceiver: AnyObject, Sendable {
  /// Takes entries with how they ended, each exactly once.
  func complete(_ completions: [(Entry, LoadCompletion)])

  /// So many bytes of an entry's body have come, of so many if that is known; only with ``LoadOptions/reportsProgress``.
  func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?)

  /// The image of an entry as far as it has come, each better than the one before, in full size and not transformed; only with
  /// ``LoadOptions/showsPartialImages``.
  func partialImage(_ entry: Entry, _ image: DecodedImage)

  /// An entry waits for the flight of that number from now on.
  func joined(_ entry: Entry, flight: UInt64)
}

extension LoadReceiver {
  package func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?) {}
  package func partialImage(_ entry: Entry, _ image: DecodedImage) {}
  package func joined(_ entry: Entry, flight: UInt64) {}
}

/// What a load brings beside its result; an object, so that results without one stay small.
package final class LoadPayload: Sendable {
  /// The decoded, transformed image.
  package let image: DecodedImage?
  /// The bytes as they came, or as the cache has them.
  package let data: [UInt8]?

  /// A payload of those parts.
  package init(image: DecodedImage? = nil, data: [UInt8]? = nil) {
    self.image = image
    self.data = data
  }
}

/// What a load is asked to bring.
package struct LoadDelivery: OptionSet, Sendable, Hashable {
  /// A bit for each.
  package let rawValue: UInt8

  /// The parts of those bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The decoded image; the memory layer serves it.
  package static let image = LoadDelivery(rawValue: 1)
  /// The bytes of the file; the disk or the network serves them, also where the image was in memory.
  package static let data = LoadDelivery(rawValue: 2)
}
