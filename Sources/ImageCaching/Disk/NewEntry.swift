public import ImagePrimitives

/// An image to be stored; its times are those of the transaction.
///
/// Credentials must be gone from all of it: the identity holds them as a ``CredentialHasher``'s digest, the URL masked.
public struct NewEntry {
  /// The hash of ``identity``.
  public var key: CacheKey
  /// The whole identity, which tells hash collisions; valid while the entry is stored.
  public var identity: UnsafeRawBufferPointer
  /// The URL as it was first written, resolved, secrets masked; valid while the entry is stored.
  ///
  /// Exports name files by it, as apps do that know an image by the very text of its URL.
  public var shownURL: UnsafeRawBufferPointer
  /// The format of its bytes, where they were recognised.
  public var format: ImageFormat?
  /// Width and height in pixels; 0 where not known.
  public var width: UInt32, height: UInt32
  /// Frames of an animation, 1 for a still image, 0 where not known.
  public var frames: UInt32
  /// How deeply the body has been proven good.
  public var proof: ProofDepth
  /// Whether a decoder found the body odd, though good.
  public var hasWarnings: Bool
  /// How the declared content type fits the format.
  public var contentTypeMatch: ContentTypeMatch
  /// The HTTP status that it came with.
  public var status: UInt16
  /// The body's checksum, by ``checksum(of:)`` or ``StagedBlob/checksum``.
  public var checksum: Checksum
  /// The response's ETag as sent; empty: none. What is above 65,535 bytes is dropped, here and below.
  public var etag: [UInt8]
  /// The response's Last-Modified as sent; empty: none.
  public var lastModified: [UInt8]
  /// The response's Content-Type as sent; empty: none.
  public var contentType: [UInt8]
  /// How long it stays fresh in place of the cache's rule; nil: the cache's rule holds.
  public var lifetime: Duration?
  /// The server's word on freshness, which counts from the moment of storing.
  public var freshness: Freshness
  /// The request's own values of the headers that the response's Vary names, as canonical text that only the caller understands;
  /// empty: the answer depends on none. What is longer than ``maximumVaryBytes`` is cut, and so equals no request's values.
  public var vary: [UInt8]

  /// The most bytes of ``vary`` that are kept.
  public static let maximumVaryBytes = Int(UInt16.max) - StoredFreshness.byteCount

  /// An entry to be stored.
  public init(
    key: CacheKey,
    identity: UnsafeRawBufferPointer,
    shownURL: UnsafeRawBufferPointer,
    format: ImageFormat?,
    width: UInt32 = 0,
    height: UInt32 = 0,
    frames: UInt32 = 0,
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
    self.format = format
    self.width = width
    self.height = height
    self.frames = frames
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
public enum NewBody {
  /// Bytes in memory, valid while the entry is stored; meant for up to ``ImageCache/maximumInlineBytes``.
  case bytes(UnsafeRawBufferPointer)
  /// A body that was written to a file of its own beforehand.
  case staged(StagedBlob)
}

/// One entry of the cache with all that its record tells.
public struct EntryRecord: Sendable, Hashable {
  /// The hash of ``identity``.
  public let key: CacheKey
  /// The fixed part of the record.
  public let head: EntryHead
  /// The whole identity.
  public let identity: [UInt8]
  /// The URL as it was first written, secrets masked.
  public let shownURL: [UInt8]
  /// The response's ETag as sent; empty: none.
  public let etag: [UInt8]
  /// The response's Last-Modified as sent; empty: none.
  public let lastModified: [UInt8]
  /// The response's Content-Type as sent; empty: none.
  public let contentType: [UInt8]
  /// The request's values of the headers that the answer depends on, as the caller of the store gave them; empty: none.
  public let vary: [UInt8]
  /// When it expires by the rules of the cache that read it; nil: never.
  public let expiresAt: Timestamp?

  init(key: CacheKey, stored: StoredEntry, expiry: ExpiryRule) {
    self.key = key
    head = stored.head
    identity = Array(stored.identity)
    shownURL = Array(stored.url)
    etag = Array(stored.etag)
    lastModified = Array(stored.lastModified)
    contentType = Array(stored.contentType)
    vary = Array(stored.vary)
    expiresAt = expiry.expiry(of: head)
  }
}
