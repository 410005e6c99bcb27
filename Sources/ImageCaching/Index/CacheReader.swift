package import Base

/// Look-ups within one read transaction, valid during the call of ``ImageCache/read(_:)`` that provides it. Each takes about a
/// microsecond and allocates nothing.
package struct CacheReader {
  private let transaction: Transaction
  private let tables: Tables
  private let expiry: ExpiryRule
  private let isDeleted: Bool
  /// The time up to which ages count, unless a run looks up.
  package let now: Timestamp
  /// The start of the run that looks up, up to which it counts ages.
  private let runStart: Timestamp?

  init(
    _ transaction: Transaction,
    _ tables: Tables,
    expiry: ExpiryRule,
    now: Timestamp,
    runStart: Timestamp?,
    isDeleted: Bool
  ) {
    self.runStart = runStart
    self.transaction = transaction
    self.tables = tables
    self.expiry = expiry
    self.now = now
    self.isDeleted = isDeleted
  }

  /// Looks up an identity with the hash `key`, without reading the body.
  package func lookUp(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> LookUp {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return .missing }
    let head = entry.head
    return expiry.isExpired(head, at: now, runStart: runStart) ? .expired(head) : .fresh(head)
  }

  /// The fields for revalidating an image with the server; nil if there is no entry for the identity with the hash `key`.
  package func details(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryDetails? {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
    return EntryDetails(entry)
  }

  /// The request's values of the headers that a cached response depends on, in the form of ``NewEntry/vary``; empty if there are
  /// none, or if the entry doesn't exist.
  package func vary(of key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> [UInt8] {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return [] }
    return Array(entry.vary)
  }

  /// The blacklist entry of an identity with the hash `key`; nil if there is none or it has expired.
  package func isBlacklisted(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> BlacklistHead? {
    if isDeleted { return nil }
    let bytes = try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.blacklist) }
    guard let entry = bytes.flatMap(StoredBlacklistEntry.init), entry.identity.hasSameBytes(as: identity) else { return nil }
    let head = entry.head
    return ExpiryRule.isOver(head, at: now, runStart: runStart) ? nil : head
  }

  /// Whether a hit should be recorded by ``CacheWriter/touch(_:identity:)``: the cache expires by access, and an hour has passed.
  package func needsTouch(_ head: EntryHead) -> Bool {
    expiry.basis == .access
      && (head.accessedAt.advanced(by: ImageCache.touchInterval) <= now || ExpiryRule.isFromFuture(head.accessedAt, at: now))
  }

  @inline(__always)
  func entry(_ key: CacheKey) throws(CacheError) -> StoredEntry? {
    if isDeleted { return nil }
    let bytes = try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.entries) }
    return bytes.flatMap(StoredEntry.init)
  }

  /// A copy of a body in the index; nil if it isn't there.
  func inlineBody(_ head: EntryHead) throws(CacheError) -> [UInt8]? {
    let bytes = try head.withBodyKey { (key) throws(CacheError) in try transaction.value(of: key, in: tables.bodies) }
    return bytes.map { Array($0) }
  }
}

/// The fields of a record that a revalidation needs besides its head.
package struct EntryDetails: Sendable, Hashable {
  /// The validators for a conditional request.
  package let validators: Validators
  /// The response's Content-Type as sent.
  package let contentType: String?
  /// The request's values of the headers that the response depends on, in the form of ``NewEntry/vary``; empty if there are none.
  package let vary: [UInt8]
}

extension EntryDetails {
  fileprivate init(_ entry: StoredEntry) {
    validators = Validators(etag: Self.text(entry.etag), lastModified: Self.text(entry.lastModified))
    contentType = Self.text(entry.contentType)
    vary = Array(entry.vary)
  }

  /// A header's value; nil if it is empty or isn't valid UTF-8, in which case it couldn't be sent back unchanged.
  private static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
  }
}

/// Changes within one write transaction, valid during the call of ``ImageCache/write(_:)`` that provides it.
///
/// Each call throws if the index fails; that error must end the whole transaction.
package struct CacheWriter {
  private let transaction: WriteTransaction
  private let blacklistTTL: Duration?
  private let expiry: ExpiryRule
  /// The time at which everything is stored, unless a run stores it.
  package let now: Timestamp

  init(_ transaction: WriteTransaction, blacklistTTL: Duration?, expiry: ExpiryRule, now: Timestamp) {
    self.transaction = transaction
    self.blacklistTTL = blacklistTTL
    self.expiry = expiry
    self.now = now
  }

  /// Stores an image and replaces the one cached under its key.
  package func store(_ entry: NewEntry, body: NewBody) throws(CacheError) { try store(entry, body: body, runStart: nil) }

  /// The same for a run: the image's age counts from the run's start.
  package func store(_ entry: NewEntry, body: NewBody, runStart: Timestamp?) throws(CacheError) {
    try transaction.store(entry, body: body, at: storingTime(runStart, entry.freshness), accessedAt: now)
  }

  /// The moment from which the age of an image that a run stores counts: the run's start, or now if the server's freshness applies.
  package func storingTime(_ runStart: Timestamp?, _ freshness: Freshness) -> Timestamp {
    guard let runStart, !expiry.usesServerFreshness(StoredFreshness(freshness)) else { return now }
    return min(runStart, now)
  }

  /// Records a more thorough verification of a body; returns whether the record was unchanged since it was read.
  @discardableResult
  package func raiseProof(
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
    head.image = proof.image
    try transaction.replaceHead(of: key, entry, by: head)
    return true
  }

  /// Records that the server still has the same image (304, RFC 9111, section 4.3.4): its age and lifetime restart, and the
  /// response's freshness and validators replace the stored ones unless they are nil.
  ///
  /// Returns whether the record was unchanged since it was read; otherwise nothing changes. If a run revalidated, the age counts from its
  /// start, `runStart`.
  @discardableResult
  package func revalidate(
    _ key: CacheKey,
    identity: UnsafeRawBufferPointer,
    from read: EntryHead,
    freshness: Freshness?,
    validators: Validators? = nil,
    runStart: Timestamp? = nil
  ) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity), entry.head.revision == read.revision else { return false }
    var head = entry.head
    if let freshness { head.storedFreshness = StoredFreshness(freshness) }
    // Another run that began later may have revalidated it before.
    let time = storingTime(runStart, head.freshness)
    head.storedAt = expiry.isFromFuture(head, at: now) ? time : max(head.storedAt, time)
    head.accessedAt = now
    try transaction.replaceRecord(of: key, entry, by: head, validators: validators)
    return true
  }

  /// The current record of an identity; nil if there is none.
  package func head(of key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryHead? {
    try entry(key, identity)?.head
  }

  /// The fields of an identity's record besides its head; nil if there is none.
  package func details(of key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryDetails? {
    try entry(key, identity).map(EntryDetails.init)
  }

  /// Records that an image was used, unless that was recorded within the last hour.
  package func touch(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) {
    guard let head = try head(of: key, identity: identity) else { return }
    try transaction.touch([EntryTouch(key, head)], at: now)
  }

  /// Removes a record and its body if it is unchanged since it was read; returns whether it did.
  @discardableResult
  package func removeIfUnchanged(_ key: CacheKey, _ read: EntryHead) throws(CacheError) -> Bool {
    guard let head = try transaction.entry(key)?.head, head.revision == read.revision else { return false }
    try transaction.remove(key, head)
    return true
  }

  /// Removes the entry of an identity with the hash `key`; returns whether there was one.
  @discardableResult
  package func remove(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity) else { return false }
    try transaction.remove(key, entry.head)
    return true
  }

  /// Blacklists a failure, or counts it if the identity is blacklisted already. Returns whether it was new or had expired.
  ///
  /// - Parameters:
  ///   - entry: the failure.
  ///   - moment: when the URL failed; nil, the default: now.
  ///   - runStart: the start of the run in which it failed, from which its time to live counts; nil, the default: from the failure.
  @discardableResult
  package func blacklist(
    _ entry: NewBlacklistEntry,
    at moment: Timestamp? = nil,
    runStart: Timestamp? = nil
  ) throws(CacheError) -> Bool {
    try transaction.blacklist(entry, at: moment ?? now, runStart: runStart, for: blacklistTTL)
  }

  /// Removes an identity with the hash `key` from the blacklist; returns whether it was there.
  @discardableResult
  package func unblacklist(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    try transaction.unblacklist(key, identity)
  }

  private func entry(_ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> StoredEntry? {
    guard let entry = try transaction.entry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
    return entry
  }
}
