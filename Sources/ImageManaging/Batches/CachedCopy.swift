import ImageCaching

/// Where the bytes of a cached image are that must be read before it counts as a hit; an object, as most requests have none.
final class CachedCopy: Sendable {
  enum Place: Sendable {
    /// A record of the context's own cache, or of a read-only one.
    case entry(ImageCache, key: CacheKey, identity: [UInt8], head: EntryHead, isOwn: Bool)
    /// A file of a flat folder, of which nothing is known yet.
    case file(FlatFolder)
    /// The original in memory, of which only a transform is missing.
    case memory(RememberedImage)
  }

  let place: Place
  /// The request headers that the record's answer depends on.
  let vary: [UInt8]
  /// Whether these are bytes of the transformed image, so that nothing is left to do but to decode them.
  let isTransformed: Bool
  /// The decoded image, where memory has it and only the bytes are wanted.
  let remembered: RememberedImage?

  init(place: Place, vary: [UInt8] = [], isTransformed: Bool = false, remembered: RememberedImage? = nil) {
    self.place = place
    self.vary = vary
    self.isTransformed = isTransformed
    self.remembered = remembered
  }

  /// The record; nil for a copy without one.
  var head: EntryHead? {
    switch place {
    case .entry(_, _, _, let head, _): head
    case .memory(let original): original.head
    case .file: nil
    }
  }

  /// The record of the flight's own image in the context's own cache; nil for a copy elsewhere, and for a transformed image.
  var ownHead: EntryHead? {
    if case .entry(_, _, _, let head, true) = place, !isTransformed { head } else { nil }
  }
}

/// The record that the network is asked about.
final class Revalidation: Sendable {
  let head: EntryHead
  let details: EntryDetails

  init(head: EntryHead, details: EntryDetails) {
    self.head = head
    self.details = details
  }
}
