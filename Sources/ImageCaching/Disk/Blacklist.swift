public import ImagePrimitives

/// What the blacklist holds about a URL.
public struct BlacklistHead: Sendable, Hashable {
  /// How it failed last.
  public let kind: FailureKind
  /// The HTTP status of the last failure, where there was one.
  public let status: Int?
  /// When it failed first, since it was put on the list.
  public let firstAt: Timestamp
  /// When it failed last.
  public let lastAt: Timestamp
  /// How often it failed.
  public let count: UInt32
  /// When it may be asked for again; nil: never.
  public let expiresAt: Timestamp?

  /// Whether it may be asked for again.
  func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

/// A failure to be put on the blacklist; its time is that of the transaction. Credentials must be gone from all of it.
public struct NewBlacklistEntry {
  /// The hash of ``identity``.
  public var key: CacheKey
  /// The whole identity; valid while the entry is stored.
  public var identity: UnsafeRawBufferPointer
  /// The URL for people to read, secrets masked; valid while the entry is stored.
  public var shownURL: UnsafeRawBufferPointer
  /// How it failed.
  public var kind: FailureKind
  /// The HTTP status, where the server gave one.
  public var status: Int?

  /// A failure to be remembered.
  public init(
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

/// One entry of the blacklist, with everything in its record.
public struct BlacklistRecord: Sendable, Hashable {
  /// The hash of ``identity``.
  public let key: CacheKey
  /// How and when it failed.
  public let head: BlacklistHead
  /// The whole identity.
  public let identity: [UInt8]
  /// The URL, secrets masked.
  public let shownURL: [UInt8]
}

/// A record of the table `blacklist`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0, 8 | i64, i64 | first and last failure, milliseconds since 1970 |
/// | 16 | i64 | expires at, milliseconds since 1970; the greatest number: never |
/// | 24 | u32 | failures counted |
/// | 28 | u16 | HTTP status; 0: none |
/// | 30 | u8 | kind of failure |
/// | 31 | u8 | 0 |
/// | 32, 36 | u32, u32 | bytes of identity, of URL |
/// | 40 | bytes | identity, URL |
struct StoredBlacklistEntry {
  static let headByteCount = 40

  /// The whole record; valid as long as its transaction, and until the next write in it.
  let bytes: UnsafeRawBufferPointer

  /// A view of a record; nil for bytes that are none.
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

  /// Fills a whole record, of the size that ``byteCount(of:)`` says.
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
  /// Puts a failure on the blacklist, or counts it where it is there already; says whether it was new, or had expired.
  ///
  /// - Parameter runStart: from when on its time there counts; nil: from `now` on.
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

  /// Keeps what another cache knows of a failure; says whether it did. It does not where this one knows of a failure as late, or
  /// has an image that was stored since.
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

  /// Takes off the blacklist what failed last before an image was stored of it.
  func unblacklist(_ key: CacheKey, storedAt: Timestamp) throws(CacheError) {
    guard let failure = try blacklistEntry(key), failure.head.lastAt <= storedAt else { return }
    try removeFromBlacklist(key)
  }

  /// Takes an identity off the blacklist; says whether it was there.
  func unblacklist(_ key: CacheKey, _ identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    guard let entry = try blacklistEntry(key), entry.identity.hasSameBytes(as: identity) else { return false }
    try removeFromBlacklist(key)
    return true
  }

  /// Takes everything off the blacklist; returns how much that was.
  func clearBlacklist() throws(CacheError) -> Int {
    let count = Int(totals.blacklistEntries)
    try transaction.removeAll(from: tables.blacklist)
    totals.blacklistEntries = 0
    totals.nextBlacklistExpiry = .max
    return count
  }

  /// Takes up to `limit` expired entries off the blacklist; says whether there may be more.
  ///
  /// It looks at nothing before the first of them can have expired, and then at all, since the table has no order of times.
  func trimBlacklist(at now: Timestamp, limit: Int) throws(CacheError) -> Bool {
    guard totals.nextBlacklistExpiry <= now.milliseconds else { return false }
    var expired: [CacheKey] = []
    var next = Int64.max
    try transaction.forEach(in: tables.blacklist, after: nil) { (bytes, record) throws(CacheError) in
      guard let key = CacheKey(stored: bytes) else { return true }
      // What is not readable is of no use to anybody.
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
