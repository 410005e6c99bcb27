import CLMDB
import Platform
import Base

/// A running write transaction, which keeps the tables, the totals and the blobs consistent.
final class WriteTransaction {
  let transaction: Transaction
  var totals: Totals
  private let totalsBefore: Totals
  /// Whether pages of bodies become free.
  private(set) var freesBodies = false
  private let folder: CacheFolder
  private var movedBlobs: [StagedBlob] = []
  private var replacedBlobs: [String] = []
  /// One folder per transaction, so that one sync makes all of its blobs durable.
  private lazy var blobFolder = UInt8.random(in: 0...255)

  init(_ transaction: Transaction, _ folder: CacheFolder) throws(CacheError) {
    totals = try transaction.totals()
    totalsBefore = totals
    self.transaction = transaction
    self.folder = folder
  }

  private var tables: Tables { transaction.tables }
  func entry(_ key: CacheKey) throws(CacheError) -> StoredEntry? { try transaction.entry(key) }
  func blacklistEntry(_ key: CacheKey) throws(CacheError) -> StoredBlacklistEntry? { try transaction.blacklistEntry(key) }
  var storedImages: UInt64 { totals.lastRevision &- totalsBefore.lastRevision }

  // MARK: Changing entries

  /// Stores an entry, replacing any other with its key.
  func store(_ fields: consuming EntryFields, body: NewBody, at storedAt: Timestamp, accessedAt: Timestamp) throws(CacheError) {
    totals.lastRevision &+= 1
    fields.head.revision = totals.lastRevision
    (fields.head.storedAt, fields.head.accessedAt) = (storedAt, accessedAt)
    if let old = try entry(fields.key)?.head { try removeAllButRecord(old, of: fields.key) }
    switch body {
    case .bytes(let bytes) where bytes.count <= ImageCache.maximumInlineBytes:
      (fields.head.bodySize, fields.head.isBlob, fields.head.blobFolder) = (UInt64(bytes.count), false, 0)
      try bytes.withRawBytes { (bytes) throws(CacheError) in
        try transaction.append(bytes, for: fields.head.bodyKey, in: tables.bodies)
      }
    case .bytes(let bytes): try move(BlobWriter.write(bytes, in: folder), to: &fields)
    case .staged(let blob): try move(blob, to: &fields)
    }
    try write(fields)
    try transaction.put(for: TimeKey(storedAt, fields.key), in: tables.byStored)
    if totals.keepsAccessOrder { try transaction.put(for: TimeKey(accessedAt, fields.key), in: tables.byAccess) }
    totals.add(fields.head)
  }

  /// Changes a record, but not its body.
  func replaceRecord(_ old: EntryHead, by fields: EntryFields) throws(CacheError) {
    try write(fields)
    try move(fields.key, from: old.storedAt, to: fields.head.storedAt, in: tables.byStored)
    if totals.keepsAccessOrder { try move(fields.key, from: old.accessedAt, to: fields.head.accessedAt, in: tables.byAccess) }
  }

  private func move(_ key: CacheKey, from old: Timestamp, to new: Timestamp, in table: MDB_dbi) throws(CacheError) {
    if old == new { return }
    try transaction.remove(TimeKey(old, key), from: table)
    try transaction.put(for: TimeKey(new, key), in: table)
  }

  private func write(_ fields: EntryFields) throws(CacheError) {
    StoredEntry.write(fields, to: try transaction.reserve(StoredEntry.byteCount(of: fields), for: fields.key, in: tables.entries))
  }

  func remove(_ key: CacheKey, _ head: EntryHead) throws(CacheError) {
    try removeAllButRecord(head, of: key)
    try transaction.remove(key, from: tables.entries)
  }

  func clearEntries() throws(CacheError) {
    freesBodies = true
    for table in [tables.entries, tables.bodies, tables.byStored, tables.byAccess] { try transaction.removeAll(from: table) }
    totals.removeEntries()
  }

  /// Fills a new index with an old one's blacklist, and with its totals apart from entries.
  func restore(_ old: Totals, blacklist: [(key: [UInt8], value: [UInt8])]) throws(CacheError) {
    for row in blacklist {
      try row.key.withRawBytes { (key) throws(CacheError) in
        try row.value.withRawBytes { (value) throws(CacheError) in try transaction.append(value, for: key, in: tables.blacklist) }
      }
    }
    totals = old
    totals.removeEntries()
  }

  /// Removes the body of a record, and the record's rows in other tables.
  private func removeAllButRecord(_ head: EntryHead, of key: CacheKey) throws(CacheError) {
    try transaction.remove(TimeKey(head.storedAt, key), from: tables.byStored)
    if totals.keepsAccessOrder { try transaction.remove(TimeKey(head.accessedAt, key), from: tables.byAccess) }
    totals.subtract(head)
    if head.isBlob {
      replacedBlobs.append(BlobFolder.fileName(key, head))
    } else {
      freesBodies = true
      try transaction.remove(head.bodyKey, from: tables.bodies)
    }
  }

  /// Fills the table `by-access`, which all processes maintain from then on; does nothing if it is maintained already.
  func keepAccessOrder() throws(CacheError) {
    if totals.keepsAccessOrder { return }
    try transaction.forEach(in: tables.entries) { (bytes, record) throws(CacheError) in
      if let key = CacheKey(stored: bytes), let entry = StoredEntry(record) {
        try transaction.put(for: TimeKey(entry.accessedAt, key), in: tables.byAccess)
      }
      return true
    }
    totals.keepsAccessOrder = true
  }

  private func move(_ blob: StagedBlob, to fields: inout EntryFields) throws(CacheError) {
    (fields.head.bodySize, fields.head.isBlob, fields.head.blobFolder) = (blob.size, true, blobFolder)
    if movedBlobs.isEmpty { try BlobFolder(folder).makeFolder(blobFolder) }
    let blob = try blob.current(in: folder)
    try blob.file.move(to: BlobFolder.fileName(fields.key, fields.head))
    movedBlobs.append(blob)
  }

  // MARK: The end

  /// Writes the totals and syncs blobs; the commit follows.
  func finish() throws(CacheError) {
    if totals != totalsBefore { try writeTotals() }
    for blob in movedBlobs { try blob.synchronize() }
    if !movedBlobs.isEmpty { try folder.synchronize(BlobFolder.folderName(blobFolder)) }
  }

  func writeTotals() throws(CacheError) {
    totals.write(to: try transaction.reserve(Totals.byteCount, for: Totals.key, in: tables.totals))
  }

  /// After the commit, keeps new blobs and removes replaced ones. Sweeps remove those that can't be removed now.
  func didCommit() {
    for blob in movedBlobs { blob.file.keep() }
    for name in replacedBlobs { unlinkat(folder.descriptor.number, name, 0) }
  }
}

// The blacklist.
extension WriteTransaction {
  /// Writes a failure, replacing any other with its key.
  func blacklist(_ record: BlacklistRecord) throws(CacheError) {
    if try blacklistEntry(record.key) == nil { totals.blacklistEntries &+= 1 }
    totals.nextBlacklistExpiry = min(totals.nextBlacklistExpiry, record.expiresAt?.milliseconds ?? .max)
    let byteCount = StoredBlacklistEntry.byteCount(of: record)
    StoredBlacklistEntry.write(record, to: try transaction.reserve(byteCount, for: record.key, in: tables.blacklist))
  }

  func removeFromBlacklist(_ key: CacheKey) throws(CacheError) {
    if try transaction.remove(key, from: tables.blacklist) { totals.blacklistEntries -= min(totals.blacklistEntries, 1) }
  }

  func clearBlacklist() throws(CacheError) -> Int {
    let count = Int(totals.blacklistEntries)
    try transaction.removeAll(from: tables.blacklist)
    totals.blacklistEntries = 0
    totals.nextBlacklistExpiry = .max
    return count
  }

  /// Removes up to `limit` expired entries from the blacklist; returns whether there may be more. It scans all of them, since the
  /// table isn't ordered by time.
  func trimBlacklist(at now: Timestamp, limit: Int) throws(CacheError) -> Bool {
    var expired: [CacheKey] = []
    var next = Int64.max
    try transaction.forEach(in: tables.blacklist) { (bytes, record) throws(CacheError) in
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
}

/// The totals of a cache, updated in every transaction: correct after a crash, without counting.
public struct CacheTotals: Sendable, Hashable {
  public let entries: Int
  /// The size of their bodies in bytes.
  public let bodyBytes: Int
  /// URLs on the blacklist, including expired ones that weren't trimmed yet.
  public let blacklistEntries: Int
}

/// The one record of the table `totals`: format version 1. All integers are little-endian.
///
/// | offset | type | |
/// |---|---|---|
/// | 0 | u64 | entries |
/// | 8 | u64 | bytes of bodies |
/// | 16 | u64 | bytes of blobs on disk, each rounded up to whole blocks |
/// | 24 | u64 | entries of the blacklist |
/// | 32 | i64 | no entry of the blacklist expires before this, milliseconds since 1970 |
/// | 40 | u64 | the highest revision given so far |
/// | 48 | u8 | flags: 1 the table `by-access` is maintained |
struct Totals: Equatable {
  static let key: StaticString = "totals"
  static let byteCount = 49
  private static let blockByteCount: UInt64 = 4096

  var entries: UInt64 = 0
  var bodyBytes: UInt64 = 0
  var blobDiskBytes: UInt64 = 0
  var blacklistEntries: UInt64 = 0
  var nextBlacklistExpiry: Int64 = .max
  var lastRevision: UInt64 = 0
  var keepsAccessOrder = false

  init() {}

  /// Parses totals from their record; nil if the bytes are invalid.
  init?(stored bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount else { return nil }
    entries = bytes.littleEndian(at: 0)
    bodyBytes = bytes.littleEndian(at: 8)
    blobDiskBytes = bytes.littleEndian(at: 16)
    blacklistEntries = bytes.littleEndian(at: 24)
    nextBlacklistExpiry = bytes.littleEndian(at: 32)
    lastRevision = bytes.littleEndian(at: 40)
    keepsAccessOrder = bytes[48] & 1 != 0
  }

  func write(to record: UnsafeMutableRawBufferPointer) {
    record.setLittleEndian(entries, at: 0)
    record.setLittleEndian(bodyBytes, at: 8)
    record.setLittleEndian(blobDiskBytes, at: 16)
    record.setLittleEndian(blacklistEntries, at: 24)
    record.setLittleEndian(nextBlacklistExpiry, at: 32)
    record.setLittleEndian(lastRevision, at: 40)
    record[48] = keepsAccessOrder ? 1 : 0
  }

  // All sums are clamped: a damaged record must not crash the process.

  mutating func add(_ head: EntryHead) {
    entries = Self.sum(entries, 1)
    bodyBytes = Self.sum(bodyBytes, head.bodySize)
    if head.isBlob { blobDiskBytes = Self.sum(blobDiskBytes, Self.diskBytes(head.bodySize)) }
  }

  mutating func subtract(_ head: EntryHead) {
    entries -= min(entries, 1)
    bodyBytes -= min(bodyBytes, head.bodySize)
    if head.isBlob { blobDiskBytes -= min(blobDiskBytes, Self.diskBytes(head.bodySize)) }
  }

  mutating func removeEntries() { (entries, bodyBytes, blobDiskBytes) = (0, 0, 0) }
  private static func diskBytes(_ size: UInt64) -> UInt64 { sum(size, blockByteCount - 1) / blockByteCount * blockByteCount }

  private static func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }

  var shown: CacheTotals {
    CacheTotals(
      entries: Int(clamping: entries),
      bodyBytes: Int(clamping: bodyBytes),
      blacklistEntries: Int(clamping: blacklistEntries)
    )
  }
}
