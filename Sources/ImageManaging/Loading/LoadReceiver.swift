package import ImageCaching
package import ImageCoding
package import Base

package struct LoadCompletion: Sendable {
  package var result: EntryResult
  /// Whether its success removed the URL from the blacklist.
  package var leftBlacklist = false
  /// Whether its failure added the URL to the blacklist.
  package var joinedBlacklist = false
  /// The parts that the context's ``LoadOptions/delivery`` requests, as far as they are available.
  package var payload: LoadPayload?

  package init(_ result: EntryResult, payload: LoadPayload? = nil) { (self.result, self.payload) = (result, payload) }
}

/// Receives the results of the entries of a batch. It is called outside of locks, on the store thread; cancelling completes
/// entries on the caller's thread, where ``joined(_:flight:)`` is called too.
package protocol LoadReceiver: AnyObject, Sendable {
  /// Receives entries with their completions, each exactly once.
  func complete(_ completions: [(Entry, LoadCompletion)])

  /// Reports the received bytes of an entry's body, and its length if known; only with ``LoadOptions/reportsProgress``.
  func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?)

  /// Shows the image of an entry as far as it was received, each better than the one before, in full size and not transformed; only with
  /// ``LoadOptions/showsPartialImages``.
  func partialImage(_ entry: Entry, _ image: DecodedImage)

  /// Reports that an entry waits for the flight of that number from now on.
  func joined(_ entry: Entry, flight: UInt64)
}

extension LoadReceiver {
  package func progress(_ entry: Entry, receivedBytes: Int, expectedBytes: Int?) {}
  package func partialImage(_ entry: Entry, _ image: DecodedImage) {}
  package func joined(_ entry: Entry, flight: UInt64) {}
}

/// The parts of a completion besides its result; an object, so that results without one stay small.
package final class LoadPayload: Sendable {
  /// The decoded, transformed image.
  package let image: DecodedImage?
  /// The bytes as received, or as cached.
  package let data: [UInt8]?
  /// The record of the image that it shows; nil if it comes from memory.
  package let head: EntryHead?

  package init(image: DecodedImage? = nil, data: [UInt8]? = nil, head: EntryHead? = nil) {
    self.image = image
    self.data = data
    self.head = head
  }
}

/// The requested parts of a completion.
package struct LoadDelivery: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The decoded image; the memory layer may serve it.
  package static let image = LoadDelivery(rawValue: 1)
  /// The bytes of the file; the disk or the network serves them, even if the image is in memory.
  package static let data = LoadDelivery(rawValue: 2)
  /// With ``data``: those of the transformed image, if the context transforms.
  package static let transformedData = LoadDelivery(rawValue: 4)
}
