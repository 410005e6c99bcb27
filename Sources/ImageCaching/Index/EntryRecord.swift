public import Base

/// All fields of an image's record, to be stored or as stored. It must not contain credentials: the identity has them as a digest
/// of ``CredentialHasher``, and the URL has them masked.
package struct EntryFields: Sendable, Hashable {
  /// The hash of ``identity``.
  package var key: CacheKey
  package var head: EntryHead
  /// The whole identity, which reveals hash collisions.
  package var identity: [UInt8]
  /// The URL as first written, resolved and with credentials masked. Exports derive file names from it, since apps identify
  /// images by the exact text of the URL.
  package var shownURL: [UInt8]
  /// The response's ETag as sent; empty: none. Values above 65,535 bytes are dropped, here and below.
  package var etag: [UInt8]
  package var lastModified: [UInt8]
  package var contentType: [UInt8]
  /// The request's values of the headers that the response's Vary names, as canonical text in a form of the caller; empty: the
  /// response depends on none. Values longer than ``maximumVaryBytes`` are truncated and so match no request.
  package var vary: [UInt8]

  package static let maximumVaryBytes = Int(UInt16.max) - StoredFreshness.maximumByteCount

  package init(
    key: CacheKey,
    head: EntryHead,
    identity: [UInt8],
    shownURL: [UInt8],
    validators: Validators = Validators(),
    contentType: String? = nil,
    vary: [UInt8] = []
  ) {
    self.key = key
    self.head = head
    self.identity = identity
    self.shownURL = shownURL
    etag = Self.field(validators.etag)
    lastModified = Self.field(validators.lastModified)
    self.contentType = Self.field(contentType)
    self.vary = vary.count <= Self.maximumVaryBytes ? vary : Array(vary[..<Self.maximumVaryBytes])
    self.head.hasVary = !vary.isEmpty
  }

  init(_ stored: StoredEntry, key: CacheKey) {
    self.key = key
    head = stored.head
    identity = Array(stored.identity)
    shownURL = Array(stored.url)
    etag = Array(stored.etag)
    lastModified = Array(stored.lastModified)
    contentType = Array(stored.contentType)
    vary = Array(stored.vary)
  }

  mutating func update(_ validators: Validators) {
    if let new = validators.etag { etag = Self.field(new) }
    if let new = validators.lastModified { lastModified = Self.field(new) }
  }

  private static func field(_ text: String?) -> [UInt8] {
    guard let text, text.utf8.count <= Int(UInt16.max) else { return [] }
    return Array(text.utf8)
  }
}

package enum NewBody {
  case bytes([UInt8])
  /// A body that is already in its own file.
  case staged(StagedBlob)

  /// Writes a large body to its own file, before the transaction, which blocks all other writers.
  init(_ bytes: [UInt8], in folder: CacheFolder) throws(CacheError) {
    self = bytes.count > ImageCache.maximumInlineBytes ? .staged(try BlobWriter.write(bytes, in: folder)) : .bytes(bytes)
  }

  var byteCount: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .staged(let blob): Int(clamping: blob.size)
    }
  }
}

/// An entry of the cache with all fields of its record.
public struct EntryRecord: Sendable, Hashable {
  package let fields: EntryFields
  /// When it expires by the rules of the cache that read it; nil: never.
  public let expiresAt: Timestamp?
  /// Whether it was stored while the clock was wrong, and so has expired.
  public let isFromFuture: Bool

  init(_ fields: EntryFields, expiry: ExpiryRule, now: Timestamp) {
    self.fields = fields
    isFromFuture = expiry.isFromFuture(fields.head, at: now)
    expiresAt = isFromFuture ? now : expiry.end(of: fields.head)
  }

  package var key: CacheKey { fields.key }
  package var head: EntryHead { fields.head }
  /// The whole identity.
  public var identity: [UInt8] { fields.identity }
  /// The URL as first written, with credentials masked.
  public var url: String { String(decoding: fields.shownURL, as: UTF8.self) }
  package var shownURL: [UInt8] { fields.shownURL }
  /// The `ETag` of the response as sent; nil: none.
  public var etag: String? { Self.text(fields.etag) }
  /// The `Last-Modified` of the response as sent; nil: none.
  public var lastModified: String? { Self.text(fields.lastModified) }
  /// The `Content-Type` of the response as sent; nil: none.
  public var contentType: String? { Self.text(fields.contentType) }
  /// The request's values of the headers that the response depends on, as the caller stored them; empty: none.
  package var vary: [UInt8] { fields.vary }
  /// The format of the bytes; nil if it wasn't recognised.
  public var format: ImageFormat? { head.image.format }
  /// Its size in pixels, as stored; 0 × 0 if its header wasn't read.
  public var size: ImageSize { head.image.size }
  public var byteCount: Int { Int(clamping: head.bodySize) }
  /// The XXH3 checksum of its bytes, of 128 bits.
  public var checksum: Checksum { head.checksum }
  /// When it was stored, or last revalidated.
  public var storedAt: Timestamp { head.storedAt }

  private static func text(_ bytes: [UInt8]) -> String? { bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
}

extension EntryRecord {
  private static let mark = Array("#transform=".utf8)

  /// Whether a transformer made it from another image: its identity is the original's with `#transform=` and the transformer's key.
  public var isTransformed: Bool { markStart != nil }

  /// The identity of the original image; nil if this isn't a transformed image.
  public var originalIdentity: ArraySlice<UInt8>? { markStart.map { identity[..<$0] } }

  /// The key of the transformer that made it; nil if this isn't a transformed image.
  public var transformKey: ArraySlice<UInt8>? { markStart.map { identity[($0 + Self.mark.count)...] } }

  private var markStart: Int? {
    identity.indices.first { identity[$0] == UInt8(ascii: "#") && identity[$0...].starts(with: Self.mark) }
  }
}

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
  package var hasWarnings: Bool
  /// How the declared content type compares with the format.
  package var contentTypeMatch: ContentTypeMatch
  package var status: UInt16
  /// Whether the body is a file of its own because it exceeds ``ImageCache/maximumInlineBytes``.
  package var isBlob = false
  /// Whether the response depends on request headers, whose values ``CacheReader/vary(of:identity:)`` returns.
  package var hasVary = false
  /// The number of the body, which increases with each stored body: it locates the body, and shows whether a record has changed
  /// since it was read.
  package var revision: UInt64 = 0
  /// The folder of blobs that contains it, of 256.
  var blobFolder: UInt8 = 0
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
      storedFreshness: StoredFreshness(freshness)
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
  /// The bytes differ from the stored ones or are missing: remove the record with ``ImageCache/removeDamaged(_:_:)``.
  case damaged(Damage)

  package enum Damage: Sendable, Hashable {
    case missing
    case wrongSize
    /// Its length is right, but its bytes differ.
    case wrongChecksum
  }
}
