public import ImagePrimitives
public import ImageURLs

/// Entries of manifests, their texts side by side in one array, whose storage is used again for the next batch.
public struct EntryBatch: Sendable {
  /// The texts that entries point into.
  public var bytes: [UInt8] = []
  /// The entries, in the order in which they are to be fetched.
  public var entries: [ManifestEntry] = []
  /// What is wrong with entries that are invalid: a sentence each.
  public var messages: [String] = []

  /// An empty batch.
  public init() {}

  /// Empties it and keeps its storage.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
    messages.removeAll(keepingCapacity: true)
  }
}

/// One row of a manifest.
public struct ManifestEntry: Sendable {
  /// What became of a row.
  public enum State: Sendable, Hashable {
    /// To be fetched.
    case good
    /// Left out by `include` or `exclude`.
    case filtered
    /// No URL can be made of it; why is the message of that index in the batch.
    case invalid(message: UInt32)
  }

  /// The index of its manifest in ``ManifestReader/manifestNames``.
  public var manifest: UInt32
  /// The line on which it begins, from 1.
  public var line: UInt64
  /// Its own class, or its manifest's.
  public var priority: Priority
  /// What became of it.
  public var state: State
  /// Where the parts of the normalised URL lie in ``normalized``; empty where it is invalid.
  public var parts: URLParts
  var writtenOffset: UInt32
  var writtenLength: UInt32
  var normalizedOffset: UInt32
  var normalizedLength: UInt32

  /// Where in the batch's bytes it stands as written, a relative one resolved; credentials are not masked.
  public var written: Range<Int> { Int(writtenOffset)..<Int(writtenOffset) + Int(writtenLength) }

  /// Where in the batch's bytes the normalised URL stands; the same place where it was written so, empty where it is invalid.
  public var normalized: Range<Int> { Int(normalizedOffset)..<Int(normalizedOffset) + Int(normalizedLength) }
}
