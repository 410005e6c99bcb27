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

  /// Opens the tables in a transaction, creating missing ones if `flags` allows it; otherwise nil if one is missing.
  init?(_ transaction: OpaquePointer, flags: Int32, path: String) throws(CacheError) {
    var opened: [MDB_dbi] = []
    for name in ["entries", "bodies", "by-stored", "by-access", "totals", "blacklist"] {
      var (table, stored): (MDB_dbi, UInt32) = (0, 0)
      let code = mdb_dbi_open(transaction, name, UInt32(flags), &table)
      if code == MDB_NOTFOUND { return nil }
      try checkIndex(code, path: path)
      try checkIndex(mdb_dbi_flags(transaction, table, &stored), path: path)
      // Ours have none. By others LMDB would take values for trees of their own.
      guard stored == 0 else { throw .damaged(path: path, reason: "table \(name) of the index has impossible flags") }
      opened.append(table)
    }
    (entries, bodies, byStored) = (opened[0], opened[1], opened[2])
    (byAccess, totals, blacklist) = (opened[3], opened[4], opened[5])
  }
}

protocol IndexKey {
  /// Calls `body` with the key's representation on disk, whose byte order is the table's order.
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R
}

extension UnsafeRawBufferPointer: IndexKey {
  @inline(__always)
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R { try body(self) }
}

extension StaticString: IndexKey {
  func withStoredBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount))
  }
}

/// A running LMDB transaction, owned by the environment. The bytes that it returns are valid until it ends or writes.
struct Transaction {
  let handle: OpaquePointer
  let tables: Tables
  let path: String
  /// Whether the folder was deleted, whose entries don't count: it reads as empty.
  var isDeleted = false

  @inline(__always)
  func value(of key: some IndexKey, in table: MDB_dbi) throws(CacheError) -> UnsafeRawBufferPointer? {
    if isDeleted { return nil }
    var value = MDB_val()
    let code = key.withStoredBytes { key in
      var key = MDB_val(key)
      return mdb_get(handle, table, &key, &value)
    }
    return try found(code) ? UnsafeRawBufferPointer(value) : nil
  }

  /// Adds a key without value, unless it exists.
  func put(for key: some IndexKey, in table: MDB_dbi) throws(CacheError) {
    var value = MDB_val()
    try put(&value, for: key, in: table, 0)
  }

  /// Sets the value of a key above all others of the table, which fills pages completely.
  func append(_ value: UnsafeRawBufferPointer, for key: some IndexKey, in table: MDB_dbi) throws(CacheError) {
    var value = MDB_val(value)
    try put(&value, for: key, in: table, MDB_APPEND)
  }

  /// Reserves space for the value of a key, which must be filled before the next call.
  func reserve(_ byteCount: Int, for key: some IndexKey, in table: MDB_dbi) throws(CacheError) -> UnsafeMutableRawBufferPointer {
    var value = MDB_val(mv_size: byteCount, mv_data: nil)
    try put(&value, for: key, in: table, MDB_RESERVE)
    return UnsafeMutableRawBufferPointer(start: value.mv_data, count: byteCount)
  }

  private func put(_ value: inout MDB_val, for key: some IndexKey, in table: MDB_dbi, _ flags: Int32) throws(CacheError) {
    let code = key.withStoredBytes { key in
      var key = MDB_val(key)
      return mdb_put(handle, table, &key, &value, UInt32(flags))
    }
    try checkIndex(code, path: path)
  }

  @discardableResult
  func remove(_ key: some IndexKey, from table: MDB_dbi) throws(CacheError) -> Bool {
    let code = key.withStoredBytes { key in
      var key = MDB_val(key)
      return mdb_del(handle, table, &key, nil)
    }
    return try found(code)
  }

  func removeAll(from table: MDB_dbi) throws(CacheError) { try checkIndex(mdb_drop(handle, table, 0), path: path) }

  /// Calls `body` with the keys and values of a table in order, after `start` (nil: from the first), until it returns false.
  /// `body` must not change the table.
  func forEach(
    in table: MDB_dbi,
    after start: (any IndexKey)? = nil,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(CacheError) -> Bool
  ) throws(CacheError) {
    if isDeleted { return }
    try withCursor(in: table) { (cursor) throws(CacheError) in
      var row = try cursor.first(after: start)
      while let (key, value) = row, try body(key, value) { row = try cursor.move(MDB_NEXT) }
    }
  }

  /// Calls `body` with a cursor of a table; until it returns, nothing else may change the table.
  func withCursor<R>(in table: MDB_dbi, _ body: (Cursor) throws(CacheError) -> R) throws(CacheError) -> R {
    var opened: OpaquePointer?
    try checkIndex(mdb_cursor_open(handle, table, &opened), path: path)
    guard let opened else { preconditionFailure("LMDB opened no cursor") }
    defer { mdb_cursor_close(opened) }
    return try body(Cursor(handle: opened, path: path))
  }

  @inline(__always)
  private func found(_ code: Int32) throws(CacheError) -> Bool {
    if code == MDB_NOTFOUND { return false }
    try checkIndex(code, path: path)
    return true
  }
}

/// A position in a table. The bytes that it returns are valid until the next write. Moving to a key on the current page needs no
/// search from the root, so accessing many keys in order is cheap.
struct Cursor {
  typealias Row = (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)

  fileprivate let handle: OpaquePointer
  fileprivate let path: String

  /// Moves as `operation` says, to the key if there is one, and returns the row there; nil if there is none.
  func move(_ operation: MDB_cursor_op, _ key: UnsafeRawBufferPointer? = nil) throws(CacheError) -> Row? {
    var key = key.map { MDB_val($0) } ?? MDB_val()
    var value = MDB_val()
    let code = mdb_cursor_get(handle, &key, &value, operation)
    if code == MDB_NOTFOUND { return nil }
    try checkIndex(code, path: path)
    return (UnsafeRawBufferPointer(key), UnsafeRawBufferPointer(value))
  }

  fileprivate func first(after start: (any IndexKey)?) throws(CacheError) -> Row? {
    guard let start else { return try move(MDB_FIRST) }
    return try start.withStoredBytes { (start) throws(CacheError) in
      let row = try move(MDB_SET_RANGE, start)
      return row?.key.hasSameBytes(as: start) == true ? try move(MDB_NEXT) : row
    }
  }

  func value(of key: some IndexKey) throws(CacheError) -> UnsafeRawBufferPointer? {
    try key.withStoredBytes { (key) throws(CacheError) in try move(MDB_SET_KEY, key)?.value }
  }

  /// Sets the value of a key: with `MDB_CURRENT` of the current one, in place if the length is the same; with `MDB_APPEND` of one above
  /// all others of the table, which fills pages completely.
  func put(_ value: UnsafeRawBufferPointer, for key: some IndexKey, _ flags: Int32) throws(CacheError) {
    let code = key.withStoredBytes { key in
      var (key, value) = (MDB_val(key), MDB_val(value))
      return mdb_cursor_put(handle, &key, &value, UInt32(flags))
    }
    try checkIndex(code, path: path)
  }

  func remove(_ key: some IndexKey) throws(CacheError) {
    guard try value(of: key) != nil else { return }
    try checkIndex(mdb_cursor_del(handle, 0), path: path)
  }
}

/// Throws the error for a result code of LMDB, except for commits.
@inline(__always)
func checkIndex(_ code: Int32, path: String) throws(CacheError) {
  if code != MDB_SUCCESS { throw indexError(code, path: path) }
}

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
