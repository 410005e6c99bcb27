public import Base

/// An entry of the blacklist without its URL.
package struct BlacklistHead: Sendable, Hashable {
  /// The kind of the last failure.
  package let kind: FailureKind
  /// The HTTP status of the last failure, if there was one.
  package let status: Int?
  /// The first failure since it was blacklisted.
  package let firstAt: Timestamp
  /// The last failure.
  package let lastAt: Timestamp
  /// The number of failures.
  package let count: UInt32
  /// When it may be requested again; nil: never.
  package let expiresAt: Timestamp?

  /// Whether it may be requested again; also if the clock was wrong when it failed.
  package func isExpired(at now: Timestamp) -> Bool { ExpiryRule.isOver(self, at: now, runStart: nil) }
}

/// A failure to blacklist at the transaction's time. It must not contain credentials.
package struct NewBlacklistEntry {
  /// The hash of ``identity``.
  package var key: CacheKey
  /// The whole identity, which must stay valid while the entry is stored.
  package var identity: UnsafeRawBufferPointer
  /// The URL for display, with credentials masked; must stay valid while the entry is stored.
  package var shownURL: UnsafeRawBufferPointer
  /// The kind of failure.
  package var kind: FailureKind
  /// The HTTP status, if the server sent one.
  package var status: Int?

  package init(
    key: CacheKey,
    identity: UnsafeRawBufferPointer,
    shownURL: UnsafeRawBufferPointer,
    kind: FailureKind,
    status: Int? = nil
  ) {
    self.key = key
    self.identity = identity
    self.shownURL = shownURL
    self.kind = kind
    self.status = status
  }
}

/// An entry of the blacklist with all fields of its record.
public struct BlacklistRecord: Sendable, Hashable {
  /// The hash of ``identity``.
  package let key: CacheKey
  /// The kind and times of its failures.
  package let head: BlacklistHead
  public let identity: [UInt8]
  /// The URL, with credentials masked.
  public let shownURL: [UInt8]

  /// The kind of the last failure.
  public var kind: FailureKind { head.kind }
  /// The HTTP status of the last failure, if there was one.
  public var status: Int? { head.status }
  /// The first failure since it was blacklisted.
  public var firstAt: Timestamp { head.firstAt }
  /// The last failure.
  public var lastAt: Timestamp { head.lastAt }
  /// The number of failures.
  public var count: Int { Int(head.count) }
  /// When it may be requested again; nil: never.
  public var expiresAt: Timestamp? { head.expiresAt }
}

/// A record of the table `blacklist`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0, 8 | i64, i64 | first and last failure, milliseconds since 1970 |
/// | 16 | i64 | expires at, milliseconds since 1970; the largest value: never |
/// | 24 | u32 | failures counted |
/// | 28 | u16 | HTTP status; 0: none |
/// | 30 | u8 | kind of failure |
/// | 31 | u8 | 0 |
/// | 32, 36 | u32, u32 | bytes of identity, of URL |
/// | 40 | bytes | identity, URL |
struct StoredBlacklistEntry {
  static let headByteCount = 40

  /// The whole record, valid until its transaction ends or writes.
  let bytes: UnsafeRawBufferPointer

  /// A view of a record; nil if the bytes are invalid.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.headByteCount, FailureKind(storedNumber: bytes[30]) != nil else { return nil }
    self.bytes = bytes
    guard bytes.count == Self.headByteCount + identityByteCount + urlByteCount else { return nil }
  }

  private var identityByteCount: Int { Int(bytes.littleEndian(at: 32, as: UInt32.self)) }
  private var urlByteCount: Int { Int(bytes.littleEndian(at: 36, as: UInt32.self)) }

  var identity: UnsafeRawBufferPointer { bytes.part(at: Self.headByteCount, count: identityByteCount) }
  var url: UnsafeRawBufferPointer { bytes.part(at: Self.headByteCount + identityByteCount, count: urlByteCount) }

  var head: BlacklistHead {
    let status: UInt16 = bytes.littleEndian(at: 28)
    let expiry: Int64 = bytes.littleEndian(at: 16)
    return BlacklistHead(
      kind: FailureKind(storedNumber: bytes[30]) ?? .internal,
      status: status == 0 ? nil : Int(status),
      firstAt: Timestamp(milliseconds: bytes.littleEndian(at: 0)),
      lastAt: Timestamp(milliseconds: bytes.littleEndian(at: 8)),
      count: bytes.littleEndian(at: 24),
      expiresAt: expiry == .max ? nil : Timestamp(milliseconds: expiry)
    )
  }

  static func byteCount(of entry: NewBlacklistEntry) -> Int { headByteCount + entry.identity.count + entry.shownURL.count }

  /// Fills a whole record, which must have ``byteCount(of:)`` bytes.
  static func write(_ entry: NewBlacklistEntry, head: BlacklistHead, to record: UnsafeMutableRawBufferPointer) {
    record.setLittleEndian(head.firstAt.milliseconds, at: 0)
    record.setLittleEndian(head.lastAt.milliseconds, at: 8)
    record.setLittleEndian(head.expiresAt?.milliseconds ?? .max, at: 16)
    record.setLittleEndian(head.count, at: 24)
    record.setLittleEndian(UInt16(clamping: head.status ?? 0), at: 28)
    record[30] = head.kind.storedNumber
    record[31] = 0
    record.setLittleEndian(UInt32(entry.identity.count), at: 32)
    record.setLittleEndian(UInt32(entry.shownURL.count), at: 36)
    let offset = record.copy(entry.identity, at: headByteCount)
    _ = record.copy(entry.shownURL, at: offset)
  }
}

extension WriteTransaction {
  /// Blacklists a failure, or counts it if it is blacklisted already; returns whether it was new or had expired.
  ///
  /// - Parameter runStart: when its time to live starts; nil: at `now`.
  func blacklist(
    _ entry: NewBlacklistEntry,
    at now: Timestamp,
    runStart: Timestamp?,
    for timeToLive: Duration?
  ) throws(CacheError) -> Bool {
    let stored = try blacklistEntry(entry.key)
    let old = stored.flatMap { $0.identity.hasSameBytes(as: entry.identity) ? $0.head : nil }
    let head = BlacklistHead(
      kind: entry.kind,
      status: entry.status,
      firstAt: old?.firstAt ?? now,
      lastAt: now,
      count: (old?.count ?? 0).addingReportingOverflow(1).overflow ? .max : (old?.count ?? 0) + 1,
      expiresAt: timeToLive.map { (runStart ?? now).advanced(by: $0) }
    )
    if stored == nil { totals.blacklistEntries &+= 1 }
    totals.nextBlacklistExpiry = min(totals.nextBlacklistExpiry, head.expiresAt?.milliseconds ?? .max)
    try entry.key.withStoredBytes { (key) throws(CacheError) in
      let record = try transaction.reserve(StoredBlacklistEntry.byteCount(of: entry), for: key, in: tables.blacklist)
      StoredBlacklistEntry.write(entry, head: head, to: record)
    }
    return old.map { ExpiryRule.isOver($0, at: now, runStart: runStart) } ?? true
  }

  /// Imports a failure from another cache unless this one has a later failure, or an image that was stored since; returns whether
  /// it did.
  func importBlacklistEntry(_ record: BlacklistRecord) throws(CacheError) -> Bool {
    let own = try blacklistEntry(record.key)
    if let own, own.head.lastAt >= record.head.lastAt { return false }
    if let image = try entry(record.key), image.head.storedAt >= record.head.lastAt { return false }
    if own == nil { totals.blacklistEntries &+= 1 }
    totals.nextBlacklistExpiry = min(totals.nextBlacklistExpiry, record.head.expiresAt?.milliseconds ?? .max)
    try record.identity.withRawBytes { (identity) throws(CacheError) in
      try record.shownURL.withRawBytes { (url) throws(CacheError) in
        let new = NewBlacklistEntry(
          key: record.key,
          identity: identity,
          shownURL: url,
          kind: record.head.kind,
          status: record.head.status
        )
        try new.key.withStoredBytes { (key) throws(CacheError) in
          let bytes = try transaction.reserve(StoredBlacklistEntry.byteCount(of: new), for: key, in: tables.blacklist)
          StoredBlacklistEntry.write(new, head: record.head, to: bytes)
        }
      }
    }
    return true
  }

  /// Removes a failure from the blacklist if an image was stored since.
  func unblacklist(_ key: CacheKey, storedAt: Timestamp) throws(CacheError) {
    guard let failure = try blacklistEntry(key), failure.head.lastAt <= storedAt else { return }
    try removeFromBlacklist(key)
  }

  /// Removes an identity from the blacklist; returns whether it was there.
  func unblacklist(_ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    guard let entry = try blacklistEntry(key), entry.identity.hasSameBytes(as: identity) else { return false }
    try removeFromBlacklist(key)
    return true
  }

  /// Removes everything from the blacklist; returns the number of entries.
  func clearBlacklist() throws(CacheError) -> Int {
    let count = Int(totals.blacklistEntries)
    try transaction.removeAll(from: tables.blacklist)
    totals.blacklistEntries = 0
    totals.nextBlacklistExpiry = .max
    return count
  }

  /// Removes up to `limit` expired entries from the blacklist; returns whether there may be more.
  ///
  /// It scans all of them, since the table isn't ordered by time.
  func trimBlacklist(at now: Timestamp, limit: Int) throws(CacheError) -> Bool {
    var expired: [CacheKey] = []
    var next = Int64.max
    try transaction.forEach(in: tables.blacklist, after: nil) { (bytes, record) throws(CacheError) in
      guard let key = CacheKey(stored: bytes) else { return true }
      // Remove unreadable records too.
      let head = StoredBlacklistEntry(record)?.head
      if head?.isExpired(at: now) ?? true { expired.append(key) } else { next = min(next, head?.expiresAt?.milliseconds ?? .max) }
      return expired.count < limit
    }
    for key in expired { try removeFromBlacklist(key) }
    let mayHaveMore = expired.count == limit
    if !mayHaveMore { totals.nextBlacklistExpiry = next }
    return mayHaveMore
  }

  private func blacklistEntry(_ key: CacheKey) throws(CacheError) -> StoredBlacklistEntry? {
    try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.blacklist) }
      .flatMap(StoredBlacklistEntry.init)
  }

  private func removeFromBlacklist(_ key: CacheKey) throws(CacheError) {
    let wasThere = try key.withStoredBytes { (key) throws(CacheError) in try transaction.remove(key, from: tables.blacklist) }
    if wasThere { totals.blacklistEntries -= min(totals.blacklistEntries, 1) }
  }
}
