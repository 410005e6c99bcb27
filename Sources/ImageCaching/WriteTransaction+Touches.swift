import CLMDB
import ImagePrimitives

extension WriteTransaction {
  /// Renews the times of access of records, sorted by key, that are still the ones that were read; those excepted where that was
  /// done within the last hour.
  ///
  /// Each table is gone through once, in its own order: the next record is mostly on the page that the cursor is at.
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

  /// Writes the time into the records, and returns the rows of `by-access` that they had, in the order of their keys.
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

/// Room for one record after another: those of the index lie in the map, which is for reading only.
private struct RecordCopy: ~Copyable {
  private var room = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 8)

  deinit { room.deallocate() }

  /// The bytes of `record` with another time of access, valid until the next call.
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
