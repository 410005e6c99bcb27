import CLMDB

/// The tables of the index. Their handles are valid as long as the environment is open.
struct Tables: Sendable {
  /// Key → fixed head and texts of an image: see ``StoredEntry``.
  let entries: MDB_dbi
  /// Revision → body up to 256 KiB; in storing order, so that the bodies of a batch are adjacent.
  let bodies: MDB_dbi
  /// Time stored and key → nothing: see ``TimeKey``.
  let byStored: MDB_dbi
  /// Time accessed and key → nothing; maintained only if ``Totals/keepsAccessOrder`` is set.
  let byAccess: MDB_dbi
  /// One record: see ``Totals``.
  let totals: MDB_dbi
  /// Key → a blacklisted URL: see ``StoredBlacklistEntry``.
  let blacklist: MDB_dbi

  static let count: MDB_dbi = 6

  /// Opens the tables, creating missing ones if `flags` allows it; otherwise nil if one is missing.
  init?(_ transaction: Transaction, flags: Int32) throws(CacheError) {
    guard let entries = try transaction.openTable("entries", flags),
      let bodies = try transaction.openTable("bodies", flags),
      let byStored = try transaction.openTable("by-stored", flags),
      let byAccess = try transaction.openTable("by-access", flags),
      let totals = try transaction.openTable("totals", flags),
      let blacklist = try transaction.openTable("blacklist", flags)
    else { return nil }
    self.entries = entries
    self.bodies = bodies
    self.byStored = byStored
    self.byAccess = byAccess
    self.totals = totals
    self.blacklist = blacklist
  }
}

/// A running LMDB transaction, owned by the environment. The bytes that it returns are valid until it ends or writes.
struct Transaction {
  let handle: OpaquePointer
  /// For messages.
  let path: String

  func openTable(_ name: String, _ flags: Int32) throws(CacheError) -> MDB_dbi? {
    var table: MDB_dbi = 0
    let code = mdb_dbi_open(handle, name, UInt32(flags), &table)
    if code == MDB_NOTFOUND { return nil }
    try check(code)
    var stored: UInt32 = 0
    try check(mdb_dbi_flags(handle, table, &stored))
    // Ours have none. By others LMDB would take values for trees of their own.
    guard stored == 0 else { throw .damaged(path: path, reason: "table \(name) of the index has impossible flags") }
    return table
  }

  /// The value of a key; nil if there is none.
  @inline(__always)
  func value(of key: UnsafeRawBufferPointer, in table: MDB_dbi) throws(CacheError) -> UnsafeRawBufferPointer? {
    var key = MDB_val(key)
    var value = MDB_val()
    let code = mdb_get(handle, table, &key, &value)
    if code == MDB_SUCCESS { return UnsafeRawBufferPointer(value) }
    if code == MDB_NOTFOUND { return nil }
    throw indexError(code, path: path)
  }

  /// Sets the value of a key, replacing any previous one.
  func put(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in table: MDB_dbi) throws(CacheError) {
    var key = MDB_val(key)
    var value = MDB_val(value)
    try check(mdb_put(handle, table, &key, &value, 0))
  }

  /// Sets the value of a key above all others of the table, which fills pages completely.
  func append(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, in table: MDB_dbi) throws(CacheError) {
    var key = MDB_val(key)
    var value = MDB_val(value)
    try check(mdb_put(handle, table, &key, &value, UInt32(MDB_APPEND)))
  }

  /// Reserves space for the value of a key, which must be filled before the next call.
  func reserve(
    _ byteCount: Int,
    for key: UnsafeRawBufferPointer,
    in table: MDB_dbi
  ) throws(CacheError) -> UnsafeMutableRawBufferPointer {
    var key = MDB_val(key)
    var value = MDB_val(mv_size: byteCount, mv_data: nil)
    try check(mdb_put(handle, table, &key, &value, UInt32(MDB_RESERVE)))
    return UnsafeMutableRawBufferPointer(start: value.mv_data, count: byteCount)
  }

  /// Removes a key; returns whether it was there.
  @discardableResult
  func remove(_ key: UnsafeRawBufferPointer, from table: MDB_dbi) throws(CacheError) -> Bool {
    var key = MDB_val(key)
    let code = mdb_del(handle, table, &key, nil)
    if code == MDB_NOTFOUND { return false }
    try check(code)
    return true
  }

  func removeAll(from table: MDB_dbi) throws(CacheError) { try check(mdb_drop(handle, table, 0)) }

  /// Calls `body` with the keys and values of a table in order, after `start` (nil: from the first), until it returns false.
  ///
  /// `body` must not change the table.
  func forEach(
    in table: MDB_dbi,
    after start: [UInt8]?,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(CacheError) -> Bool
  ) throws(CacheError) {
    var opened: OpaquePointer?
    try check(mdb_cursor_open(handle, table, &opened))
    defer { mdb_cursor_close(opened) }
    var key = MDB_val()
    var value = MDB_val()
    var code = Self.seek(opened, after: start, &key, &value)
    while code == MDB_SUCCESS {
      guard try body(UnsafeRawBufferPointer(key), UnsafeRawBufferPointer(value)) else { return }
      code = mdb_cursor_get(opened, &key, &value, MDB_NEXT)
    }
    if code != MDB_NOTFOUND { throw indexError(code, path: path) }
  }

  private static func seek(_ cursor: OpaquePointer?, after start: [UInt8]?, _ key: inout MDB_val, _ value: inout MDB_val) -> Int32
  {
    guard let start else { return mdb_cursor_get(cursor, &key, &value, MDB_FIRST) }
    return start.withUnsafeBytes { start in
      key = MDB_val(start)
      let code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
      guard code == MDB_SUCCESS, UnsafeRawBufferPointer(key).hasSameBytes(as: start) else { return code }
      return mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
    }
  }

  private func check(_ code: Int32) throws(CacheError) {
    if code != MDB_SUCCESS { throw indexError(code, path: path) }
  }
}

/// The error for a result code of LMDB, except for commits.
func indexError(_ code: Int32, path: String) -> CacheError {
  switch code {
  case MDB_MAP_FULL: .mapFull(path: path)
  case MDB_READERS_FULL: .readersFull(path: path)
  case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH, MDB_INCOMPATIBLE:
    .damaged(path: path, reason: String(cString: mdb_strerror(code)))
  case MDB_PANIC: .storingStopped(path: path, reason: "an earlier write of the index failed")
  default: isDiskFull(code) ? .diskFull(path: path) : .other(path: path, reason: String(cString: mdb_strerror(code)))
  }
}

extension MDB_val {
  /// A value for bytes that LMDB only reads.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  init(_ value: MDB_val) { self.init(start: value.mv_data, count: value.mv_size) }
}

/// A position in a table within a write transaction. The bytes that it returns are valid until the next write.
///
/// Moving to a key on the current page needs no search from the root, so accessing many keys in order is cheap.
struct Cursor {
  private let handle: OpaquePointer
  private let path: String

  fileprivate init(_ handle: OpaquePointer, path: String) {
    self.handle = handle
    self.path = path
  }

  /// Moves to a key and returns its value; nil if there is none.
  func value(of key: UnsafeRawBufferPointer) throws(CacheError) -> UnsafeRawBufferPointer? {
    var key = MDB_val(key)
    var value = MDB_val()
    return try found(mdb_cursor_get(handle, &key, &value, MDB_SET_KEY)) ? UnsafeRawBufferPointer(value) : nil
  }

  /// Moves to the last key and returns it; nil if the table is empty.
  func lastKey() throws(CacheError) -> UnsafeRawBufferPointer? {
    var key = MDB_val()
    var value = MDB_val()
    return try found(mdb_cursor_get(handle, &key, &value, MDB_LAST)) ? UnsafeRawBufferPointer(key) : nil
  }

  /// Replaces the value of the current key, in place if the length is the same.
  func replace(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer) throws(CacheError) {
    try put(value, for: key, UInt32(MDB_CURRENT))
  }

  /// Sets the value of a key; with `isLast` the key is above all others of the table, which fills pages completely.
  func put(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, isLast: Bool) throws(CacheError) {
    try put(value, for: key, isLast ? UInt32(MDB_APPEND) : 0)
  }

  private func put(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, _ flags: UInt32) throws(CacheError) {
    var key = MDB_val(key)
    var value = MDB_val(value)
    let code = mdb_cursor_put(handle, &key, &value, flags)
    if code != MDB_SUCCESS { throw indexError(code, path: path) }
  }

  /// Removes a key if it exists.
  func remove(_ key: UnsafeRawBufferPointer) throws(CacheError) {
    guard try value(of: key) != nil else { return }
    let code = mdb_cursor_del(handle, 0)
    if code != MDB_SUCCESS { throw indexError(code, path: path) }
  }

  private func found(_ code: Int32) throws(CacheError) -> Bool {
    if code == MDB_NOTFOUND { return false }
    if code != MDB_SUCCESS { throw indexError(code, path: path) }
    return true
  }
}

extension Transaction {
  /// Calls `body` with a cursor of a table; until it returns, nothing else may change the table.
  func withCursor<R>(in table: MDB_dbi, _ body: (Cursor) throws(CacheError) -> R) throws(CacheError) -> R {
    var opened: OpaquePointer?
    let code = mdb_cursor_open(handle, table, &opened)
    guard code == MDB_SUCCESS, let opened else { throw indexError(code, path: path) }
    defer { mdb_cursor_close(opened) }
    return try body(Cursor(opened, path: path))
  }
}
