import Platform
import Base

/// The lock on an open folder: shared by all processes that use it, exclusive for replacing its index. It is a `flock` on
/// `use.lock`, which the kernel releases when the process ends, even after a crash.
final class UseLock: Sendable {
  static let name = "use.lock"
  private let file: FileDescriptor
  private let path: String

  /// Takes the lock of a folder, shared unless `alone`. Throws `inUse` if another process's lock conflicts. A folder that isn't
  /// writable and has no lock file needs no lock.
  static func take(_ folder: CacheFolder, access: ImageCache.Access, alone: Bool = false) throws(CacheError) -> UseLock? {
    let flags = access == .readWrite ? O_RDWR | O_CREAT : O_RDONLY
    guard let file = try folder.open(name, flags) else { return nil }
    let lock = UseLock(file: file, path: folder.path)
    guard lock.change(to: alone ? LOCK_EX : LOCK_SH) else { throw lock.inUse }
    return lock
  }

  private init(file: consuming FileDescriptor, path: String) {
    self.file = file
    self.path = path
  }

  // Closing the file alone would leave the lock with a child that was just forked, which shares the file until it calls exec.
  deinit { flock(file.number, LOCK_UN) }

  /// Calls `body` while no other process has the folder open; throws `inUse` if one has. `flock` releases the shared lock before
  /// it requests the exclusive one, so another process may take it first and replace the index, which the next transaction
  /// detects.
  func alone<R>(_ body: () throws(CacheError) -> R) throws(CacheError) -> R {
    let isAlone = change(to: LOCK_EX)
    defer { _ = uninterrupted { flock(file.number, LOCK_SH) } }
    guard isAlone else { throw inUse }
    return try body()
  }

  private func change(to kind: Int32) -> Bool { uninterrupted { flock(file.number, kind | LOCK_NB) } == 0 }
  private var inUse: CacheError { .inUse(path: path, processes: holders) }

  /// The IDs of the processes that hold the lock, from `/proc/locks`, as far as they are visible.
  private var holders: [Int] {
    guard let locks = readText("/proc/locks", limit: 1 << 20), let status = file.status else { return [] }
    return Self.holders(in: locks, device: UInt(status.st_dev), inode: UInt(status.st_ino))
      .filter { $0 != Int(getpid()) }
  }

  /// The processes that hold a `flock` on a file, parsed from lines such as `3: FLOCK  ADVISORY  READ 4711 fe:00:1234 0 EOF`.
  static func holders(in locks: String, device: UInt, inode: UInt) -> [Int] {
    // Device numbers are encoded as in makedev(3).
    let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
    let minor = device & 0xFF | (device >> 12) & ~0xFF
    var processes: Set<Int> = []
    for line in locks.split(separator: "\n") {
      let fields = line.split(separator: " ")
      // Lines of processes that wait for a lock have "->" as their second field.
      guard fields.count >= 6, fields[1] == "FLOCK", let process = Int(fields[4]), process > 0 else { continue }
      let file = fields[5].split(separator: ":")
      guard file.count == 3, UInt(file[0], radix: 16) == major, UInt(file[1], radix: 16) == minor else { continue }
      if UInt(file[2]) == inode { processes.insert(process) }
    }
    return processes.sorted()
  }
}

/// A lock with shared and exclusive access: a `pthread_rwlock_t`. Transactions hold it shared while they run, so that the map is
/// never moved under them. It protects nothing else.
final class ReadWriteLock: @unchecked Sendable {
  // Any thread may use a pthread lock; the pointer doesn't change from `init` to `deinit`.
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  init() {
    lock = .allocate(capacity: 1)
    check(pthread_rwlock_init(lock, nil))
  }

  deinit {
    check(pthread_rwlock_destroy(lock))
    lock.deallocate()
  }

  func lockShared() { check(pthread_rwlock_rdlock(lock)) }
  func unlock() { check(pthread_rwlock_unlock(lock)) }

  func shared<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lockShared()
    defer { unlock() }
    return try body()
  }

  func alone<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    check(pthread_rwlock_wrlock(lock))
    defer { unlock() }
    return try body()
  }

  private func check(_ code: Int32) { precondition(code == 0, "pthread_rwlock: \(errorSentence(code))") }
}
