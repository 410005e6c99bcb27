package import Base

/// Look-ups within one read transaction, valid during the call of ``ImageCache/read(_:)`` that provides it. Each takes about a
/// microsecond and allocates nothing.
package struct CacheReader {
  let transaction: Transaction
  let expiry: ExpiryRule
  /// The time up to which ages count, unless a run looks up.
  package let now: Timestamp
  /// The start of the run that looks up, up to which it counts ages.
  let runStart: Timestamp?

  /// Looks up an identity with the hash `key`, without reading the body.
  package func lookUp(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> LookUp {
    guard let head = try transaction.entry(key, identity)?.head else { return .missing }
    return expiry.isExpired(head, at: now, runStart: runStart) ? .expired(head) : .fresh(head)
  }

  /// The fields for revalidating an image with the server; nil if there is no entry for the identity with the hash `key`.
  package func details(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryDetails? {
    try transaction.entry(key, identity).map(EntryDetails.init)
  }

  /// The request's values of the headers that a cached response depends on, in the form of ``EntryFields/vary``; empty if there are
  /// none, or if the entry doesn't exist.
  package func vary(of key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> [UInt8] {
    try transaction.entry(key, identity).map { Array($0.vary) } ?? []
  }

  /// The blacklist entry of an identity with the hash `key`; nil if there is none or it has expired.
  package func isBlacklisted(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> BlacklistHead? {
    guard let entry = try transaction.blacklistEntry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
    return ExpiryRule.isOver(entry.head, at: now, runStart: runStart) ? nil : entry.head
  }

  /// Whether a hit should be recorded by ``ImageCache/note(_:)``: the cache expires by access, and an hour has passed.
  package func needsTouch(_ head: EntryHead) -> Bool {
    expiry.basis == .access
      && (head.accessedAt.advanced(by: ImageCache.touchInterval) <= now || ExpiryRule.isFromFuture(head.accessedAt, at: now))
  }
}

/// The fields of a record that a revalidation needs besides its head.
package struct EntryDetails: Sendable, Hashable {
  package let validators: Validators
  package let contentType: String?
  /// The request's values of the headers that the response depends on, in the form of ``EntryFields/vary``; empty if there are none.
  package let vary: [UInt8]
}

extension EntryDetails {
  init(_ entry: StoredEntry) {
    validators = Validators(etag: Self.text(entry.etag), lastModified: Self.text(entry.lastModified))
    contentType = Self.text(entry.contentType)
    vary = Array(entry.vary)
  }

  /// A header's value; nil if it is empty or isn't valid UTF-8, in which case it couldn't be sent back unchanged.
  private static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
  }
}

extension Transaction {
  /// The record of a key, regardless of its identity.
  @inline(__always)
  func entry(_ key: CacheKey) throws(CacheError) -> StoredEntry? {
    try value(of: key, in: tables.entries).flatMap(StoredEntry.init)
  }

  /// The record of an identity with the hash `key`.
  @inline(__always)
  func entry(_ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> StoredEntry? {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
    return entry
  }

  func entry(_ key: CacheKey, _ identity: [UInt8]) throws(CacheError) -> StoredEntry? {
    try identity.withRawBytes { (identity) throws(CacheError) in try entry(key, identity) }
  }

  /// The blacklisted URL of a key, regardless of its identity.
  func blacklistEntry(_ key: CacheKey) throws(CacheError) -> StoredBlacklistEntry? {
    try value(of: key, in: tables.blacklist).flatMap(StoredBlacklistEntry.init)
  }

  func totals() throws(CacheError) -> Totals {
    guard let bytes = try value(of: Totals.key, in: tables.totals) else { return Totals() }
    guard let totals = Totals(stored: bytes) else { throw .damaged(path: path, reason: "its totals can't be read") }
    return totals
  }
}

/// Changes within one write transaction, valid during the call of ``ImageCache/write(_:)`` that provides it. Each call throws if
/// the index fails; that error must end the whole transaction.
package struct CacheWriter {
  let transaction: WriteTransaction
  let blacklistTTL: Duration?
  let expiry: ExpiryRule
  /// The time at which everything is stored, unless a run stores it.
  package let now: Timestamp

  /// Stores an image and replaces the one cached under its key. If a run stores it, its age counts from the run's start, `runStart`.
  package func store(_ fields: consuming EntryFields, body: NewBody, runStart: Timestamp? = nil) throws(CacheError) {
    let storedAt = storingTime(runStart, fields.head)
    try transaction.store(fields, body: body, at: storedAt, accessedAt: now)
  }

  /// The moment from which the age of an image that a run stores counts: the run's start, or now if the server's freshness applies.
  package func storingTime(_ runStart: Timestamp?, _ head: EntryHead) -> Timestamp {
    guard let runStart, !expiry.usesServerFreshness(head.storedFreshness) else { return now }
    return min(runStart, now)
  }

  /// Records a more thorough verification of a body; returns whether the record was unchanged since it was read.
  @discardableResult
  package func raiseProof(
    of key: CacheKey,
    identity: [UInt8],
    from read: EntryHead,
    to proof: NewProof
  ) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity), entry.revision == read.revision else { return false }
    let old = entry.head
    guard old.proof < proof.depth else { return true }
    var new = EntryFields(entry, key: key)
    (new.head.proof, new.head.hasWarnings, new.head.image) = (proof.depth, proof.hasWarnings, proof.image)
    try transaction.replaceRecord(old, by: new)
    return true
  }

  /// Records that the server still has the same image (304, RFC 9111, section 4.3.4): its age and lifetime restart, and the
  /// response's freshness and validators replace the stored ones unless they are nil. Returns whether the record was unchanged
  /// since it was read; otherwise nothing changes. If a run revalidated, the age counts from its start, `runStart`.
  @discardableResult
  package func revalidate(
    _ key: CacheKey,
    identity: [UInt8],
    from read: EntryHead,
    freshness: Freshness?,
    validators: Validators? = nil,
    runStart: Timestamp? = nil
  ) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity), entry.revision == read.revision else { return false }
    let old = entry.head
    var new = EntryFields(entry, key: key)
    if let freshness { new.head.storedFreshness = StoredFreshness(freshness) }
    // Another run that began later may have revalidated it before.
    let time = storingTime(runStart, new.head)
    new.head.storedAt = expiry.isFromFuture(new.head, at: now) ? time : max(old.storedAt, time)
    new.head.accessedAt = now
    if let validators { new.update(validators) }
    try transaction.replaceRecord(old, by: new)
    return true
  }

  package func head(of key: CacheKey, identity: [UInt8]) throws(CacheError) -> EntryHead? { try entry(key, identity)?.head }

  package func details(of key: CacheKey, identity: [UInt8]) throws(CacheError) -> EntryDetails? {
    try entry(key, identity).map(EntryDetails.init)
  }

  /// Records that an image was used, unless that was recorded within the last hour.
  package func touch(_ key: CacheKey, identity: [UInt8]) throws(CacheError) {
    guard let head = try head(of: key, identity: identity) else { return }
    try transaction.touch([EntryTouch(key, head)], at: now)
  }

  @discardableResult
  package func remove(_ key: CacheKey, identity: [UInt8]) throws(CacheError) -> Bool {
    guard let entry = try entry(key, identity) else { return false }
    try transaction.remove(key, entry.head)
    return true
  }

  /// Blacklists a failure, or counts it if the identity is blacklisted already. Returns whether it was new or had expired.
  ///
  /// Neither the identity nor the URL for display may contain credentials.
  ///
  /// - Parameters:
  ///   - key: the hash of `identity`.
  ///   - moment: when the URL failed; nil, the default: now.
  ///   - runStart: the start of the run in which it failed, from which its time to live counts; nil, the default: from the failure.
  @discardableResult
  package func blacklist(
    _ key: CacheKey,
    identity: [UInt8],
    shownURL: [UInt8],
    kind: FailureKind,
    status: Int? = nil,
    at moment: Timestamp? = nil,
    runStart: Timestamp? = nil
  ) throws(CacheError) -> Bool {
    let moment = moment ?? now
    let old = try transaction.blacklistEntry(key).flatMap { $0.identity.hasSameBytes(as: identity) ? $0.head : nil }
    let head = BlacklistHead(
      kind: kind,
      status: status,
      firstAt: old?.firstAt ?? moment,
      lastAt: moment,
      count: (old?.count ?? 0) + 1,
      expiresAt: blacklistTTL.map { (runStart ?? moment).advanced(by: $0) }
    )
    try transaction.blacklist(BlacklistRecord(key: key, head: head, identity: identity, shownURL: shownURL))
    return old.map { ExpiryRule.isOver($0, at: moment, runStart: runStart) } ?? true
  }

  @discardableResult
  package func unblacklist(_ key: CacheKey, identity: [UInt8]) throws(CacheError) -> Bool {
    let entry = try transaction.blacklistEntry(key)
    guard entry?.identity.hasSameBytes(as: identity) == true else { return false }
    try transaction.removeFromBlacklist(key)
    return true
  }

  private func entry(_ key: CacheKey, _ identity: [UInt8]) throws(CacheError) -> StoredEntry? {
    try transaction.transaction.entry(key, identity)
  }
}
