import ImagePrimitives

extension EntryRecord {
  private static let mark = Array("#transform=".utf8)

  /// Whether it is what a transformer made of another image: its identity is that one's with `#transform=` and the transformer's key.
  public var isTransformed: Bool { markStart != nil }

  /// The identity of the image that it was made of; nil for an image as it came.
  public var originalIdentity: ArraySlice<UInt8>? { markStart.map { identity[..<$0] } }

  /// The key of the transformer that made it; nil for an image as it came.
  public var transformKey: ArraySlice<UInt8>? { markStart.map { identity[($0 + Self.mark.count)...] } }

  private var markStart: Int? {
    identity.indices.first { identity[$0] == UInt8(ascii: "#") && identity[$0...].starts(with: Self.mark) }
  }
}

extension ImageCache {
  /// What transformers made of images, by the identities of those; of `identities` those are left out of which there is nothing.
  ///
  /// Records are found by their whole identity, so that all of them are looked through.
  public func transformedEntries(of identities: Set<[UInt8]>) throws(CacheError) -> [[UInt8]: [EntryRecord]] {
    var found: [[UInt8]: [EntryRecord]] = [:]
    try forEachEntry { record throws(CacheError) in
      guard let original = record.originalIdentity.map(Array.init), identities.contains(original) else { return }
      found[original, default: []].append(record)
    }
    return found
  }
}
