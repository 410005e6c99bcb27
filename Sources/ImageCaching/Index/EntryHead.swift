package import Base

/// The fixed part of a cached image's record: a plain value without references.
package struct EntryHead: Sendable, Hashable {
  /// When it was stored or last revalidated. If a run did that, it is the run's start, unless the server's freshness applies.
  package var storedAt: Timestamp
  /// When it was last used; kept only if the cache expires by access, and updated at most hourly.
  package var accessedAt: Timestamp
  /// What is known of the image; records count at most 65,535 frames.
  package var image: ImageProperties
  package var bodySize: UInt64
  package var checksum: Checksum
  package var proof: ProofDepth
  /// Whether a decoder warned about the body.
  package var hasWarnings: Bool
  /// How the declared content type compares with the format.
  package var contentTypeMatch: ContentTypeMatch
  package var status: UInt16
  /// Whether the body is a file of its own because it exceeds ``ImageCache/maximumInlineBytes``.
  package var isBlob: Bool
  /// Whether the response depends on request headers, whose values ``CacheReader/vary(of:identity:)`` returns.
  package var hasVary: Bool
  /// The number of the body, which increases with each stored body: it locates the body, and shows whether a record has changed
  /// since it was read.
  package var revision: UInt64
  /// The folder of blobs that contains it, of 256.
  var blobFolder: UInt8
  var storedFreshness: StoredFreshness
  var lifetimeMilliseconds: Int64?

  /// How long this entry stays fresh after ``storedAt``, overriding the cache's rule; nil: the cache's rule applies.
  package var lifetime: Duration? {
    get { lifetimeMilliseconds.map { .milliseconds($0) } }
    set { lifetimeMilliseconds = newValue.map { max(0, $0.wholeMilliseconds) } }
  }

  /// The freshness that the server declared, counted from ``storedAt``. It applies only if the cache's rule is
  /// ``FreshnessRule/http``.
  package var freshness: Freshness { storedFreshness.value }

  /// The key of its body in the table `bodies`.
  var bodyKey: BodyKey { BodyKey(revision: revision) }
}

extension EntryHead {
  /// The head of an image that is to be stored, or that is kept only in memory. Storing it sets the times, the size, and the place of
  /// its body.
  package init(
    storedAt: Timestamp = Timestamp(milliseconds: 0),
    image: ImageProperties,
    proof: ProofDepth,
    hasWarnings: Bool = false,
    contentTypeMatch: ContentTypeMatch,
    status: UInt16 = 200,
    bodySize: UInt64 = 0,
    checksum: Checksum,
    freshness: Freshness = Freshness(),
    lifetime: Duration? = nil
  ) {
    self.init(
      storedAt: storedAt,
      accessedAt: storedAt,
      image: image,
      bodySize: bodySize,
      checksum: checksum,
      proof: proof,
      hasWarnings: hasWarnings,
      contentTypeMatch: contentTypeMatch,
      status: status,
      isBlob: false,
      hasVary: false,
      revision: 0,
      blobFolder: 0,
      storedFreshness: StoredFreshness(freshness),
      lifetimeMilliseconds: nil
    )
    self.lifetime = lifetime
  }
}

/// A key of the table `bodies`: the revision, big-endian, so that new bodies come last and are adjacent.
struct BodyKey: IndexKey {
  let revision: UInt64

  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBytes(of: revision.bigEndian, body)
  }
}

package enum LookUp: Sendable, Hashable {
  /// Cached, and not too old.
  case fresh(EntryHead)
  /// Cached, but expired: it must be revalidated before use.
  case expired(EntryHead)
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

package enum CachedBody: Sendable, Hashable {
  /// The bytes, which match the record's checksum.
  case bytes([UInt8])
  /// The bytes differ from the stored ones or are missing: remove the record with ``CacheWriter/removeIfUnchanged(_:_:)``.
  case damaged(Damage)

  package enum Damage: Sendable, Hashable {
    case missing
    /// Its length differs from the stored one.
    case wrongSize
    /// Its length is right, but its bytes differ.
    case wrongChecksum
  }
}
