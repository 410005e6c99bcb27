package import Base

/// The fixed part of a cached image's record: a plain value without references.
package struct EntryHead: Sendable, Hashable {
  /// When it was stored or last revalidated. If a run did that, it is the run's start, unless the server's freshness applies.
  package var storedAt: Timestamp
  /// When it was last used; kept only if the cache expires by access, and updated at most hourly.
  package var accessedAt: Timestamp
  /// How long this entry stays fresh after ``storedAt``, overriding the cache's rule; nil: the cache's rule applies.
  package var lifetime: Duration? { lifetimeMilliseconds.map { .milliseconds($0) } }
  /// What is known of the image; records count at most 65,535 frames.
  package var image: ImageProperties
  /// The size of the body in bytes.
  package var bodySize: UInt64
  package var checksum: Checksum
  /// How thoroughly the body was verified.
  package var proof: ProofDepth
  /// Whether a decoder warned about the body.
  package var hasWarnings: Bool
  /// How the declared content type compares with the format.
  package var contentTypeMatch: ContentTypeMatch
  /// The HTTP status of the response.
  package var status: UInt16
  /// Whether the body is a file of its own because it exceeds ``ImageCache/maximumInlineBytes``.
  package var isBlob: Bool
  /// The freshness that the server declared, counted from ``storedAt``. It applies only if the cache's rule is
  /// ``FreshnessRule/http``.
  package var freshness: Freshness { storedFreshness.value }
  /// Whether the response depends on request headers, whose values ``CacheReader/vary(of:identity:)`` returns.
  package var hasVary: Bool

  var storedFreshness: StoredFreshness
  var lifetimeMilliseconds: Int64?
  /// The number of the body, which increases with each stored body: it locates the body, and shows whether a record has changed
  /// since it was read.
  package var revision: UInt64
  /// The folder of blobs that contains it, of 256.
  var blobFolder: UInt8

  /// Calls `body` with the key of the table `bodies`: the revision, big-endian, so that new bodies come last and are adjacent.
  @inline(__always)
  func withBodyKey<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes(of: revision.bigEndian, body)
  }
}

/// The result of a look-up.
package enum LookUp: Sendable, Hashable {
  /// Cached, and not too old.
  case fresh(EntryHead)
  /// Cached, but expired: it must be revalidated before use.
  case expired(EntryHead)
  /// Not cached.
  case missing
}

/// A more thorough verification of a cached body; see ``CacheWriter/raiseProof(of:identity:from:to:)``.
package struct NewProof: Sendable, Hashable {
  /// The depth of the verification; a record with a deeper one keeps it.
  package var depth: ProofDepth
  package var image: ImageProperties
  /// Whether a decoder warned about the body.
  package var hasWarnings: Bool

  package init(depth: ProofDepth, image: ImageProperties, hasWarnings: Bool = false) {
    self.depth = depth
    self.image = image
    self.hasWarnings = hasWarnings
  }
}

/// The complete body of a cached image.
package enum CachedBody: Sendable, Hashable {
  /// The bytes, which match the record's checksum.
  case bytes([UInt8])
  /// The bytes differ from the stored ones or are missing: remove the record with ``CacheWriter/removeIfUnchanged(_:_:)``.
  case damaged(Damage)

  /// The kind of damage.
  package enum Damage: Sendable, Hashable {
    case missing
    /// Its length differs from the stored one.
    case wrongSize
    /// Its length is right, but its bytes differ.
    case wrongChecksum
  }
}

/// The freshness that the server declared, as stored in the first bytes of a record's last field.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | i64 | lifetime in milliseconds; -1: not declared |
/// | 8 | i64 | stale-while-revalidate, milliseconds |
/// | 16 | u8 | flags: 1 no-cache, 2 immutable |
///
/// It is omitted if the server declared no freshness, unless Vary values follow it.
struct StoredFreshness: Sendable, Hashable {
  static let byteCount = 17
  private static let revalidateFlag: UInt8 = 1
  private static let immutableFlag: UInt8 = 2

  /// Nil if the server declared none.
  var lifetimeMilliseconds: Int64?
  var staleWhileRevalidateMilliseconds: Int64 = 0
  private var flags: UInt8 = 0

  /// No declared freshness.
  init() {}

  init(_ freshness: Freshness) {
    lifetimeMilliseconds = freshness.lifetime.map { max(0, $0.wholeMilliseconds) }
    staleWhileRevalidateMilliseconds = max(0, freshness.staleWhileRevalidate.wholeMilliseconds)
    flags =
      (freshness.mustRevalidate ? Self.revalidateFlag : 0) | (freshness.isImmutable ? Self.immutableFlag : 0)
  }

  /// Parses the first bytes of a record's last field; no freshness if there are too few.
  @inline(__always)
  init(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.byteCount else { return }
    let lifetime: Int64 = bytes.littleEndian(at: 0)
    lifetimeMilliseconds = lifetime < 0 ? nil : lifetime
    staleWhileRevalidateMilliseconds = max(0, bytes.littleEndian(at: 8))
    flags = bytes[16]
  }

  var mustRevalidate: Bool { flags & Self.revalidateFlag != 0 }

  /// The freshness as other modules use it; stored responses are storable.
  var value: Freshness {
    Freshness(
      lifetime: lifetimeMilliseconds.map { .milliseconds($0) },
      mustRevalidate: mustRevalidate,
      isImmutable: flags & Self.immutableFlag != 0,
      staleWhileRevalidate: .milliseconds(staleWhileRevalidateMilliseconds)
    )
  }

  /// The last field of a record with those Vary values; empty if there is neither freshness nor Vary.
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
