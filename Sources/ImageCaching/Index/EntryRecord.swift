public import Base

/// All fields of an image's record, to be stored or as stored.
///
/// It must not contain credentials: the identity has them as a digest of ``CredentialHasher``, and the URL has them masked.
package struct EntryFields: Sendable, Hashable {
  /// The hash of ``identity``.
  package var key: CacheKey
  package var head: EntryHead
  /// The whole identity, which reveals hash collisions.
  package var identity: [UInt8]
  /// The URL as first written, resolved and with credentials masked.
  ///
  /// Exports derive file names from it, since apps identify images by the exact text of the URL.
  package var shownURL: [UInt8]
  /// The response's ETag as sent; empty: none. Values above 65,535 bytes are dropped, here and below.
  package var etag: [UInt8]
  /// The response's Last-Modified as sent; empty: none.
  package var lastModified: [UInt8]
  /// The response's Content-Type as sent; empty: none.
  package var contentType: [UInt8]
  /// The request's values of the headers that the response's Vary names, as canonical text in a form of the caller; empty: the
  /// response depends on none. Values longer than ``maximumVaryBytes`` are truncated and so match no request.
  package var vary: [UInt8]

  package static let maximumVaryBytes = Int(UInt16.max) - StoredFreshness.byteCount

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

  /// The hash of ``identity``.
  package var key: CacheKey { fields.key }
  package var head: EntryHead { fields.head }
  /// The whole identity.
  public var identity: [UInt8] { fields.identity }
  /// The URL as first written, with credentials masked.
  public var shownURL: [UInt8] { fields.shownURL }
  /// The response's ETag as sent; empty: none.
  public var etag: [UInt8] { fields.etag }
  /// The response's Last-Modified as sent; empty: none.
  public var lastModified: [UInt8] { fields.lastModified }
  /// The response's Content-Type as sent; empty: none.
  public var contentType: [UInt8] { fields.contentType }
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
