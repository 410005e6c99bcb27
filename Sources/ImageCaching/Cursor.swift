import CLMDB

/// A place in a table within a write transaction. Bytes that it returns are valid until the next write.
///
/// Going to a key on the page that it is at costs no search from the root; so it is for many keys in order.
struct Cursor {
  private let handle: OpaquePointer
  private let path: String

  fileprivate init(_ handle: OpaquePointer, path: String) {
    self.handle = handle
    self.path = path
  }

  /// Goes to a key; returns its value, nil where there is none.
  func value(of key: UnsafeRawBufferPointer) throws(CacheError) -> UnsafeRawBufferPointer? {
    var key = MDB_val(key)
    var value = MDB_val()
    return try found(mdb_cursor_get(handle, &key, &value, MDB_SET_KEY)) ? UnsafeRawBufferPointer(value) : nil
  }

  /// Goes to the last key and returns it; nil where the table is empty.
  func lastKey() throws(CacheError) -> UnsafeRawBufferPointer? {
    var key = MDB_val()
    var value = MDB_val()
    return try found(mdb_cursor_get(handle, &key, &value, MDB_LAST)) ? UnsafeRawBufferPointer(key) : nil
  }

  /// Replaces the value of the key that it is at, in place where the length is the same.
  func replace(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer) throws(CacheError) {
    try put(value, for: key, UInt32(MDB_CURRENT))
  }

  /// Sets the value of a key; with `isLast` the key is above all others of the table, which fills its pages.
  func put(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, isLast: Bool) throws(CacheError) {
    try put(value, for: key, isLast ? UInt32(MDB_APPEND) : 0)
  }

  private func put(_ value: UnsafeRawBufferPointer, for key: UnsafeRawBufferPointer, _ flags: UInt32) throws(CacheError) {
    var key = MDB_val(key)
    var value = MDB_val(value)
    let code = mdb_cursor_put(handle, &key, &value, flags)
    if code != MDB_SUCCESS { throw indexError(code, path: path) }
  }

  /// Removes a key, where it is there.
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
  /// Calls `body` with a cursor of a table; meanwhile nothing else may change the table.
  func withCursor<R>(in table: MDB_dbi, _ body: (Cursor) throws(CacheError) -> R) throws(CacheError) -> R {
    var opened: OpaquePointer?
    let code = mdb_cursor_open(handle, table, &opened)
    guard code == MDB_SUCCESS, let opened else { throw indexError(code, path: path) }
    defer { mdb_cursor_close(opened) }
    return try body(Cursor(opened, path: path))
  }
}
