import CLMDB
import Platform
import Base
import Synchronization

/// An LMDB environment and its folder, shared by every ``ImageCache`` that this process opens on the folder.
///
/// LMDB allows a process one environment per file, since closing any descriptor of the lock file drops the process's locks;
/// ``EnvironmentRegistry`` ensures that. Transactions hold ``gate`` shared; moving or replacing the map requires holding it
/// exclusively.
final class IndexEnvironment: @unchecked Sendable {
  // `handle`, `tables` and `index` change only while `gate` is held exclusively, and are read only while it is held shared. Any
  // thread may use LMDB's environment itself.
  private(set) var handle: OpaquePointer?
  private(set) var tables: Tables
  private var index: Int32

  let folder: CacheFolder
  /// Whether the index was opened without write permission.
  let isReadOnly: Bool
  let useLock: UseLock?
  private let gate = ReadWriteLock()
  private let idleReaders = Mutex<[ReadHandle]>([])
  private let reuse = Mutex(PageReuse())
  private let stopReason = Mutex<String?>(nil)

  /// A read transaction between uses. With MDB_NOTLS it isn't bound to a thread; only the code that took it from the list uses it.
  private struct ReadHandle: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  init(_ opened: OpenedIndex, folder: CacheFolder, useLock: UseLock?) {
    handle = opened.handle
    tables = opened.tables
    index = opened.file
    isReadOnly = opened.isReadOnly
    self.folder = folder
    self.useLock = useLock
  }

  deinit { close() }

  /// Whether the index was deleted or replaced while open: it has no name any more.
  private var isDeleted: Bool {
    var status = stat()
    return fstat(index, &status) != 0 || status.st_nlink == 0
  }

  // MARK: Reading

  /// Calls `body` in a read transaction, with a flag for a deleted folder, whose entries don't count.
  func read<R>(
    _ body: (Transaction, Tables, _ isDeleted: Bool) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    let reader = try begin { environment in self.renewReader(of: environment) }
    defer {
      mdb_txn_reset(reader.pointer)
      idleReaders.withLock { $0.append(reader) }
      gate.unlock()
    }
    return try body(Transaction(handle: reader.pointer, path: folder.path), tables, isDeleted)
  }

  private func renewReader(of environment: OpaquePointer) -> (Int32, ReadHandle?) {
    if let idle = idleReaders.withLock({ $0.popLast() }) {
      let code = mdb_txn_renew(idle.pointer)
      if code == MDB_SUCCESS { return (code, idle) }
      mdb_txn_abort(idle.pointer)
      return (code, nil)
    }
    var transaction: OpaquePointer?
    let code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
    return (code, transaction.map(ReadHandle.init))
  }

  // MARK: Writing

  /// Calls `body` in a write transaction, then commits and syncs; if `body` or the commit fails, nothing changes.
  ///
  /// With `delaysReuse`, the pages that it frees may be kept until ``reusePages()``, since other commits follow soon.
  func write<R>(
    delaysReuse: Bool = false,
    _ body: (WriteTransaction) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if isReadOnly { throw .readOnly(path: folder.path) }
    if let reason = stopReason.withLock({ $0 }) { throw .storingStopped(path: folder.path, reason: reason) }
    let writer = try begin { environment in
      if delaysReuse { reuse.withLock { $0.delay(in: self) } }
      var transaction: OpaquePointer?
      let code = mdb_txn_begin(environment, nil, 0, &transaction)
      return (code, transaction.map(ReadHandle.init))
    }
    defer { gate.unlock() }
    do throws(CacheError) {
      return try commit(writer.pointer, body)
    } catch {
      // Another try may need the pages.
      reuse.withLock { $0.end() }
      if case .storingStopped(_, let reason) = error { stopReason.withLock { $0 = reason } }
      if case .mapFull = error { try clearDeadReaders() }
      throw error
    }
  }

  private func commit<R>(_ handle: OpaquePointer, _ body: (WriteTransaction) throws(CacheError) -> R) throws(CacheError) -> R {
    let result: R
    let transaction: WriteTransaction
    do throws(CacheError) {
      transaction = try WriteTransaction(Transaction(handle: handle, path: folder.path), tables, folder)
      result = try body(transaction)
      try transaction.finish()
      if isDeleted { throw .deleted(path: folder.path) }
    } catch {
      mdb_txn_abort(handle)
      throw isDeleted ? .deleted(path: folder.path) : error
    }
    let code = mdb_txn_commit(handle)
    guard code == MDB_SUCCESS else { throw commitError(code) }
    transaction.didCommit()
    reuse.withLock { $0.count(transaction.storedImages, freesBodies: transaction.freesBodies) }
    extendIndex()
    return result
  }

  /// Lets the pages that earlier commits have freed be reused.
  func reusePages() {
    gate.lockShared()
    defer { gate.unlock() }
    reuse.withLock { $0.end() }
  }

  /// LMDB reports a short write, which means a full disk, as EIO. After any other failed write or sync, the state of the disk is
  /// unknown.
  private func commitError(_ code: Int32) -> CacheError {
    if code == EIO, let free = FileSystemKind.freeByteCount(of: index), free < Self.fullDiskByteCount {
      return .diskFull(path: folder.path)
    }
    // Positive codes are the system's; LMDB's own, negative ones never mean a failed write.
    if code > 0 && !isDiskFull(code) { return .storingStopped(path: folder.path, reason: errorSentence(code)) }
    return indexError(code, path: folder.path)
  }

  /// A disk with less free space than this counts as full: the last write of a batch may leave some.
  private static let fullDiskByteCount = 4 << 20

  /// Extends the file to the length that its meta page states. Pages that a transaction allocated and freed again may be missing at
  /// its end, which ``IndexFile`` couldn't distinguish from a truncated file.
  ///
  /// If this fails, the commit stays valid and the next commit tries again; so the failure isn't reported.
  private func extendIndex() {
    guard lacksPages else { return }
    // An empty write transaction keeps other writers out.
    var transaction: OpaquePointer?
    guard mdb_txn_begin(handle, nil, 0, &transaction) == MDB_SUCCESS else { return }
    if lacksPages { ftruncate(index, off_t(neededByteCount)) }
    mdb_txn_abort(transaction)
  }

  private var lacksPages: Bool {
    var status = stat()
    return fstat(index, &status) == 0 && Int(status.st_size) < neededByteCount
  }

  private var neededByteCount: Int {
    var info = MDB_envinfo()
    var statistics = MDB_stat()
    mdb_env_info(handle, &info)
    mdb_env_stat(handle, &statistics)
    return (info.me_last_pgno + 1) * Int(statistics.ms_psize)
  }

  // MARK: The environment as a whole

  /// Begins a transaction by `start`, holding the gate shared; the end of the transaction must release it.
  ///
  /// Adopts a map that another process has enlarged, and removes dead readers if no slot is left.
  private func begin(_ start: (OpaquePointer) -> (Int32, ReadHandle?)) throws(CacheError) -> ReadHandle {
    var hasClearedReaders = false
    while true {
      gate.lockShared()
      guard let environment = handle else {
        gate.unlock()
        throw .deleted(path: folder.path)
      }
      let (code, transaction) = start(environment)
      if code == MDB_SUCCESS, let transaction { return transaction }
      gate.unlock()
      switch code {
      case MDB_MAP_RESIZED: try adoptMapSize()
      case MDB_READERS_FULL where !hasClearedReaders:
        try clearDeadReaders()
        hasClearedReaders = true
      default: throw indexError(code, path: folder.path)
      }
    }
  }

  private func adoptMapSize() throws(CacheError) {
    try gate.alone { () throws(CacheError) in
      endIdleReaders()
      guard let environment = handle else { return }
      let code = mdb_env_set_mapsize(environment, 0)
      // Without a map the environment can't be used at all.
      guard code == MDB_SUCCESS else {
        close()
        throw indexError(code, path: folder.path)
      }
    }
  }

  /// Frees the slots of readers whose process died, since they prevent the reuse of old pages.
  func clearDeadReaders() throws(CacheError) {
    gate.lockShared()
    defer { gate.unlock() }
    guard let handle else { return }
    let code = mdb_reader_check(handle, nil)
    guard code == MDB_SUCCESS else { throw indexError(code, path: folder.path) }
  }

  /// The size of the index on disk, in bytes.
  var indexDiskBytes: Int {
    gate.lockShared()
    defer { gate.unlock() }
    var status = stat()
    return fstat(index, &status) == 0 ? Int(status.st_blocks) * 512 : 0
  }

  /// A descriptor of the index for positional reads; nil if the system has none left or the environment is closed.
  func duplicateOfIndex() -> FileDescriptor? {
    gate.lockShared()
    defer { gate.unlock() }
    guard handle != nil else { return nil }
    let number = fcntl(index, F_DUPFD_CLOEXEC, 0)
    return number < 0 ? nil : FileDescriptor(owning: number)
  }

  /// Calls `body` while no other process has the folder open; throws `inUse` if one has.
  func alone<R>(_ body: () throws(CacheError) -> R) throws(CacheError) -> R {
    guard let useLock else { throw .readOnly(path: folder.path) }
    return try useLock.alone(body)
  }

  /// Replaces the index by a compacted copy while no other process or transaction uses it.
  func compact() throws(CacheError) {
    if isReadOnly { throw .readOnly(path: folder.path) }
    try gate.alone { () throws(CacheError) in
      guard let environment = handle, !isDeleted else { throw .deleted(path: folder.path) }
      try IndexCompaction.writeCopy(of: environment, in: folder)
      close()
      try IndexCompaction.replaceIndex(in: folder)
      try reopen()
    }
  }

  /// Replaces the index by an empty one, while no other process and no transaction of ours uses it.
  func replaceIndexByEmpty() throws(CacheError) {
    if isReadOnly { throw .readOnly(path: folder.path) }
    try gate.alone { () throws(CacheError) in
      guard handle != nil, !isDeleted else { throw .deleted(path: folder.path) }
      close()
      try folder.remove(CacheFolder.indexName)
      try folder.remove(CacheFolder.indexLockName)
      try reopen()
    }
  }

  private func reopen() throws(CacheError) {
    let opened = try OpenedIndex(folder, access: .readWrite)
    handle = opened.handle
    tables = opened.tables
    index = opened.file
  }

  /// Frees disk space of bodies, at least that many bytes if they have them. Returns false if nothing was freed.
  ///
  /// Bodies in the index are freed only if no other process has the folder open: on tmpfs, reading a freed page needs room again.
  func freeBodies(of heads: [(CacheKey, EntryHead)], atLeast byteCount: Int) throws(CacheError) -> Bool {
    var freed = 0
    for (key, head) in heads where head.isBlob && freed < byteCount {
      let name = BlobFolder.fileName(key, revision: head.revision, folder: head.blobFolder)
      if unlinkat(folder.descriptor.number, name, 0) == 0 { freed += Int(clamping: min(head.bodySize, UInt64(byteCount))) }
    }
    if freed > 0 { return true }
    let inline = heads.map(\.1).filter { !$0.isBlob }
    do throws(CacheError) {
      return try alone { () throws(CacheError) in try freeInlineBodies(of: inline, atLeast: byteCount) }
    } catch {
      if case .inUse = error { return false }
      throw error
    }
  }

  private func freeInlineBodies(of heads: [EntryHead], atLeast byteCount: Int) throws(CacheError) -> Bool {
    try gate.alone { () throws(CacheError) in
      guard let handle, !isDeleted else { throw .deleted(path: folder.path) }
      var begun: OpaquePointer?
      let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &begun)
      guard code == MDB_SUCCESS, let begun else { throw indexError(code, path: folder.path) }
      defer { mdb_txn_abort(begun) }
      var statistics = MDB_stat()
      mdb_env_stat(handle, &statistics)
      let transaction = Transaction(handle: begun, path: folder.path)
      var freed = 0
      for head in heads where freed < byteCount {
        let body = try head.withBodyKey { (key) throws(CacheError) in try transaction.value(of: key, in: tables.bodies) }
        guard let range = body.flatMap({ IndexCompaction.restOfBody($0, pageSize: Int(statistics.ms_psize)) }) else { continue }
        if system_punch_hole(index, off_t(range.lowerBound), off_t(range.count)) == 0 { freed += range.count }
      }
      return freed > 0
    }
  }

  private func endIdleReaders() {
    let idle = idleReaders.withLock { list in
      defer { list = [] }
      return list
    }
    for reader in idle { mdb_txn_abort(reader.pointer) }
    reuse.withLock { $0.end() }
  }

  /// Closes the environment, which must be unused; later transactions fail.
  func close() {
    endIdleReaders()
    mdb_env_close(handle)
    handle = nil
  }
}

/// The environments that this process has open: one per folder, regardless of its path, counted by users.
enum EnvironmentRegistry {
  private struct Registered {
    let environment: IndexEnvironment
    var users: Int
  }

  // Both opening and closing hold this lock, since two environments on the same file must never exist at once.
  private static let registered = Mutex<[FolderIdentity: Registered]>([:])

  /// The environment of a folder, opened if necessary; release it with ``close(_:)``.
  static func open(_ folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> IndexEnvironment {
    try registered.withLock { (list) throws(CacheError) -> IndexEnvironment in
      if access == .readWrite { try prepare(folder) }
      if let known = list[folder.id] {
        if access == .readWrite && known.environment.isReadOnly {
          throw .cannotWrite(path: folder.path, reason: "it is already open read-only in this process")
        }
        list[folder.id]?.users += 1
        return known.environment
      }
      let environment = try openNew(folder, access: access)
      list[folder.id] = Registered(environment: environment, users: 1)
      return environment
    }
  }

  /// Releases an environment; the last user closes it.
  static func close(_ environment: IndexEnvironment) {
    registered.withLock { list in
      guard var known = list.removeValue(forKey: environment.folder.id) else { return }
      known.users -= 1
      if known.users > 0 { list[environment.folder.id] = known } else { environment.close() }
    }
  }

  private static func prepare(_ folder: CacheFolder) throws(CacheError) {
    try folder.checkWritable()
    try FolderMarks.prepare(folder)
    try BlobFolder(folder).prepare()
  }

  private static func openNew(_ folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> IndexEnvironment {
    try FolderMarks.checkVersion(of: folder)
    do throws(CacheError) {
      return try openLocked(folder, access: access)
    } catch {
      guard access == .readOnly, case .cannotOpen = error else { throw error }
      return try openUnlocked(folder)
    }
  }

  private static func openLocked(_ folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> IndexEnvironment {
    let useLock = try UseLock.take(folder, access: access)
    if access == .readWrite { try BlobFolder(folder).sweepTemporary() }
    let index = try OpenedIndex(folder, access: access)
    let environment = IndexEnvironment(index, folder: folder, useLock: useLock)
    // Sync the folder even if another process created the files: commits are durable only if the files' names are.
    if access == .readWrite { try folder.synchronize(".") }
    return environment
  }

  /// Opens an index whose lock file this user may not write: then no process that could write it may have the folder open.
  private static func openUnlocked(_ folder: CacheFolder) throws(CacheError) -> IndexEnvironment {
    let useLock = try UseLock.take(folder, access: .readOnly, alone: true)
    return IndexEnvironment(try OpenedIndex(withoutLock: folder), folder: folder, useLock: useLock)
  }
}
