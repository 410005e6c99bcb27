public import ImagePrimitives

/// What a look-up tells of a cached image: the fixed part of its record, a plain value without references.
public struct EntryHead: Sendable, Hashable {
  /// When it was stored or last found right; if a run did that, when the run began, unless the server's word decides for how long it is
  /// fresh.
  public var storedAt: Timestamp
  /// When it was last asked for, kept only where the cache expires by access, and renewed at most hourly.
  public var accessedAt: Timestamp
  /// How long this entry stays fresh after ``storedAt`` in place of the cache's rule; nil: the cache's rule holds.
  public var lifetime: Duration? { lifetimeMilliseconds.map { .milliseconds($0) } }
  /// The format of its bytes, where they were recognised.
  public var format: ImageFormat?
  /// Width and height in pixels; 0 where not known.
  public var width: UInt32, height: UInt32
  /// Frames of an animation, 1 for a still image, 0 where not known.
  public var frames: UInt32
  /// Bytes of the body.
  public var bodySize: UInt64
  /// The body's checksum.
  public var checksum: Checksum
  /// How deeply the body has been proven good.
  public var proof: ProofDepth
  /// Whether a decoder found the body odd, though good.
  public var hasWarnings: Bool
  /// How the declared content type fits the format.
  public var contentTypeMatch: ContentTypeMatch
  /// The HTTP status that it came with.
  public var status: UInt16
  /// Whether the body is a file of its own, because it is above ``ImageCache/maximumInlineBytes``.
  public var isBlob: Bool
  /// For how long it may be used without asking, by the server's own word, from ``storedAt`` on. Counts only where the cache's
  /// freshness rule is ``FreshnessRule/http``.
  public var freshness: Freshness { storedFreshness.value }
  /// Whether the answer depends on headers of the request, whose values ``CacheReader/vary(of:identity:)`` gives.
  public var hasVary: Bool

  var storedFreshness: StoredFreshness
  var lifetimeMilliseconds: Int64?
  /// The number of the body, a new and higher one whenever one is stored: it finds the body, and tells whether a record is still
  /// the one that was read.
  var revision: UInt64
  /// Which of the 256 folders of blobs holds it.
  var blobFolder: UInt8

  /// Calls `body` with the key of the table `bodies`: the revision, big-endian, so that new bodies come last and side by side.
  @inline(__always)
  func withBodyKey<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes(of: revision.bigEndian, body)
  }
}

/// What a look-up found.
public enum LookUp: Sendable, Hashable {
  /// Cached, and not too old.
  case fresh(EntryHead)
  /// Cached, and too old to be served without asking.
  case expired(EntryHead)
  /// Not cached.
  case missing
}

/// A deeper proof of a cached body, found by reading it again; see ``CacheWriter/raiseProof(of:identity:from:to:)``.
public struct NewProof: Sendable, Hashable {
  /// The depth that was reached; a record that has more keeps it.
  public var depth: ProofDepth
  /// The format of the bytes, where it was recognised.
  public var format: ImageFormat?
  /// Width and height in pixels.
  public var width: UInt32, height: UInt32
  /// Frames of an animation, 1 for a still image.
  public var frames: UInt32
  /// Whether a decoder found the body odd, though good.
  public var hasWarnings: Bool

  /// A proof of that depth, with what it found.
  public init(
    depth: ProofDepth,
    format: ImageFormat?,
    width: UInt32,
    height: UInt32,
    frames: UInt32,
    hasWarnings: Bool = false
  ) {
    self.hasWarnings = hasWarnings
    self.depth = depth
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
  }
}

/// The body of a cached image, read to its end.
public enum CachedBody: Sendable, Hashable {
  /// Its bytes, which have the record's checksum.
  case bytes([UInt8])
  /// Its bytes are not what was stored, or are gone: remove the record with ``CacheWriter/removeIfUnchanged(_:_:)``.
  case damaged(Damage)

  /// What is wrong with a body.
  public enum Damage: Sendable, Hashable {
    /// The body is not there.
    case missing
    /// It has another length than was stored.
    case wrongSize
    /// It has the right length and other bytes.
    case wrongChecksum
  }
}

/// The server's word on freshness as a record holds it, in the first bytes of the record's last field.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | i64 | lifetime in milliseconds; -1: the server said nothing |
/// | 8 | i64 | stale-while-revalidate, milliseconds |
/// | 16 | u8 | flags: 1 no-cache, 2 immutable |
///
/// It is left out where the server said nothing at all, unless Vary values follow it.
struct StoredFreshness: Sendable, Hashable {
  static let byteCount = 17
  private static let revalidateFlag: UInt8 = 1
  private static let immutableFlag: UInt8 = 2

  /// nil: the server said nothing.
  var lifetimeMilliseconds: Int64?
  var staleWhileRevalidateMilliseconds: Int64 = 0
  private var flags: UInt8 = 0

  /// No word of the server.
  init() {}

  init(_ freshness: Freshness) {
    lifetimeMilliseconds = freshness.lifetime.map { max(0, $0.wholeMilliseconds) }
    staleWhileRevalidateMilliseconds = max(0, freshness.staleWhileRevalidate.wholeMilliseconds)
    flags =
      (freshness.mustRevalidate ? Self.revalidateFlag : 0) | (freshness.isImmutable ? Self.immutableFlag : 0)
  }

  /// The freshness that the first bytes of a record's last field hold; none where they are too few.
  @inline(__always)
  init(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.byteCount else { return }
    let lifetime: Int64 = bytes.littleEndian(at: 0)
    lifetimeMilliseconds = lifetime < 0 ? nil : lifetime
    staleWhileRevalidateMilliseconds = max(0, bytes.littleEndian(at: 8))
    flags = bytes[16]
  }

  var mustRevalidate: Bool { flags & Self.revalidateFlag != 0 }

  /// As everybody else has it; what is stored was storable.
  var value: Freshness {
    Freshness(
      lifetime: lifetimeMilliseconds.map { .milliseconds($0) },
      mustRevalidate: mustRevalidate,
      isImmutable: flags & Self.immutableFlag != 0,
      staleWhileRevalidate: .milliseconds(staleWhileRevalidateMilliseconds)
    )
  }

  /// The last field of a record with those Vary values; empty where neither says anything.
  func field(vary: [UInt8]) -> [UInt8] {
    if self == StoredFreshness() && vary.isEmpty { return [] }
    var field = [UInt8](repeating: 0, count: Self.byteCount)
    field.withUnsafeMutableBytes { bytes in
      bytes.setLittleEndian(lifetimeMilliseconds ?? -1, at: 0)
      bytes.setLittleEndian(staleWhileRevalidateMilliseconds, at: 8)
      bytes[16] = flags
    }
    return field + vary
  }
}
