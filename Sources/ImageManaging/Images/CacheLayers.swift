/// The layers of a cache.
public struct CacheLayers: OptionSet, Sendable, Hashable {
  /// A bit for each.
  public let rawValue: UInt8

  /// The layers of those bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Decoded images.
  public static let memory = CacheLayers(rawValue: 1)
  /// Files as they came; read-only caches count as disk.
  public static let disk = CacheLayers(rawValue: 2)
  /// Both.
  public static let all: CacheLayers = [.memory, .disk]
}

/// Which layers a load looks in and fills: for what it asks for, and, where it transforms, for the original image apart.
public struct CacheLayerUse: Sendable, Hashable {
  /// Where the image is looked for; both by default.
  public var reads: CacheLayers
  /// Where the image is kept; both by default. A transformed image has no bytes of its own: it gets to the disk where
  /// ``LoadOptions/encoding`` or a ``LoadHooks/cacheSerializer`` encodes it.
  public var writes: CacheLayers
  /// Where the original of a transformed image is looked for; both by default.
  public var readsOriginal: CacheLayers
  /// Where the original of a transformed image is kept; on disk by default.
  public var writesOriginal: CacheLayers

  /// The given layers, each with its default.
  public init(
    reads: CacheLayers = .all,
    writes: CacheLayers = .all,
    readsOriginal: CacheLayers = .all,
    writesOriginal: CacheLayers = .disk
  ) {
    self.reads = reads
    self.writes = writes
    self.readsOriginal = readsOriginal
    self.writesOriginal = writesOriginal
  }
}
