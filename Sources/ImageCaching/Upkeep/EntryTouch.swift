import CLMDB
import Base
import Synchronization

extension ImageCache {
  /// The recommended number of records that wait for ``writeTouches()``, 24 bytes each.
  package static let touchLimit = 1 << 17
  /// The number of records that one transaction changes at most.
  private static let touchesPerTransaction = 8192

  /// Records the use of entries whose access time is outdated, and returns how many wait for ``writeTouches()``; they are lost if
  /// the process dies.
  package func note(_ touches: [EntryTouch]) -> Int {
    if touches.isEmpty { return 0 }
    return touched.withLock { waiting in
      waiting += touches
      return waiting.count
    }
  }

  /// Writes the access times of entries passed to ``note(_:)``; entries that were replaced since are skipped. All get the same
  /// time, so that entries that are neighbours in key order are neighbours in access order too, where the next update finds them.
  /// It uses several transactions; after a failure, those before are kept and the rest is lost.
  package func writeTouches() throws(CacheError) {
    var touches: [EntryTouch] = []
    touched.withLock { swap(&$0, &touches) }
    touches.sort { $0.key < $1.key }
    let now = configuration.time.wall()
    var (start, pace) = (0, WritePace(maximum: Self.touchesPerTransaction))
    while start < touches.count {
      try checkWritable()
      start = try pace.step { (rowCount) throws(CacheError) in
        let slice = touches[start..<min(start + rowCount, touches.count)]
        try environment.write { (transaction) throws(CacheError) in try transaction.touch(slice, at: now) }
        return slice.endIndex
      }
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

extension WriteTransaction {
  /// Updates the access times of records, sorted by key, that are unchanged since they were read, unless that was done within the
  /// last hour. It traverses each table once, in its own order: the next record is usually on the cursor's page.
  func touch(_ touches: ArraySlice<EntryTouch>, at now: Timestamp) throws(CacheError) {
    let rows = try renewRecords(touches, at: now)
    guard totals.keepsAccessOrder, !rows.isEmpty else { return }
    try transaction.withCursor(in: transaction.tables.byAccess) { (cursor) throws(CacheError) in
      let last = try cursor.move(MDB_LAST).flatMap { TimeKey(stored: $0.key) }
      let isLast = last.map { $0 < TimeKey(now, rows[0].key) } ?? true
      let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
      for row in rows { try cursor.put(nothing, for: TimeKey(now, row.key), isLast ? MDB_APPEND : 0) }
      for row in rows.sorted() { try cursor.remove(row) }
    }
  }

  /// Writes the time into the records and returns their previous rows of `by-access`, in key order.
  private func renewRecords(_ touches: ArraySlice<EntryTouch>, at now: Timestamp) throws(CacheError) -> [TimeKey] {
    var rows: [TimeKey] = []
    rows.reserveCapacity(touches.count)
    // The records of the index are in a read-only map.
    var copy: [UInt8] = []
    try transaction.withCursor(in: transaction.tables.entries) { (cursor) throws(CacheError) in
      for touch in touches {
        guard let record = try cursor.value(of: touch.key).flatMap(StoredEntry.init), record.revision == touch.revision else {
          continue
        }
        let accessedAt = record.accessedAt
        guard accessedAt.advanced(by: ImageCache.touchInterval) <= now else { continue }
        copy.removeAll(keepingCapacity: true)
        copy.append(contentsOf: record.bytes)
        copy.withUnsafeMutableBytes { StoredEntry.writeAccess(now, to: $0) }
        try copy.withRawBytes { (copy) throws(CacheError) in try cursor.put(copy, for: touch.key, MDB_CURRENT) }
        rows.append(TimeKey(accessedAt, touch.key))
      }
    }
    return rows
  }
}
