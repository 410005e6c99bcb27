import Base
import Synchronization

extension ImageCache {
  /// The next entries, at most `limit`: those after `record`, or the first ones.
  public func entries(after record: EntryRecord? = nil, limit: Int) throws(CacheError) -> [EntryRecord] {
    let now = configuration.time.wall()
    return try list(\.entries, after: record?.key, limit: limit) { key, bytes in
      StoredEntry(bytes).map { EntryRecord(key: key, stored: $0, expiry: expiry, now: now) }
    }
  }

  /// The entry of an identity, expired or not; nil if there is none.
  package func entry(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> EntryRecord? {
    try read { (reader) throws(CacheError) in
      guard let entry = try reader.entry(key), entry.identity.hasSameBytes(as: identity) else { return nil }
      return EntryRecord(key: key, stored: entry, expiry: expiry, now: reader.now)
    }
  }

  /// The path of the file with a record's body; nil if the body is in the index.
  public func bodyPath(of record: EntryRecord) -> String? {
    let head = record.head
    guard head.isBlob else { return nil }
    return environment.folder.path(of: BlobFolder.fileName(record.key, revision: head.revision, folder: head.blobFolder))
  }

  /// Removes the entry of an identity; returns whether there was one.
  package func remove(identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.remove(CacheKey(identity: identity), identity: identity) }
  }

  /// Removes all images, frees their space, and returns the previous totals; the blacklist is kept.
  ///
  /// Throws `inUse` if another process has the cache open.
  @discardableResult
  public func clear() throws(CacheError) -> CacheTotals {
    try alone { () throws(CacheError) in
      let before = try totals()
      do throws(CacheError) {
        try environment.write { (transaction) throws(CacheError) in try transaction.clearEntries() }
        _ = try sweepBlobs()
        try environment.compact()
      } catch {
        guard error.isLackOfRoom else { throw error }
        try clearWithoutRoom()
      }
      return before
    }
  }

  /// Replaces the index with an empty one and copies the blacklist into it; a crash in between loses the blacklist.
  private func clearWithoutRoom() throws(CacheError) {
    let (totals, blacklist) = try environment.read { (transaction, tables, _) throws(CacheError) in
      var rows: [(key: [UInt8], value: [UInt8])] = []
      try transaction.forEach(in: tables.blacklist, after: nil) { (key, value) throws(CacheError) in
        rows.append((Array(key), Array(value)))
        return true
      }
      return (try WriteTransaction.totals(in: transaction, tables), rows)
    }
    try environment.replaceIndexByEmpty()
    try environment.write { (transaction) throws(CacheError) in try transaction.restore(totals, blacklist: blacklist) }
    _ = try sweepBlobs()
  }

  /// Compacts the index to reclaim disk space.
  ///
  /// Throws `inUse` if another process has the cache open.
  public func compact() throws(CacheError) {
    try alone { () throws(CacheError) in try environment.compact() }
  }

  private func alone<R>(_ body: () throws(CacheError) -> R) throws(CacheError) -> R {
    try checkWritable()
    return try environment.alone(body)
  }

  // MARK: The blacklist

  /// The next blacklist entries, including expired ones, at most `limit`: those after `record`, or the first ones.
  public func blacklist(after record: BlacklistRecord? = nil, limit: Int) throws(CacheError) -> [BlacklistRecord] {
    try list(\.blacklist, after: record?.key, limit: limit) { key, bytes in
      StoredBlacklistEntry(bytes).map {
        BlacklistRecord(key: key, head: $0.head, identity: Array($0.identity), shownURL: Array($0.url))
      }
    }
  }

  /// The blacklist entry of an identity, expired or not; nil if there is none.
  package func blacklistEntry(_ key: CacheKey, identity: UnsafeRawBufferPointer) throws(CacheError) -> BlacklistRecord? {
    try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      if isDeleted { return nil }
      let bytes = try key.withStoredBytes { (key) throws(CacheError) in try transaction.value(of: key, in: tables.blacklist) }
      guard let entry = bytes.flatMap(StoredBlacklistEntry.init), entry.identity.hasSameBytes(as: identity) else { return nil }
      return BlacklistRecord(key: key, head: entry.head, identity: Array(entry.identity), shownURL: Array(entry.url))
    }
  }

  /// Removes an identity from the blacklist; returns whether it was there.
  package func removeFromBlacklist(identity: UnsafeRawBufferPointer) throws(CacheError) -> Bool {
    try write { (writer) throws(CacheError) in try writer.unblacklist(CacheKey(identity: identity), identity: identity) }
  }

  /// Removes everything from the blacklist; returns the number of entries.
  @discardableResult
  public func clearBlacklist() throws(CacheError) -> Int {
    try checkWritable()
    return try environment.write { (transaction) throws(CacheError) in try transaction.clearBlacklist() }
  }

  /// The next records of a table, without unreadable ones.
  private func list<Record>(
    _ table: KeyPath<Tables, UInt32>,
    after start: CacheKey?,
    limit: Int,
    _ decode: (CacheKey, UnsafeRawBufferPointer) -> Record?
  ) throws(CacheError) -> [Record] {
    try environment.read { (transaction, tables, isDeleted) throws(CacheError) in
      var records: [Record] = []
      if isDeleted || limit <= 0 { return records }
      try transaction.forEach(in: tables[keyPath: table], after: start?.storedBytes) { (bytes, value) throws(CacheError) in
        if let key = CacheKey(stored: bytes), let record = decode(key, value) { records.append(record) }
        return records.count < limit
      }
      return records
    }
  }
}

/// Access times that wait to be written in bulk.
///
/// Keys are hashes, so a few records are each on a different page, and changing one means copying and writing its page. Among very
/// many, sorted by key, several share a page.
final class WaitingTouches: Sendable {
  /// The number of records that one transaction changes.
  static let sliceCount = 8192

  private let waiting = Mutex<[EntryTouch]>([])

  /// Returns the number of waiting touches.
  func add(_ touches: [EntryTouch]) -> Int {
    waiting.withLock { waiting in
      waiting += touches
      return waiting.count
    }
  }

  /// Takes all of them, sorted by key.
  func takeAll() -> [EntryTouch] {
    var all: [EntryTouch] = []
    waiting.withLock { swap(&$0, &all) }
    all.sort { ($0.key.high, $0.key.low) < ($1.key.high, $1.key.low) }
    return all
  }
}

extension ImageCache {
  /// The recommended number of records that wait for ``writeTouches()``, 24 bytes each.
  package static let touchLimit = 1 << 17

  /// Records the use of entries whose access time is outdated, and returns how many wait for ``writeTouches()``.
  ///
  /// If the process dies, waiting ones are lost. Access times are best effort: the next hit updates them.
  package func note(_ touches: [EntryTouch]) -> Int { touches.isEmpty ? 0 : touched.add(touches) }

  /// Writes the access times of entries passed to ``note(_:)``; entries that were replaced since are skipped.
  ///
  /// All get the same time, so that entries that are neighbours in key order are neighbours in access order too, where the next
  /// update finds them. It uses several transactions; after a failure, those before are kept and the rest is lost.
  package func writeTouches() throws(CacheError) {
    let touches = touched.takeAll()
    let now = configuration.time.wall()
    var start = 0
    while start < touches.count {
      let slice = touches[start..<min(start + WaitingTouches.sliceCount, touches.count)]
      try checkWritable()
      try environment.write { (transaction) throws(CacheError) in try transaction.touch(slice, at: now) }
      start = slice.endIndex
    }
  }
}

/// A record that was used and whose access time is outdated: 24 bytes, since there may be millions.
package struct EntryTouch: Sendable {
  let key: CacheKey
  /// Shows whether the record has changed since it was read.
  let revision: UInt64

  package init(_ key: CacheKey, _ head: EntryHead) {
    self.key = key
    revision = head.revision
  }
}

extension EntryRecord {
  private static let mark = Array("#transform=".utf8)

  /// Whether a transformer made it from another image: its identity is the original's with `#transform=` and the transformer's key.
  public var isTransformed: Bool { markStart != nil }

  /// The identity of the original image; nil if this isn't a transformed image.
  public var originalIdentity: ArraySlice<UInt8>? { markStart.map { identity[..<$0] } }

  /// The key of the transformer that made it; nil if this isn't a transformed image.
  public var transformKey: ArraySlice<UInt8>? { markStart.map { identity[($0 + Self.mark.count)...] } }

  private var markStart: Int? {
    identity.indices.first { identity[$0] == UInt8(ascii: "#") && identity[$0...].starts(with: Self.mark) }
  }
}

extension ImageCache {
  /// Transformed images by the identity of their original; identities without any are omitted.
  ///
  /// Records are found by their whole identity, so this scans all of them.
  public func transformedEntries(of identities: Set<[UInt8]>) throws(CacheError) -> [[UInt8]: [EntryRecord]] {
    var found: [[UInt8]: [EntryRecord]] = [:]
    try forEachEntry { record throws(CacheError) in
      guard let original = record.originalIdentity.map(Array.init), identities.contains(original) else { return }
      found[original, default: []].append(record)
    }
    return found
  }
}
