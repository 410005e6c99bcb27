import CLMDB
import Platform
import Base
import Synchronization

/// A newly opened LMDB environment with its tables.
struct OpenedIndex {
  let handle: OpaquePointer
  let tables: Tables
  /// The data file's descriptor, owned by the environment.
  let file: Int32
  let isReadOnly: Bool

  /// More address space than any cache needs; only the pages that are used cost memory.
  static let mapByteCount = 1 << 40
  /// The minimum for processes with a limit on address space.
  private static let smallestMapByteCount = 1 << 26
  /// As many as fit in whole pages of the lock file, at 64 bytes each.
  private static let readerLimit: UInt32 = 1022

  /// Opens the index of a folder, creating it for writing if it doesn't exist. For reading, it is opened with write permission if
  /// possible, so that both kinds of access share the environment.
  init(_ folder: CacheFolder, access: ImageCache.Access, mapByteCount: Int = mapByteCount) throws(CacheError) {
    if access == .readOnly && !folder.contains(CacheFolder.indexName) { throw .missing(path: folder.path) }
    try IndexFile.checkMetaPages(in: folder)
    var code: Int32 = EACCES
    for flags in access == .readWrite ? [0] : [0, MDB_RDONLY] {
      var opened: OpaquePointer?
      code = Self.openEnvironment(folder, flags, mapByteCount, &opened)
      if let opened {
        try self.init(opened, folder, access: access, isReadOnly: flags != 0)
        return
      }
      guard code == EACCES || code == EROFS || code == EPERM else { break }
    }
    // LMDB has one code for everything that can be wrong with a file.
    if code == MDB_INVALID { try IndexFile.checkLength(in: folder) }
    throw Self.openError(code, folder)
  }

  /// Opens an index whose lock file isn't writable; the caller must ensure that no process writes the index.
  init(withoutLock folder: CacheFolder) throws(CacheError) {
    try IndexFile.checkMetaPages(in: folder)
    var opened: OpaquePointer?
    let code = Self.openEnvironment(folder, MDB_RDONLY | MDB_NOLOCK, Self.mapByteCount, &opened)
    guard let opened else { throw Self.openError(code, folder) }
    try self.init(opened, folder, access: .readOnly, isReadOnly: true)
  }

  private init(_ handle: OpaquePointer, _ folder: CacheFolder, access: ImageCache.Access, isReadOnly: Bool) throws(CacheError) {
    do throws(CacheError) {
      // Once LMDB has opened the file, no other process is creating it, and only its first pages have been accessed.
      try IndexFile.checkLength(in: folder)
      try checkIndex(mdb_reader_check(handle, nil), path: folder.path)
      var tables = try Self.openTables(handle, folder, creates: false)
      // They are missing if the process that created the index died before its first commit.
      if tables == nil, access == .readOnly { throw .missing(path: folder.path) }
      if tables == nil { tables = try Self.openTables(handle, folder, creates: true) }
      guard let opened = tables else { throw .damaged(path: folder.path, reason: "a table of the index is missing") }
      self.tables = opened
    } catch {
      mdb_env_close(handle)
      throw error
    }
    var file: Int32 = -1
    mdb_env_get_fd(handle, &file)
    self.handle = handle
    self.file = file
    self.isReadOnly = isReadOnly
  }

  /// Opens the environment, or returns LMDB's code. The map is as large as the address space allows: its size is halved until it
  /// fits.
  private static func openEnvironment(
    _ folder: CacheFolder,
    _ flags: Int32,
    _ wantedMapByteCount: Int,
    _ opened: inout OpaquePointer?
  ) -> Int32 {
    var mapByteCount = wantedMapByteCount
    while true {
      var created: OpaquePointer?
      var code = mdb_env_create(&created)
      if code == MDB_SUCCESS { code = mdb_env_set_mapsize(created, mapByteCount) }
      if code == MDB_SUCCESS { code = mdb_env_set_maxreaders(created, readerLimit) }
      if code == MDB_SUCCESS { code = mdb_env_set_maxdbs(created, Tables.count) }
      let all = flags | MDB_NOTLS | MDB_NORDAHEAD | MDB_NOSUBDIR
      if code == MDB_SUCCESS { code = mdb_env_open(created, folder.path(of: CacheFolder.indexName), UInt32(all), 0o644) }
      if code == MDB_SUCCESS {
        opened = created
        return code
      }
      mdb_env_close(created)
      guard code == ENOMEM || code == EINVAL, mapByteCount > smallestMapByteCount else { return code }
      mapByteCount /= 2
    }
  }

  private static func openTables(_ environment: OpaquePointer, _ folder: CacheFolder, creates: Bool) throws(CacheError) -> Tables?
  {
    var begun: OpaquePointer?
    let code = mdb_txn_begin(environment, nil, creates ? 0 : UInt32(MDB_RDONLY), &begun)
    // The first reader of a process locks the byte of its process ID; only a process with the same ID can hold that lock.
    if code == EAGAIN || code == EACCES { throw .foreignProcessNamespace(path: folder.path) }
    try checkIndex(code, path: folder.path)
    guard let transaction = begun else { return nil }
    let tables: Tables?
    do throws(CacheError) {
      tables = try Tables(transaction, flags: creates ? MDB_CREATE : 0, path: folder.path)
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    // Handles outlive their transaction only if it commits.
    try checkIndex(mdb_txn_commit(transaction), path: folder.path)
    return tables
  }

  private static func openError(_ code: Int32, _ folder: CacheFolder) -> CacheError {
    switch code {
    case EACCES, EROFS, EPERM:
      .cannotOpen(path: folder.path(of: CacheFolder.indexName), reason: errorSentence(code))
    case EAGAIN: .foreignProcessNamespace(path: folder.path)
    default: indexError(code, path: folder.path)
    }
  }
}

/// The environments that this process has open: one per folder, regardless of its path, counted by users.
enum EnvironmentRegistry {
  // Both opening and closing hold this lock, since two environments on the same file must never exist at once.
  private static let registered = Mutex<[FolderIdentity: (environment: IndexEnvironment, users: Int)]>([:])

  /// The environment of a folder, opened if necessary, or again if its index was deleted; release it with ``close(_:)``. A new folder
  /// gets `key`, or else a random one.
  static func open(_ folder: CacheFolder, access: ImageCache.Access, key: [UInt8]? = nil) throws(CacheError) -> IndexEnvironment {
    try registered.withLock { (list) throws(CacheError) -> IndexEnvironment in
      if access == .readWrite {
        try folder.checkWritable()
        try FolderMarks.prepare(folder, key: key)
        try BlobFolder(folder).prepare()
      }
      if let known = list[folder.id], !known.environment.isDeleted {
        if access == .readWrite && known.environment.isReadOnly {
          throw .cannotWrite(path: folder.path, reason: "it is already open read-only in this process")
        }
        list[folder.id]?.users += 1
        return known.environment
      }
      let environment = try openNew(folder, access: access)
      list[folder.id] = (environment, users: 1)
      return environment
    }
  }

  /// Releases an environment; the last user closes it. One whose index was deleted closes itself when its last reference is released.
  static func close(_ environment: IndexEnvironment) {
    registered.withLock { list in
      guard var known = list[environment.folder.id], known.environment === environment else { return }
      list[environment.folder.id] = nil
      known.users -= 1
      if known.users > 0 { list[environment.folder.id] = known } else { environment.close() }
    }
  }

  private static func openNew(_ folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> IndexEnvironment {
    try FolderMarks.checkVersion(of: folder)
    do throws(CacheError) {
      let useLock = try UseLock.take(folder, access: access)
      if access == .readWrite { try BlobFolder(folder).sweepTemporary() }
      let opened =
        if access == .readOnly {
          try OpenedIndex(folder, access: access)
        } else {
          try folder.whileOpening { () throws(CacheError) in
            // Processes that still have the deleted index open use its lock file, which must not count for the new one.
            if !folder.contains(CacheFolder.indexName) { try folder.remove(CacheFolder.indexLockName) }
            return try OpenedIndex(folder, access: access)
          }
        }
      let environment = IndexEnvironment(opened, folder: folder, useLock: useLock)
      // Sync the folder even if another process created the files: commits are durable only if the files' names are.
      if access == .readWrite { try folder.synchronize(".") }
      return environment
    } catch {
      guard access == .readOnly, case .cannotOpen = error else { throw error }
      // This user may not write the lock file: then no process that could write the index may have the folder open.
      let useLock = try UseLock.take(folder, access: .readOnly, alone: true)
      return IndexEnvironment(try OpenedIndex(withoutLock: folder), folder: folder, useLock: useLock)
    }
  }
}

/// The first pages of an LMDB data file, read before LMDB maps it. LMDB opens truncated files, and the process then dies of
/// SIGBUS when it accesses missing pages. Offsets are those of `MDB_page` and `MDB_meta` of LMDB 0.9 on 64-bit machines.
enum IndexFile {
  private static let metaByteCount = 152
  private static let magic: UInt32 = 0xBEEF_C0DE

  /// Throws `cut` if the index is shorter than its newer meta page says, unless only free pages are missing; a missing or empty
  /// index passes.
  static func checkLength(in folder: CacheFolder) throws(CacheError) {
    try checkMetaPages(in: folder)
    let path = folder.path(of: CacheFolder.indexName)
    guard let file = try folder.open(CacheFolder.indexName, O_RDONLY), let first = file.status, first.st_size > 0 else { return }
    if first.st_size < metaByteCount { throw .cut(path: path, expectedBytes: metaByteCount, actualBytes: Int(first.st_size)) }
    guard let pageSize = try meta(file.number, at: 0, folder).map(\.pageSize), pageSizes.contains(pageSize) else {
      throw .damaged(path: folder.path, reason: "\(CacheFolder.indexName) has no valid header")
    }
    let metas = [try meta(file.number, at: 0, folder), try meta(file.number, at: pageSize, folder)].compactMap { $0 }
    guard let newest = metas.max(by: { $0.transaction < $1.transaction }) else { return }
    // Read the length after the meta pages, since another process may be extending the file.
    let actual = Int(file.status?.st_size ?? first.st_size)
    let (expected, overflow) = (newest.lastPage &+ 1).multipliedReportingOverflow(by: pageSize)
    if metas.count == 2, !overflow, actual < expected, actual >= 2 * pageSize {
      // A transaction may allocate pages at the end of the file and free them before it commits. They count as pages of the file but
      // were never written, so a process that dies right after its commit leaves an intact file that is shorter than its meta page
      // says. The list of free pages takes 8 bytes for each.
      let pages = IndexPages(file: file.number, pageSize: pageSize)
      if newest.lastPage < actual / pageSize + actual / 8,
        pages.areFree(actual / pageSize..<newest.lastPage + 1, root: newest.freeRoot)
      {
        return
      }
    }
    guard metas.count == 2, !overflow, actual >= expected else {
      let least = overflow ? .max : max(expected, 2 * pageSize)
      throw .cut(path: path, expectedBytes: least, actualBytes: actual)
    }
  }

  /// Throws `damaged` if the newer meta page has values with which LMDB would divide by zero, map missing pages, or follow a page
  /// number outside of the file. A missing index, or one that another process is creating, passes.
  static func checkMetaPages(in folder: CacheFolder) throws(CacheError) {
    guard let file = try folder.open(CacheFolder.indexName, O_RDONLY), let status = file.status else { return }
    let damaged = CacheError.damaged(path: folder.path, reason: "\(CacheFolder.indexName) has no valid header")
    guard status.st_size >= 2 * pageSizes[0] else { return }
    // A read during another process's commit may return parts of both old and new values.
    for pause: UInt32 in [0, 1000, 10_000] {
      if pause > 0 { usleep(pause) }
      guard let first = try meta(file.number, at: 0, folder), pageSizes.contains(first.pageSize) else { throw damaged }
      guard status.st_size >= 2 * first.pageSize else { return }
      guard let second = try meta(file.number, at: first.pageSize, folder), second.pageSize == first.pageSize else {
        throw damaged
      }
      // LMDB uses the newer one only; a commit whose write failed leaves the older one with mixed values.
      if (second.transaction > first.transaction ? second : first).isValid { return }
    }
    throw .damaged(path: folder.path, reason: "a meta page of \(CacheFolder.indexName) has impossible values")
  }

  private static let pageSizes = [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]

  private struct Meta {
    /// No index has more bytes; up to this limit, page numbers times sizes don't overflow.
    private static let maximumByteCount = 1 << 47
    /// The maximum depth of LMDB's trees, `CURSOR_STACK`.
    private static let maximumDepth: UInt16 = 32

    let pageSize: Int
    let version: UInt32
    let mapByteCount: UInt64
    /// The trees of free pages and of tables.
    let trees: [(flags: UInt16, depth: UInt16, root: UInt64)]
    let lastPage: Int
    let transaction: UInt64

    init(_ bytes: UnsafeRawBufferPointer) {
      version = bytes.littleEndian(at: 20)
      mapByteCount = bytes.littleEndian(at: 32)
      pageSize = Int(bytes.littleEndian(at: 40, as: UInt32.self))
      trees = [40, 88].map { (bytes.littleEndian(at: $0 + 4), bytes.littleEndian(at: $0 + 6), bytes.littleEndian(at: $0 + 40)) }
      lastPage = Int(truncatingIfNeeded: bytes.littleEndian(at: 136, as: UInt64.self))
      transaction = bytes.littleEndian(at: 144)
    }

    var freeRoot: Int { Int(truncatingIfNeeded: trees[0].root) }

    /// Whether LMDB can open a file with these values.
    var isValid: Bool {
      guard version == 1, mapByteCount <= UInt64(Self.maximumByteCount) else { return false }
      guard (1...Self.maximumByteCount / pageSize).contains(lastPage), hasOurFlags else { return false }
      return trees.allSatisfy { tree in
        tree.root == .max || (2...max(2, UInt64(lastPage))).contains(tree.root) && (1...Self.maximumDepth).contains(tree.depth)
      }
    }

    /// Keys of the tree of free pages are integers (8); LMDB adds the environment's `MDB_NOSUBDIR`. The tree of tables has no flags.
    private var hasOurFlags: Bool { trees[0].flags & ~0x4000 == 8 && trees[1].flags == 0 }
  }

  /// The meta page at an offset; nil if there is none.
  private static func meta(_ file: Int32, at offset: Int, _ folder: CacheFolder) throws(CacheError) -> Meta? {
    var bytes = [UInt8](repeating: 0, count: metaByteCount)
    let count = uninterrupted { pread(file, &bytes, metaByteCount, off_t(offset)) }
    guard count >= 0 else { throw .cannotRead(path: folder.path(of: CacheFolder.indexName), reason: errorSentence()) }
    guard count == metaByteCount else { return nil }
    return bytes.withUnsafeBytes { $0.littleEndian(at: 16, as: UInt32.self) == magic ? Meta($0) : nil }
  }
}
