import CLMDB
import Platform
import Base

/// A running write transaction, which keeps the tables, the totals and the blobs consistent.
final class WriteTransaction {
  let transaction: Transaction
  let tables: Tables
  var totals: Totals
  private let totalsBefore: Totals
  /// Whether pages of bodies become free.
  private(set) var freesBodies = false
  private let folder: CacheFolder
  private var movedBlobs: [StagedBlob] = []
  private var replacedBlobs: [String] = []
  /// One folder per transaction, so that one sync makes all of its blobs durable.
  private lazy var blobFolder = UInt8.random(in: 0...255)

  private static let totalsKey: StaticString = "totals"

  init(_ transaction: Transaction, _ tables: Tables, _ folder: CacheFolder) throws(CacheError) {
    totals = try Self.totals(in: transaction, tables)
    totalsBefore = totals
    self.transaction = transaction
    self.tables = tables
    self.folder = folder
  }

  /// The totals as of a transaction.
  static func totals(in transaction: Transaction, _ tables: Tables) throws(CacheError) -> Totals {
    guard let bytes = try transaction.value(of: UnsafeRawBufferPointer(totalsKey), in: tables.totals) else { return Totals() }
    guard let totals = Totals(stored: bytes) else {
      throw .damaged(path: transaction.path, reason: "its totals can't be read")
    }
    return totals
  }

  /// The record of a key, regardless of its identity.
  func entry(_ key: CacheKey) throws(CacheError) -> StoredEntry? { try Self.entry(key, in: transaction, tables) }

  static func entry(_ key: CacheKey, in transaction: Transaction, _ tables: Tables) throws(CacheError) -> StoredEntry? {
    try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.entries) }
      .flatMap(StoredEntry.init)
  }

  /// The number of images stored so far.
  var storedImages: UInt64 { totals.lastRevision &- totalsBefore.lastRevision }

  // MARK: Changing entries

  /// Stores an entry, replacing any other with its key.
  ///
  /// `accessedAt` is the time of last use if it differs from the time of storing.
  func store(
    _ entry: NewEntry,
    body: NewBody,
    at storedAt: Timestamp,
    accessedAt: Timestamp? = nil
  ) throws(CacheError) {
    var body = body
    if case .bytes(let bytes) = body, bytes.count > ImageCache.maximumInlineBytes { body = .staged(try stage(bytes)) }
    totals.lastRevision &+= 1
    var head = EntryHead(entry, body: body, at: storedAt, revision: totals.lastRevision)
    if head.isBlob { head.blobFolder = blobFolder }
    head.accessedAt = accessedAt ?? storedAt
    if let old = try self.entry(entry.key)?.head { try removeAllButRecord(old, of: entry.key) }
    switch body {
    case .bytes(let bytes):
      try head.withBodyKey { (key) throws(CacheError) in try transaction.append(bytes, for: key, in: tables.bodies) }
    case .staged(let blob):
      try move(blob, to: BlobFolder.fileName(entry.key, revision: head.revision, folder: head.blobFolder))
    }
    try entry.key.withStoredBytes { (key) throws(CacheError) in
      let texts = StoredEntry.Texts(entry)
      let record = try transaction.reserve(texts.recordByteCount, for: key, in: tables.entries)
      StoredEntry.write(texts, head: head, to: record)
    }
    try setTimes(of: head, entry.key)
    totals.add(head)
  }

  /// Changes the head of a record, but neither its body nor its freshness.
  func replaceHead(of key: CacheKey, _ stored: StoredEntry, by head: EntryHead) throws(CacheError) {
    let old = stored.head
    // The record is in the read-only map, and the next write may move it.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: stored.bytes.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyMemory(from: stored.bytes)
    StoredEntry.write(head, to: copy)
    try key.withStoredBytes { (key) throws(CacheError) in
      try transaction.put(UnsafeRawBufferPointer(copy), for: key, in: tables.entries)
    }
    try moveTimes(from: old, to: head, key)
  }

  /// Changes the head of a record and its validators, except those that are nil, but not its body.
  func replaceRecord(
    of key: CacheKey,
    _ stored: StoredEntry,
    by head: EntryHead,
    validators: Validators?
  ) throws(CacheError) {
    let old = stored.head
    try Array(stored.bytes).withRawBytes { (copy) throws(CacheError) in
      guard let copied = StoredEntry(copy) else { preconditionFailure("the copy of a record is invalid") }
      var texts = StoredEntry.Texts(copied, freshness: head.storedFreshness)
      if let etag = validators?.etag { texts.etag = NewEntry.fitting(Array(etag.utf8)) }
      if let lastModified = validators?.lastModified { texts.lastModified = NewEntry.fitting(Array(lastModified.utf8)) }
      try key.withStoredBytes { (key) throws(CacheError) in
        let record = try transaction.reserve(texts.recordByteCount, for: key, in: tables.entries)
        StoredEntry.write(texts, head: head, to: record)
      }
    }
    try moveTimes(from: old, to: head, key)
  }

  /// Removes a record and its body.
  func remove(_ key: CacheKey, _ head: EntryHead) throws(CacheError) {
    try removeAllButRecord(head, of: key)
    try key.withStoredBytes { (key) throws(CacheError) in _ = try transaction.remove(key, from: tables.entries) }
  }

  /// Removes all entries and bodies.
  func clearEntries() throws(CacheError) {
    freesBodies = true
    for table in [tables.entries, tables.bodies, tables.byStored, tables.byAccess] { try transaction.removeAll(from: table) }
    (totals.entries, totals.bodyBytes, totals.blobDiskBytes) = (0, 0, 0)
  }

  /// Fills a new index with an old one's blacklist, and with its totals apart from entries.
  func restore(_ old: Totals, blacklist: [(key: [UInt8], value: [UInt8])]) throws(CacheError) {
    for row in blacklist {
      try row.key.withRawBytes { (key) throws(CacheError) in
        try row.value.withRawBytes { (value) throws(CacheError) in try transaction.append(value, for: key, in: tables.blacklist) }
      }
    }
    totals = old
    (totals.entries, totals.bodyBytes, totals.blobDiskBytes) = (0, 0, 0)
  }

  /// Removes the body of a record, and the record's rows in other tables.
  private func removeAllButRecord(_ head: EntryHead, of key: CacheKey) throws(CacheError) {
    try removeTime(head.storedAt, key, from: tables.byStored)
    if totals.keepsAccessOrder { try removeTime(head.accessedAt, key, from: tables.byAccess) }
    totals.subtract(head)
    if head.isBlob {
      replacedBlobs.append(BlobFolder.fileName(key, revision: head.revision, folder: head.blobFolder))
    } else {
      freesBodies = true
      try head.withBodyKey { (key) throws(CacheError) in _ = try transaction.remove(key, from: tables.bodies) }
    }
  }

  // MARK: Times

  private func setTimes(of head: EntryHead, _ key: CacheKey) throws(CacheError) {
    try setTime(head.storedAt, key, in: tables.byStored)
    if totals.keepsAccessOrder { try setTime(head.accessedAt, key, in: tables.byAccess) }
  }

  private func setTime(_ time: Timestamp, _ key: CacheKey, in table: UInt32) throws(CacheError) {
    try TimeKey(time, key).withStoredBytes { (key) throws(CacheError) in
      try transaction.put(UnsafeRawBufferPointer(start: nil, count: 0), for: key, in: table)
    }
  }

  private func removeTime(_ time: Timestamp, _ key: CacheKey, from table: UInt32) throws(CacheError) {
    try TimeKey(time, key).withStoredBytes { (key) throws(CacheError) in _ = try transaction.remove(key, from: table) }
  }

  private func moveTimes(from old: EntryHead, to head: EntryHead, _ key: CacheKey) throws(CacheError) {
    if old.storedAt != head.storedAt {
      try removeTime(old.storedAt, key, from: tables.byStored)
      try setTime(head.storedAt, key, in: tables.byStored)
    }
    if totals.keepsAccessOrder && old.accessedAt != head.accessedAt {
      try removeTime(old.accessedAt, key, from: tables.byAccess)
      try setTime(head.accessedAt, key, in: tables.byAccess)
    }
  }

  /// Fills the table `by-access`, which all processes maintain from then on; does nothing if it is maintained already.
  func keepAccessOrder() throws(CacheError) {
    if totals.keepsAccessOrder { return }
    try transaction.forEach(in: tables.entries, after: nil) { (bytes, record) throws(CacheError) in
      if let key = CacheKey(stored: bytes), let entry = StoredEntry(record) {
        try setTime(entry.head.accessedAt, key, in: tables.byAccess)
      }
      return true
    }
    totals.keepsAccessOrder = true
  }

  // MARK: Blobs

  private func stage(_ bytes: UnsafeRawBufferPointer) throws(CacheError) -> StagedBlob {
    let writer = try BlobWriter(folder)
    try writer.append(bytes)
    return try writer.finish()
  }

  private func move(_ blob: StagedBlob, to name: String) throws(CacheError) {
    if movedBlobs.isEmpty { try BlobFolder(folder).makeFolder(blobFolder) }
    try blob.move(to: name)
    movedBlobs.append(blob)
  }

  // MARK: The end

  /// Writes the totals and syncs blobs; the commit follows.
  func finish() throws(CacheError) {
    if totals != totalsBefore {
      let record = try transaction.reserve(Totals.byteCount, for: UnsafeRawBufferPointer(Self.totalsKey), in: tables.totals)
      totals.write(to: record)
    }
    for blob in movedBlobs { try blob.synchronize() }
    if !movedBlobs.isEmpty { try folder.synchronize(BlobFolder.folderName(blobFolder)) }
  }

  /// After the commit, keeps new blobs and removes replaced ones. Sweeps remove those that can't be removed now.
  func didCommit() {
    for blob in movedBlobs { blob.didCommit() }
    for name in replacedBlobs { unlinkat(folder.descriptor.number, name, 0) }
  }
}

extension UnsafeRawBufferPointer {
  fileprivate init(_ text: StaticString) { self.init(start: text.utf8Start, count: text.utf8CodeUnitCount) }
}

extension EntryHead {
  /// The head of a new entry.
  fileprivate init(_ entry: NewEntry, body: NewBody, at now: Timestamp, revision: UInt64) {
    storedAt = now
    accessedAt = now
    image = entry.image
    checksum = entry.checksum
    proof = entry.proof
    hasWarnings = entry.hasWarnings
    contentTypeMatch = entry.contentTypeMatch
    status = entry.status
    hasVary = !entry.vary.isEmpty
    storedFreshness = StoredFreshness(entry.freshness)
    lifetimeMilliseconds = entry.lifetime.map { max(0, $0.wholeMilliseconds) }
    self.revision = revision
    blobFolder = 0
    switch body {
    case .bytes(let bytes):
      bodySize = UInt64(bytes.count)
      isBlob = false
    case .staged(let blob):
      bodySize = blob.size
      isBlob = true
    }
  }
}

extension WriteTransaction {
  /// Updates the access times of records, sorted by key, that are unchanged since they were read, unless that was done within the
  /// last hour.
  ///
  /// It traverses each table once, in its own order: the next record is usually on the cursor's page.
  func touch(_ touches: ArraySlice<EntryTouch>, at now: Timestamp) throws(CacheError) {
    let rows = try renewRecords(touches, at: now)
    guard totals.keepsAccessOrder, !rows.isEmpty else { return }
    try transaction.withCursor(in: tables.byAccess) { (cursor) throws(CacheError) in
      let isLast = try cursor.lastKey().flatMap(TimeKey.init).map { $0.isBefore(TimeKey(now, rows[0].key)) } ?? true
      for row in rows {
        try TimeKey(now, row.key).withStoredBytes { (key) throws(CacheError) in
          try cursor.put(UnsafeRawBufferPointer(start: nil, count: 0), for: key, isLast: isLast)
        }
      }
      for row in rows.sorted(by: { $0.isBefore($1) }) {
        try row.withStoredBytes { (key) throws(CacheError) in try cursor.remove(key) }
      }
    }
  }

  /// Writes the time into the records and returns their previous rows of `by-access`, in key order.
  private func renewRecords(_ touches: ArraySlice<EntryTouch>, at now: Timestamp) throws(CacheError) -> [TimeKey] {
    var rows: [TimeKey] = []
    rows.reserveCapacity(touches.count)
    var copy = RecordCopy()
    try transaction.withCursor(in: tables.entries) { (cursor) throws(CacheError) in
      for touch in touches {
        try touch.key.withStoredBytes { (key) throws(CacheError) in
          guard let record = try cursor.value(of: key).flatMap(StoredEntry.init), record.revision == touch.revision else {
            return
          }
          let accessedAt = record.accessedAt
          guard accessedAt.advanced(by: ImageCache.touchInterval) <= now else { return }
          try cursor.replace(copy.accessed(record, at: now), for: key)
          rows.append(TimeKey(accessedAt, touch.key))
        }
      }
    }
    return rows
  }
}

/// A buffer for one record at a time, since the records of the index are in a read-only map.
private struct RecordCopy: ~Copyable {
  private var room = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)

  deinit { room.deallocate() }

  /// The bytes of `record` with another access time, valid until the next call.
  mutating func accessed(_ record: StoredEntry, at time: Timestamp) -> UnsafeRawBufferPointer {
    if record.bytes.count > room.count {
      room.deallocate()
      room = .allocate(byteCount: record.bytes.count, alignment: 8)
    }
    room.copyMemory(from: record.bytes)
    StoredEntry.writeAccess(time, to: room)
    return UnsafeRawBufferPointer(rebasing: room[..<record.bytes.count])
  }
}
