import Platform
import Base

/// The open folder of one namespace: its descriptor and its paths.
///
/// ```
/// <directory>/<namespace>/
///   index.mdb  index.mdb-lock     LMDB's
///   use.lock                      see UseLock
///   blobs/ab/<key>-<revision>     bodies above 256 KiB; blobs/tmp/ while they arrive
///   VERSION  CACHEDIR.TAG  KEY    see FolderMarks
///   lists/  runs.lock             copies of fetched lists, and locks of runs (WarmJobs)
/// ```
final class CacheFolder: Sendable {
  static let indexName = "index.mdb"
  static let indexLockName = "index.mdb-lock"

  let path: String
  /// The folder itself; files are accessed relative to it, so the folder may be moved.
  let descriptor: FileDescriptor

  let id: FolderIdentity

  /// Opens the folder of a namespace, creating it for writing if it doesn't exist. Throws if it can't be created or opened,
  /// doesn't exist, or is on a network file system.
  convenience init(directory: String, namespace: String, access: ImageCache.Access) throws(CacheError) {
    let path = "\(directory)/\(namespace)"
    if access == .readWrite { try Self.make(path) }
    try self.init(reading: path)
    if let name = FileSystemKind.networkName(of: descriptor.number) { throw .networkFileSystem(path: path, name: name) }
  }

  /// Opens a folder for reading, on any file system.
  init(reading path: String) throws(CacheError) {
    self.path = path
    let number = Platform.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw errno == ENOENT ? .missing(path: path) : .cannotOpen(path: path, reason: errorSentence()) }
    descriptor = FileDescriptor(owning: number)
    guard let status = descriptor.status else { throw .cannotOpen(path: path, reason: errorSentence()) }
    id = FolderIdentity(status)
  }

  private static func make(_ path: String) throws(CacheError) {
    var firstError: Int32?
    for end in path.indices.dropFirst() where path[end] == "/" {
      let folder = String(path[..<end])
      if mkdir(folder, 0o755) == 0 {
        synchronizeParent(of: folder)
      } else if errno != EEXIST {
        firstError = firstError ?? errno
      }
    }
    // A failure for a parent matters only if the last folder fails too; then it is the cause.
    guard mkdir(path, 0o755) == 0 || errno == EEXIST else {
      throw .cannotMake(path: path, reason: errorSentence(firstError ?? errno))
    }
    synchronizeParent(of: path)
  }

  /// Makes a new folder's name durable if this user may open its parent.
  private static func synchronizeParent(of path: String) {
    guard let slash = path.lastIndex(of: "/") else { return }
    let parent = Platform.open(slash == path.startIndex ? "/" : String(path[..<slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { return }
    fsync(parent)
    close(parent)
  }

  /// The path of a file in the folder, for messages and for LMDB.
  func path(of name: String) -> String { "\(path)/\(name)" }

  /// Creates a subfolder if it doesn't exist; returns whether it did.
  @discardableResult
  func makeFolder(_ name: String) throws(CacheError) -> Bool {
    if mkdirat(descriptor.number, name, 0o755) == 0 { return true }
    guard errno == EEXIST else { throw writeError(errno) }
    return false
  }

  /// Opens a file of the folder; nil if it doesn't exist.
  func open(_ name: String, _ flags: Int32, mode: mode_t = 0o644) throws(CacheError) -> FileDescriptor? {
    let number = uninterrupted { openat(descriptor.number, name, flags | O_CLOEXEC, mode) }
    if number >= 0 { return FileDescriptor(owning: number) }
    if errno == ENOENT { return nil }
    if flags & O_ACCMODE != O_RDONLY { throw writeError(errno) }
    if errno == EMFILE || errno == ENFILE { throw .tooManyOpenFiles(path: path) }
    throw .cannotOpen(path: path(of: name), reason: errorSentence())
  }

  func contains(_ name: String) -> Bool { faccessat(descriptor.number, name, F_OK, 0) == 0 }
  /// The inode of a file; nil if there is none.
  func number(of name: String) -> ino_t? {
    var status = stat()
    return fstatat(descriptor.number, name, &status, 0) == 0 ? status.st_ino : nil
  }
  func mayRead(_ name: String) -> Bool { faccessat(descriptor.number, name, R_OK, AT_EACCESS) == 0 }

  /// Throws if this user may not create files in the folder.
  func checkWritable() throws(CacheError) {
    guard faccessat(descriptor.number, ".", W_OK, AT_EACCESS) == 0 else { throw writeError(errno) }
  }

  func remove(_ name: String) throws(CacheError) {
    guard unlinkat(descriptor.number, name, 0) == 0 || errno == ENOENT else { throw writeError(errno) }
  }

  /// Moves a file within the folder, replacing an existing one.
  func move(_ name: String, to newName: String) throws(CacheError) {
    guard renameat(descriptor.number, name, descriptor.number, newName) == 0 else {
      throw errno == ENOENT && isDeleted ? .deleted(path: path) : writeError(errno)
    }
  }

  /// Makes moves into the folder `name` durable; "." is this folder.
  func synchronize(_ name: String) throws(CacheError) {
    guard let folder = try open(name, O_RDONLY | O_DIRECTORY) else { throw .deleted(path: path) }
    guard fsync(folder.number) == 0 else { throw .storingStopped(path: path, reason: errorSentence()) }
  }

  /// Calls `body` with the name of every file in the folder `name` until it returns false; does nothing if the folder doesn't exist.
  func forEachFile(in name: String, while body: (String) throws(CacheError) -> Bool) throws(CacheError) {
    guard let folder = try open(name, O_RDONLY | O_DIRECTORY) else { return }
    if try !forEachName(inFolder: folder.number, while: body) { throw .cannotOpen(path: path(of: name), reason: errorSentence()) }
  }

  /// The contents of a small file, at most 4 KiB; nil if it doesn't exist.
  func contents(of name: String, _ flags: Int32 = 0) throws(CacheError) -> [UInt8]? {
    guard let file = try open(name, O_RDONLY | flags) else { return nil }
    guard let bytes = readAll(file.number, limit: 4096) else { throw .cannotRead(path: path(of: name), reason: errorSentence()) }
    return bytes
  }

  /// Calls `body` while no other process opens the folder for writing. It is a `flock` on the folder itself.
  func whileOpening<R>(_ body: () throws(CacheError) -> R) throws(CacheError) -> R {
    guard uninterrupted({ flock(descriptor.number, LOCK_EX) }) == 0 else { throw writeError(errno) }
    defer { flock(descriptor.number, LOCK_UN) }
    return try body()
  }

  var isDeleted: Bool { descriptor.status.map { $0.st_nlink == 0 } ?? true }

  func writeError(_ number: Int32) -> CacheError {
    if isDiskFull(number) { return .diskFull(path: path) }
    if number == ENOENT && isDeleted { return .deleted(path: path) }
    if number == EMFILE || number == ENFILE { return .tooManyOpenFiles(path: path) }
    return .cannotWrite(path: path, reason: errorSentence(number))
  }
}

/// Identifies a folder regardless of its path: by device and inode. It is unique as long as any process has the folder open, even
/// if the folder is moved or deleted.
package struct FolderIdentity: Sendable, Hashable {
  private let device: UInt
  private let inode: UInt

  init(_ status: stat) {
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
  }
}

enum FileSystemKind {
  /// Magic numbers of `statfs(2)`, from `linux/magic.h` and the sources of file systems that it lacks.
  private static let networkNames: [UInt32: String] = [
    0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x5346_414F: "AFS", 0x6B41_4653: "AFS",
    0x7375_7245: "Coda", 0x564C: "NCP", 0x0102_1997: "9P", 0x00C3_6400: "Ceph", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS",
  ]

  /// The name of the network file system with that magic number; nil for any other, where LMDB's locks and maps work.
  static func networkName(ofMagic magic: Int) -> String? { networkNames[UInt32(truncatingIfNeeded: magic)] }

  /// The name of the network file system that an open file or folder is on; nil if it is local.
  static func networkName(of descriptor: Int32) -> String? { networkName(ofMagic: Int(system_file_system(descriptor))) }

  /// The free space of an open file's file system, in bytes; nil if unknown.
  static func freeByteCount(of descriptor: Int32) -> Int? {
    var status = statfs()
    guard fstatfs(descriptor, &status) == 0 else { return nil }
    return Int(clamping: status.f_bavail).multipliedReportingOverflow(by: Int(status.f_bsize)).partialValue
  }
}

/// Whether an error number means that there is no space, or none for this user.
func isDiskFull(_ number: Int32) -> Bool { number == ENOSPC || number == EDQUOT || number == EFBIG }

/// The small files that describe a namespace.
///
/// - `VERSION`: the number of the format. It is created before the index, so an index without it has an unknown format.
/// - `CACHEDIR.TAG`: makes backup tools skip the folder (https://bford.info/cachedir/).
/// - `KEY`: 32 random bytes, mode 0600, the key for hashing credentials in identities.
enum FolderMarks {
  /// The only format that this program reads and writes: the layout of the folder and of all records.
  static let supportedVersion = 1
  static let versionName = "VERSION"
  static let tagName = "CACHEDIR.TAG"
  private static let keyName = "KEY"
  private static let tag = """
    Signature: 8a477f597d28d172789f06886806bc55
    # This folder is a cache of images made by prewarm; it can be deleted when no process uses it.

    """

  /// Checks these files of a folder that will be written, and creates missing ones, with `key` or else a random one.
  static func prepare(_ folder: CacheFolder, key: [UInt8]? = nil) throws(CacheError) {
    try checkVersion(of: folder)
    try create(versionName, Array("\(supportedVersion)\n".utf8), mode: 0o644, in: folder)
    try create(tagName, Array(tag.utf8), mode: 0o644, in: folder)
    try create(keyName, key ?? CredentialHasher.randomKey(), mode: 0o600, in: folder)
  }

  /// Throws if the folder's index has another format; a folder with neither index nor version passes.
  static func checkVersion(of folder: CacheFolder) throws(CacheError) {
    guard let bytes = try folder.contents(of: versionName) else {
      guard folder.contains(CacheFolder.indexName) else { return }
      throw .wrongVersion(path: folder.path, found: nil, supported: supportedVersion)
    }
    let found = String(decoding: bytes.prefix(32).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    guard found == String(supportedVersion) else {
      throw .wrongVersion(path: folder.path, found: found, supported: supportedVersion)
    }
  }

  /// The folder's key; nil if there is none, or if this user may not read it, which is allowed for read-only access.
  static func key(of folder: CacheFolder, access: ImageCache.Access) throws(CacheError) -> [UInt8]? {
    if access == .readOnly && !folder.mayRead(keyName) { return nil }
    guard let key = try folder.contents(of: keyName) else { return nil }
    guard key.count == CredentialHasher.keyByteCount else {
      throw .damaged(path: folder.path, reason: "KEY has \(key.count) bytes instead of \(CredentialHasher.keyByteCount)")
    }
    return key
  }

  /// Creates a file completely or not at all; if two processes try at once, both continue with the first one's bytes.
  fileprivate static func create(_ name: String, _ bytes: @autoclosure () -> [UInt8], mode: mode_t, in folder: CacheFolder)
    throws(CacheError)
  {
    if folder.contains(name) { return }
    let draft = "\(name).\(getpid())"
    try folder.remove(draft)
    guard let file = try folder.open(draft, O_WRONLY | O_CREAT | O_EXCL, mode: mode) else { throw folder.writeError(ENOENT) }
    let isWritten = bytes().withUnsafeBytes { writeAll($0, to: file.number) } && fsync(file.number) == 0
    let error = errno
    if isWritten { linkat(folder.descriptor.number, draft, folder.descriptor.number, name, 0) }
    try folder.remove(draft)
    if !isWritten { throw folder.writeError(error) }
    guard folder.contains(name) else { throw .cannotWrite(path: folder.path, reason: "cannot create \(name)") }
  }
}

extension ImageCache {
  private static let sufficientName = "SUFFICIENT"

  /// The `maxBodyBytes` that would have been enough for the images of the last run; nil if it evicted none of them. Throws if the file
  /// that has it can't be read.
  package func sufficientSize() throws(CacheError) -> Int? {
    try environment.folder.contents(of: Self.sufficientName, O_NOFOLLOW).flatMap { Int(String(decoding: $0, as: UTF8.self)) }
  }

  /// Keeps ``sufficientSize()`` for later commands; nil removes it.
  package func keep(sufficientSize: Int?) throws(CacheError) {
    // Another user's file can be removed, but not overwritten.
    try environment.folder.remove(Self.sufficientName)
    guard let sufficientSize else { return }
    try FolderMarks.create(Self.sufficientName, Array("\(sufficientSize)".utf8), mode: 0o644, in: environment.folder)
  }
}
