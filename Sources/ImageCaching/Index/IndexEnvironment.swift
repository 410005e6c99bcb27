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
  // `handle`, `tables`, `index` and `lock` change only while `gate` is held exclusively, and are read only while it is held shared. Any
  // thread may use LMDB's environment itself.
  private(set) var handle: OpaquePointer?
  private(set) var tables: Tables
  private var index: Int32
  /// The number of the lock file.
  private var lock: ino_t?

  let folder: CacheFolder
  let isReadOnly: Bool
  let useLock: UseLock?
  private let gate = ReadWriteLock()
  /// Held shared by write transactions, and exclusively by a compaction, which copies what readers use meanwhile. Taken before `gate`.
  private let writers = ReadWriteLock()
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
    lock = folder.number(of: CacheFolder.indexLockName)
    isReadOnly = opened.isReadOnly
    self.folder = folder
    self.useLock = useLock
  }

  deinit { close() }

  /// Whether the index was deleted or replaced while open: it has no name any more, or its lock file has none, so that a process which
  /// opens it now would share no lock with this one.
  var isDeleted: Bool {
    var status = stat()
    if fstat(index, &status) != 0 || status.st_nlink == 0 { return true }
    return !isReadOnly && folder.number(of: CacheFolder.indexLockName) != lock
  }

  // MARK: Reading

  func read<R>(_ body: (Transaction) throws(CacheError) -> R) throws(CacheError) -> R {
    let reader = try begin { environment in self.renewReader(of: environment) }
    defer {
      mdb_txn_reset(reader.pointer)
      idleReaders.withLock { $0.append(reader) }
      gate.unlock()
    }
    return try body(Transaction(handle: reader.pointer, tables: tables, path: folder.path, isDeleted: isDeleted))
  }

  func totals() throws(CacheError) -> Totals { try read { (transaction) throws(CacheError) in try transaction.totals() } }

  private func renewReader(of environment: OpaquePointer) -> (Int32, ReadHandle?) {
    if let idle = idleReaders.withLock({ $0.popLast() }) {
      let code = mdb_txn_renew(idle.pointer)
      if code == MDB_SUCCESS { return (code, idle) }
      mdb_txn_abort(idle.pointer)
      return (code, nil)
    }
    return Self.beginTransaction(of: environment, flags: MDB_RDONLY)
  }

  private static func beginTransaction(of environment: OpaquePointer, flags: Int32) -> (Int32, ReadHandle?) {
    var transaction: OpaquePointer?
    let code = mdb_txn_begin(environment, nil, UInt32(flags), &transaction)
    return (code, transaction.map(ReadHandle.init))
  }

  // MARK: Writing

  /// Calls `body` in a write transaction, then commits and syncs; if `body` or the commit fails, nothing changes. With
  /// `delaysReuse`, the pages that it frees may be kept until ``reusePages()``, since other commits follow soon.
  func write<R>(delaysReuse: Bool = false, _ body: (WriteTransaction) throws(CacheError) -> R) throws(CacheError) -> R {
    if isReadOnly { throw .readOnly(path: folder.path) }
    if let reason = stopReason.withLock({ $0 }) { throw .storingStopped(path: folder.path, reason: reason) }
    writers.lockShared()
    defer { writers.unlock() }
    let writer = try begin { environment in
      if delaysReuse { reuse.withLock { $0.delay(in: self) } }
      return Self.beginTransaction(of: environment, flags: 0)
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
      transaction = try WriteTransaction(Transaction(handle: handle, tables: tables, path: folder.path), folder)
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
  func reusePages() { gate.shared { reuse.withLock { $0.end() } } }

  /// LMDB reports a short write, which means a full disk, as EIO. After any other failed write or sync, the state of the disk is
  /// unknown.
  private func commitError(_ code: Int32) -> CacheError {
    if code == EIO, !hasRoom { return .diskFull(path: folder.path) }
    // Positive codes are the system's; LMDB's own, negative ones never mean a failed write.
    if code > 0 && !isDiskFull(code) { return .storingStopped(path: folder.path, reason: errorSentence(code)) }
    return indexError(code, path: folder.path)
  }

  /// A disk with less free space than this counts as full: the last write of a batch may leave some.
  private static let fullDiskByteCount = 4 << 20

  /// Whether the file system has space, and the process may extend the index (`RLIMIT_FSIZE`).
  private var hasRoom: Bool {
    if let free = FileSystemKind.freeByteCount(of: index), free < Self.fullDiskByteCount { return false }
    var (limit, status) = (rlimit(), stat())
    guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, fstat(index, &status) == 0 else { return true }
    return Int(clamping: limit.rlim_cur) - Int(status.st_size) >= Self.fullDiskByteCount
  }

  /// Extends the file to the length that its meta page states. Pages that a transaction allocated and freed again may be missing
  /// at its end, which ``IndexFile`` couldn't distinguish from a truncated file. If this fails, the commit stays valid and the
  /// next commit tries again; so the failure isn't reported.
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

  /// Begins a transaction by `start`, holding the gate shared; the end of the transaction must release it. Adopts a map that
  /// another process has enlarged, and removes dead readers if no slot is left.
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
      if code != MDB_SUCCESS { close() }
      try checkIndex(code, path: folder.path)
    }
  }

  /// Frees the slots of readers whose process died, since they prevent the reuse of old pages.
  func clearDeadReaders() throws(CacheError) {
    try gate.shared { () throws(CacheError) in
      if let handle { try checkIndex(mdb_reader_check(handle, nil), path: folder.path) }
    }
  }

  var indexDiskBytes: Int {
    var status = stat()
    return gate.shared { fstat(index, &status) } == 0 ? Int(status.st_blocks) * 512 : 0
  }

  /// A descriptor of the index for positional reads; nil if the system has none left or the environment is closed.
  func duplicateOfIndex() -> FileDescriptor? {
    let number = gate.shared { handle == nil ? -1 : fcntl(index, F_DUPFD_CLOEXEC, 0) }
    return number < 0 ? nil : FileDescriptor(owning: number)
  }

  /// See ``ImageCache/releasePages()``. Readers aren't disturbed: they map the pages that they need again.
  func releasePages() {
    // On an error there is nothing to release.
    try? read { (transaction) throws(CacheError) in
      // LMDB doesn't expose where its map is.
      guard let record = try transaction.value(of: "totals" as StaticString, in: IndexPages.mainTable) else { return }
      var (info, statistics) = (MDB_envinfo(), MDB_stat())
      mdb_env_info(handle, &info)
      mdb_env_stat(handle, &statistics)
      guard let start = IndexPages.startOfMap(with: record, pageSize: Int(statistics.ms_psize)) else { return }
      madvise(start, info.me_mapsize, MADV_DONTNEED)
    }
  }

  /// Calls `body` while no other process has the folder open; throws `inUse` if one has.
  func alone<R>(_ body: () throws(CacheError) -> R) throws(CacheError) -> R {
    guard let useLock else { throw .readOnly(path: folder.path) }
    return try useLock.alone(body)
  }

  /// Replaces the index while no other process uses it: by a compacted copy, or with `isEmpty` by an empty one. Write transactions wait
  /// for all of it, read transactions only until the copy has taken the index's place.
  func replaceIndex(isEmpty: Bool = false) throws(CacheError) {
    if isReadOnly { throw .readOnly(path: folder.path) }
    // Look-ups and commits needn't wait until the system frees the old file, after its last descriptor.
    let old = gate.shared { hasRoom } ? duplicateOfIndex() : nil
    try writers.alone { () throws(CacheError) in
      if !isEmpty { try writeCompactedCopy() }
      // Otherwise look-ups wait until all of them are unmapped.
      releasePages()
      try gate.alone { () throws(CacheError) in
        guard handle != nil, !isDeleted else { throw .deleted(path: folder.path) }
        close()
        if isEmpty {
          try folder.remove(CacheFolder.indexName)
        } else {
          try folder.move(Self.compactedName, to: CacheFolder.indexName)
        }
        // The lock file counts transactions that the new index doesn't have.
        try folder.remove(CacheFolder.indexLockName)
        let opened = try OpenedIndex(folder, access: .readWrite)
        (handle, tables, index) = (opened.handle, opened.tables, opened.file)
        lock = folder.number(of: CacheFolder.indexLockName)
      }
      // Before the first write to the new index.
      if !isEmpty { try folder.synchronize(".") }
    }
    _ = consume old
  }

  private static let compactedName = "index.mdb.compacted"

  /// Writes a copy next to the index, without its free pages, which LMDB never returns to the file system, and syncs it.
  private func writeCompactedCopy() throws(CacheError) {
    gate.lockShared()
    defer { gate.unlock() }
    guard let handle, !isDeleted else { throw .deleted(path: folder.path) }
    try folder.remove(Self.compactedName)
    guard let draft = try folder.open(Self.compactedName, O_RDWR | O_CREAT | O_EXCL) else { throw .deleted(path: folder.path) }
    let code = mdb_env_copyfd2(handle, draft.number, UInt32(MDB_CP_COMPACT))
    if code != MDB_SUCCESS { try folder.remove(Self.compactedName) }
    try checkIndex(code, path: folder.path)
    guard fsync(draft.number) == 0 else { throw folder.writeError(errno) }
  }

  /// Frees disk space of bodies, at least that many bytes if they have them. Returns false if nothing was freed. Bodies in the
  /// index are freed only if no other process has the folder open: on tmpfs, reading a freed page needs room again.
  func freeBodies(of heads: [(CacheKey, EntryHead)], atLeast byteCount: Int) throws(CacheError) -> Bool {
    var freed = 0
    for (key, head) in heads where head.isBlob && freed < byteCount {
      if unlinkat(folder.descriptor.number, BlobFolder.fileName(key, head), 0) == 0 {
        freed += Int(clamping: min(head.bodySize, UInt64(byteCount)))
      }
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
      let (code, begun) = Self.beginTransaction(of: handle, flags: MDB_RDONLY)
      try checkIndex(code, path: folder.path)
      guard let begun else { return false }
      defer { mdb_txn_abort(begun.pointer) }
      var statistics = MDB_stat()
      mdb_env_stat(handle, &statistics)
      let transaction = Transaction(handle: begun.pointer, tables: tables, path: folder.path)
      var freed = 0
      for head in heads where freed < byteCount {
        let body = try transaction.value(of: head.bodyKey, in: tables.bodies)
        guard let range = body.flatMap({ IndexPages.restOfBody($0, pageSize: Int(statistics.ms_psize)) }) else { continue }
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

/// Delays the reuse of index pages that commits have freed, by a read transaction that keeps an older state.
///
/// A commit of new images changes about two pages of tables for each of them, and LMDB writes each changed page elsewhere: into gaps that
/// the commits just before left, page by page. Reused later, gaps have grown together, and a disk writes a run of pages nearly as fast as
/// a single one.
private struct PageReuse {
  /// Images that may be stored until pages are reused; their pages take about 32 MB at most.
  private static let imageLimit: UInt64 = 4096
  /// The same for commits, since not all of them store images.
  private static let commitLimit = 16

  private var reader: OpaquePointer?
  private var images: UInt64 = 0
  private var commits = 0

  /// Begins a delay, unless there is one. The environment's gate must be held.
  mutating func delay(in environment: IndexEnvironment) {
    // Without a free slot for readers, pages are reused at once.
    if reader == nil { mdb_txn_begin(environment.handle, nil, UInt32(MDB_RDONLY), &reader) }
  }

  /// Counts a commit and its images. The pages of removed bodies are needed at once, so they end the delay, too.
  mutating func count(_ stored: UInt64, freesBodies: Bool) {
    images += stored
    commits += 1
    if freesBodies || images >= Self.imageLimit || commits >= Self.commitLimit { end() }
  }

  mutating func end() {
    if let reader { mdb_txn_abort(reader) }
    (reader, images, commits) = (nil, 0, 0)
  }
}
