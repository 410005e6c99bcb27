public import ImagePrimitives

/// Changes within one write transaction, valid within the call of ``ImageCache/write(_:)`` that it was given to.
///
/// Every call throws where the index fails, and then the whole transaction must end by that error.
public struct CacheWriter {
  private let transaction: WriteTransaction
  private let blacklistTTL: Duration?
  /// The time that everything stored gets.
  public let now: Timestamp

  init(_ transaction: WriteTransaction, blacklistTTL: Duration?, now: Timestamp) {
    self.transaction = transaction
    self.blacklistTTL = blacklistTTL
    self.now = now
  }

  /// Stores an image, in place of what was cached under its key.
  public func store(_ entry: NewEntry, body: NewBody) throws(CacheError) {
    try transaction.store(entry, body: body, at: now)
  }

  /// Notes a deeper proof of a body; says whether the record was still the one that was read.
  @discardableResult
  public func raiseProof(
    of key: CacheKey,
    identity: UnsafeRawBufferPointer,
    from read: EntryHead,
    to proof: NewProof
  ) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity), entry.head.revision == read.revision else { return false }
    var head = entry.head
    guard head.proof < proof.depth else { return true }
    head.proof = proof.depth
    head.hasWarnings = proof.hasWarnings
    head.format = proof.format
    head.width = proof.width
    head.height = proof.height
    head.frames = proof.frames
    try transaction.replaceHead(of: key, entry, by: head)
    return true
  }

  /// Notes that the server still has the same image (304, RFC 9111, section 4.3.4): its age and its lifetime count from now on,
  /// and what the answer says of freshness and validators takes the place of what is stored; what is nil stays as it was.
  ///
  /// Says whether the record was still the one that was read; else nothing is changed.
  @discardableResult
  public func revalidate(
    _ key: CacheKey,
    identity: UnsafeRawBufferPointer,
    from read: EntryHead,
    freshness: Freshness?,
    validators: Validators? = nil
  ) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity), entry.head.revision == read.revision else { return false }
    var head = entry.head
    head.storedAt = now
    head.accessedAt = now
    if let freshness { head.storedFreshness = StoredFreshness(freshness) }
    try transaction.replaceRecord(of: key, entry, by: head, validators: validators)
    return true
  }

  /// The record of an identity as of this transaction; nil where there is none.
  public func head(of key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryHead? {
    try entry(key, identity)?.head
  }

  /// Notes that an image was asked for, unless that was noted within the last hour.
  public func touch(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) {
    guard let head = try head(of: key, identity: identity) else { return }
    try transaction.touch([EntryTouch(key, head)], at: now)
  }

  /// Removes a record and its body, if it is still the one that was read; says whether it was.
  @discardableResult
  public func removeIfUnchanged(_ key: CacheKey, _ read: EntryHead) throws(CacheError) -> Bool {
    guard let head = try transaction.entry(key)?.head, head.revision == read.revision else { return false }
    try transaction.remove(key, head)
    return true
  }

  /// Removes what is cached under an identity, whose hash `key` is; says whether something was.
  @discardableResult
  public func remove(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity) else { return false }
    try transaction.remove(key, entry.head)
    return true
  }

  /// Puts a failure on the blacklist; a failure of the same identity that is there already is counted on. Says whether it was
  /// new, or had expired.
  ///
  /// - Parameters:
  ///   - entry: what is known of it.
  ///   - moment: when the URL failed, from which on its time on the list counts; nil, the default: now.
  @discardableResult
  public func blacklist(_ entry: NewBlacklistEntry, at moment: Timestamp? = nil) throws(CacheError) -> Bool {
    try transaction.blacklist(entry, at: moment ?? now, for: blacklistTTL)
  }

  /// Takes an identity off the blacklist, whose hash `key` is; says whether it was there.
  @discardableResult
  public func unblacklist(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    try transaction.unblacklist(key, identity)
  }

  private func entry(_ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> StoredEntry? {
    guard let entry = try transaction.entry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
    return entry
  }
}
