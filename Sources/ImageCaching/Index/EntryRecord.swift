public import Base

/// An image to be stored; its times are those of the transaction.
///
/// It must not contain credentials: the identity has them as a digest of ``CredentialHasher``, and the URL has them masked.
package struct NewEntry {
  /// The hash of ``identity``.
  package var key: CacheKey
  /// The whole identity, which reveals hash collisions; must stay valid while the entry is stored.
  package var identity: UnsafeRawBufferPointer
  /// The URL as first written, resolved and with credentials masked; must stay valid while the entry is stored.
  ///
  /// Exports derive file names from it, since apps identify images by the exact text of the URL.
  package var shownURL: UnsafeRawBufferPointer
  /// What is known of the image.
  package var image: ImageProperties
  /// How thoroughly the body was verified.
  package var proof: ProofDepth
  /// Whether a decoder warned about the body.
  package var hasWarnings: Bool
  /// How the declared content type compares with the format.
  package var contentTypeMatch: ContentTypeMatch
  /// The HTTP status of the response.
  package var status: UInt16
  /// The body's checksum, by ``checksum(of:)`` or ``StagedBlob/checksum``.
  package var checksum: Checksum
  /// The response's ETag as sent; empty: none. Values above 65,535 bytes are dropped, here and below.
  package var etag: [UInt8]
  /// The response's Last-Modified as sent; empty: none.
  package var lastModified: [UInt8]
  /// The response's Content-Type as sent; empty: none.
  package var contentType: [UInt8]
  /// How long it stays fresh, overriding the cache's rule; nil: the cache's rule applies.
  package var lifetime: Duration?
  /// The freshness that the server declared, counted from the time of storing.
  package var freshness: Freshness
  /// The request's values of the headers that the response's Vary names, as canonical text in a form of the caller; empty: the
  /// response depends on none. Values longer than ``maximumVaryBytes`` are truncated and so match no request.
  package var vary: [UInt8]

  /// The maximum length of ``vary``.
  package static let maximumVaryBytes = Int(UInt16.max) - StoredFreshness.byteCount

  package init(
    key: CacheKey,
    identity: UnsafeRawBufferPointer,
    shownURL: UnsafeRawBufferPointer,
    image: ImageProperties,
    proof: ProofDepth,
    hasWarnings: Bool = false,
    contentTypeMatch: ContentTypeMatch,
    status: UInt16 = 200,
    checksum: Checksum,
    etag: [UInt8] = [],
    lastModified: [UInt8] = [],
    contentType: [UInt8] = [],
    lifetime: Duration? = nil,
    freshness: Freshness = Freshness(),
    vary: [UInt8] = []
  ) {
    self.key = key
    self.identity = identity
    self.shownURL = shownURL
    self.image = image
    self.proof = proof
    self.hasWarnings = hasWarnings
    self.contentTypeMatch = contentTypeMatch
    self.status = status
    self.checksum = checksum
    self.etag = Self.fitting(etag)
    self.lastModified = Self.fitting(lastModified)
    self.contentType = Self.fitting(contentType)
    self.lifetime = lifetime
    self.freshness = freshness
    self.vary = vary.count <= Self.maximumVaryBytes ? vary : Array(vary[..<Self.maximumVaryBytes])
  }

  static func fitting(_ field: [UInt8]) -> [UInt8] { field.count <= Int(UInt16.max) ? field : [] }
}

/// The body of an image to be stored.
package enum NewBody {
  /// Bytes in memory, which must stay valid while the entry is stored; for up to ``ImageCache/maximumInlineBytes``.
  case bytes(UnsafeRawBufferPointer)
  /// A body that is already in its own file.
  case staged(StagedBlob)
}

/// An entry of the cache with all fields of its record.
public struct EntryRecord: Sendable, Hashable {
  /// The hash of ``identity``.
  package let key: CacheKey
  /// The fixed part of the record.
  package let head: EntryHead
  /// The whole identity.
  public let identity: [UInt8]
  /// The URL as first written, with credentials masked.
  public let shownURL: [UInt8]
  /// The response's ETag as sent; empty: none.
  public let etag: [UInt8]
  /// The response's Last-Modified as sent; empty: none.
  public let lastModified: [UInt8]
  /// The response's Content-Type as sent; empty: none.
  public let contentType: [UInt8]
  /// The request's values of the headers that the response depends on, as the caller stored them; empty: none.
  package let vary: [UInt8]
  /// When it expires by the rules of the cache that read it; nil: never.
  public let expiresAt: Timestamp?
  /// Whether it was stored while the clock was wrong, and so has expired.
  public let isFromFuture: Bool

  init(key: CacheKey, stored: StoredEntry, expiry: ExpiryRule, now: Timestamp) {
    self.key = key
    head = stored.head
    identity = Array(stored.identity)
    shownURL = Array(stored.url)
    etag = Array(stored.etag)
    lastModified = Array(stored.lastModified)
    contentType = Array(stored.contentType)
    vary = Array(stored.vary)
    isFromFuture = expiry.isFromFuture(head, at: now)
    expiresAt = isFromFuture ? now : expiry.expiry(of: head)
  }

  /// The format of the bytes; nil if it wasn't recognised.
  public var format: ImageFormat? { head.image.format }
  /// Its size in pixels, as stored; 0 × 0 if its header wasn't read.
  public var size: ImageSize { head.image.size }
  /// The number of bytes.
  public var byteCount: Int { Int(clamping: head.bodySize) }
  /// The XXH3 checksum of its bytes, of 128 bits.
  public var checksum: Checksum { head.checksum }
  /// When it was stored, or last revalidated.
  public var storedAt: Timestamp { head.storedAt }
}
