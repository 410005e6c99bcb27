public import ImagePrimitives

/// Look-ups within one read transaction, valid within the call of ``ImageCache/read(_:)`` that it was given to. Each costs about
/// a microsecond and allocates nothing.
public struct CacheReader {
  private let transaction: Transaction
  private let tables: Tables
  private let expiry: ExpiryRule
  private let isDeleted: Bool
  /// The time that ages are counted to, if no run asks.
  public let now: Timestamp
  /// When the run began that asks, to which it counts ages.
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

  /// Looks an identity up, whose hash `key` is; the body is not read.
  public func lookUp(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> LookUp {
    guard let entry = try entry(key), entry.identity.hasSameBytes(as: identity) else { return .missing }
    let head = entry.head
    return expiry.isExpired(head, at: now, runStart: runStart) ? .expired(head) : .fresh(head)
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
    return ExpiryRule.isOver(head, at: now, runStart: runStart) ? nil : head
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

/// The fields of a record that a revalidation needs besides its head.
public struct EntryDetails: Sendable, Hashable {
  /// What to ask with.
  public let validators: Validators
  /// The response's Content-Type as sent.
  public let contentType: String?
  /// The request's values of the headers that the answer depends on, as ``NewEntry/vary`` had them; empty: none.
  public let vary: [UInt8]
}

/// Changes within one write transaction, valid within the call of ``ImageCache/write(_:)`` that it was given to.
///
/// Every call throws where the index fails, and then the whole transaction must end by that error.
public struct CacheWriter {
  private let transaction: WriteTransaction
  private let blacklistTTL: Duration?
  private let expiry: ExpiryRule
  /// The time that everything stored gets, if no run stores it.
  public let now: Timestamp

  init(_ transaction: WriteTransaction, blacklistTTL: Duration?, expiry: ExpiryRule, now: Timestamp) {
    self.transaction = transaction
    self.blacklistTTL = blacklistTTL
    self.expiry = expiry
    self.now = now
  }

  /// Stores an image and replaces the one cached under its key.
  public func store(_ entry: NewEntry, body: NewBody) throws(CacheError) { try store(entry, body: body, runStart: nil) }

  /// The same for a run, from whose start the image's age counts.
  package func store(_ entry: NewEntry, body: NewBody, runStart: Timestamp?) throws(CacheError) {
    try transaction.store(entry, body: body, at: storingTime(runStart, entry.freshness), accessedAt: now)
  }

  /// From when on the age counts of what a run stores now: from the run's start, but by the server's word from now on.
  package func storingTime(_ runStart: Timestamp?, _ freshness: Freshness) -> Timestamp {
    guard let runStart, !expiry.goesByServer(StoredFreshness(freshness)) else { return now }
    return min(runStart, now)
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
  ///
  /// - Parameter runStart: the start of the run that asked, from which the age counts; nil: no run asked.
  @discardableResult
  public func revalidate(
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
    // Another run that began later may have found it right before.
    head.storedAt = max(head.storedAt, storingTime(runStart, head.freshness))
    head.accessedAt = now
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
  ///   - moment: when the URL failed; nil, the default: now.
  ///   - runStart: the start of the run in which it failed, from which its time on the list counts; nil, the default: from when it failed.
  @discardableResult
  public func blacklist(
    _ entry: NewBlacklistEntry,
    at moment: Timestamp? = nil,
    runStart: Timestamp? = nil
  ) throws(CacheError) -> Bool {
    try transaction.blacklist(entry, at: moment ?? now, runStart: runStart, for: blacklistTTL)
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
