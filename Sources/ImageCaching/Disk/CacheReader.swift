public import ImagePrimitives

/// Look-ups within one read transaction, valid within the call of ``ImageCache/read(_:)`` that it was given to. Each costs about
/// a microsecond and allocates nothing.
public struct CacheReader {
  private let transaction: Transaction
  private let tables: Tables
  private let expiry: ExpiryRule
  private let isDeleted: Bool
  /// The time that ages are counted to.
  public let now: Timestamp

  init(_ transaction: Transaction, _ tables: Tables, expiry: ExpiryRule, now: Timestamp, isDeleted: Bool) {
    self.transaction = transaction
    self.tables = tables
    self.expiry = expiry
    self.now = now
    self.isDeleted = isDeleted
  }

  /// Looks an identity up, whose hash `key` is; the body is not read.
  public func lookUp(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> LookUp {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return .missing }
    let head = entry.head
    return expiry.isExpired(head, at: now) ? .expired(head) : .fresh(head)
  }

  /// What is needed to ask the server whether an image is still right; nil where the identity, whose hash `key` is, has none.
  public func details(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryDetails? {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
    return EntryDetails(
      validators: Validators(etag: Self.text(entry.etag), lastModified: Self.text(entry.lastModified)),
      contentType: Self.text(entry.contentType),
      vary: Array(entry.vary)
    )
  }

  /// The request's values of the headers that a cached answer depends on, as ``NewEntry/vary`` had them; empty where there are
  /// none, or no such entry.
  public func vary(of key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> [UInt8] {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return [] }
    return Array(entry.vary)
  }

  /// A header's value; nil where there is none, or one that is no text, which could not be sent back as it came.
  private static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
  }

  /// What the blacklist has of an identity, whose hash `key` is; nil where it has nothing, or what it has expired.
  public func isBlacklisted(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> BlacklistHead? {
    if isDeleted { return nil }
    let bytes = try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.blacklist) }
    guard let entry = bytes.flatMap(StoredBlacklistEntry.init), entry.identity.hasSameBytes(as: identity) else { return nil }
    let head = entry.head
    return head.isExpired(at: now) ? nil : head
  }

  /// Whether a hit should be noted by ``CacheWriter/touch(_:identity:)``: the cache expires by access, and an hour has passed.
  public func needsTouch(_ head: EntryHead) -> Bool {
    expiry.basis == .access && head.accessedAt.advanced(by: ImageCache.touchInterval) <= now
  }

  @inline(__always)
  func entry(_ key: CacheKey) throws(CacheError) -> StoredEntry? {
    if isDeleted { return nil }
    let bytes = try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.entries) }
    return bytes.flatMap(StoredEntry.init)
  }

  /// A copy of a body that the index holds; nil where it has none.
  func inlineBody(_ head: EntryHead) throws(CacheError) -> [UInt8]? {
    let bytes = try head.withBodyKey { (key) throws(CacheError) in try transaction.value(of: key, in: tables.bodies) }
    return bytes.map { Array($0) }
  }
}

/// What a record tells beside its head of an answer that is to be asked for again.
public struct EntryDetails: Sendable, Hashable {
  /// What to ask with.
  public let validators: Validators
  /// The response's Content-Type as sent.
  public let contentType: String?
  /// The request's values of the headers that the answer depends on, as ``NewEntry/vary`` had them; empty: none.
  public let vary: [UInt8]
}
