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
