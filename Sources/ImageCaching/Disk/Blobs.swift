import CLinux
import Glibc
public import ImagePrimitives
import Synchronization

/// The bodies above 256 KiB, a file each.
///
/// They arrive in `blobs/tmp` under a lock of their writer, and are moved to one of 256 folders inside the write transaction that
/// commits their record. So within a write transaction every file in the folder has a record or is unused.
struct BlobFolder {
  static let temporaryName = "blobs/tmp"
  private static let name = "blobs"

  let folder: CacheFolder

  init(_ folder: CacheFolder) { self.folder = folder }

  /// Makes the folders that must be there.
  func prepare() throws(CacheError) {
    try folder.makeFolder(Self.name)
    try folder.makeFolder(Self.temporaryName)
  }

  /// The folder of a number, below the cache's.
  static func folderName(_ number: UInt8) -> String {
    "\(name)/" + String(decoding: [hexadecimalDigit(number >> 4), hexadecimalDigit(number & 15)], as: UTF8.self)
  }

  /// The file of a body, below the cache's folder. The key in it finds the record that it belongs to.
  static func fileName(_ key: CacheKey, revision: UInt64, folder number: UInt8) -> String {
    "\(folderName(number))/\(hexadecimal(key.high))\(hexadecimal(key.low))-\(hexadecimal(revision))"
  }

  /// Makes the folder of that number, lasting.
  func makeFolder(_ number: UInt8) throws(CacheError) {
    if try folder.makeFolder(Self.folderName(number)) { try folder.synchronize(Self.name) }
  }

  /// Removes temporary files of writers that crashed: those without a lock.
  func sweepTemporary() throws(CacheError) {
    try folder.forEachFile(in: Self.temporaryName) { name throws(CacheError) in
      let path = "\(Self.temporaryName)/\(name)"
      guard let file = try folder.open(path, O_RDONLY) else { return }
      if flock(file.number, LOCK_EX | LOCK_NB) == 0 { try folder.remove(path) }
    }
  }

  /// Removes the files of one folder that no record names, and returns how many; only within a write transaction.
  func sweep(_ number: UInt8, in transaction: WriteTransaction) throws(CacheError) -> Int {
    var count = 0
    try folder.forEachFile(in: Self.folderName(number)) { name throws(CacheError) in
      let path = "\(Self.folderName(number))/\(name)"
      if let key = Self.key(ofFile: name), let head = try transaction.entry(key)?.head, head.isBlob,
        Self.fileName(key, revision: head.revision, folder: head.blobFolder) == path
      {
        return
      }
      try folder.remove(path)
      count += 1
    }
    return count
  }

  private static func key(ofFile name: String) -> CacheKey? {
    guard name.utf8.count == 49, let high = UInt64(name.prefix(16), radix: 16),
      let low = UInt64(name.dropFirst(16).prefix(16), radix: 16)
    else { return nil }
    return CacheKey(high: high, low: low)
  }

  /// The bytes of a blob, cut off behind `size + 1`; nil where it is not there.
  func read(_ name: String, size: Int) throws(CacheError) -> [UInt8]? {
    guard let file = try folder.open(name, O_RDONLY) else { return nil }
    // A damaged record must not make us reserve what no file has.
    let limit = min(size, Int(file.status?.st_size ?? 0)) + 1
    guard let bytes = readAll(file.number, limit: limit) else {
      throw .cannotRead(path: folder.path(of: name), reason: errorSentence())
    }
    return bytes
  }
}

/// Writes a body to a file of its own while it arrives, so that it is never in memory as a whole.
///
/// What is not finished and committed is removed when the last reference goes.
public final class BlobWriter: @unchecked Sendable {
  // Used by one thread at a time, which may change: whoever receives the body hands the writer on whole.
  private let file: TemporaryBlob
  private var size: UInt64 = 0
  private var hash = ChecksumStream()

  init(_ folder: CacheFolder) throws(CacheError) { file = try TemporaryBlob(folder) }

  /// Takes the next bytes of the body.
  ///
  /// Throws `diskFull`, or another ``CacheError`` where they cannot be written; the body is lost then.
  public func append(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
    guard writeAll(bytes, to: file.descriptor.number) else { throw file.folder.writeError(errno) }
    hash.append(bytes)
    size += UInt64(bytes.count)
  }

  /// Ends the body; nothing may be appended from here on. Its bytes are on their way to the disk, and synced with the commit that
  /// stores it, so that one journal commit of the file system serves all blobs of a transaction.
  public func finish() throws(CacheError) -> StagedBlob {
    // Only a hint: what it does not start, the sync will.
    _ = linux_start_writing_back(file.descriptor.number)
    return StagedBlob(file: file, size: size, checksum: hash.checksum)
  }
}

/// A whole body in a file of its own, to be stored by one ``CacheWriter/store(_:body:)``; removed if that does not happen.
public final class StagedBlob: Sendable {
  /// Bytes of the body.
  public let size: UInt64
  /// The checksum of the body.
  public let checksum: Checksum
  private let file: TemporaryBlob

  init(file: TemporaryBlob, size: UInt64, checksum: Checksum) {
    self.file = file
    self.size = size
    self.checksum = checksum
  }

  /// Calls `read` with the whole body, which is mapped from its file and not copied.
  public func withBytes<R>(_ read: (UnsafeRawBufferPointer) -> R) throws(CacheError) -> R {
    let count = Int(clamping: size)
    guard count > 0 else { return read(UnsafeRawBufferPointer(start: nil, count: 0)) }
    let address = mmap(nil, count, PROT_READ, MAP_SHARED, file.descriptor.number, 0)
    guard let address, address != MAP_FAILED else { throw .cannotRead(path: file.folder.path, reason: errorSentence()) }
    defer { munmap(address, count) }
    return read(UnsafeRawBufferPointer(start: address, count: count))
  }

  /// Moves the body to its place, which the running write transaction makes known.
  func place(at name: String) throws(CacheError) { try file.move(to: name) }

  /// Returns once the bytes are on the disk.
  func synchronize() throws(CacheError) {
    guard fdatasync(file.descriptor.number) == 0 else {
      throw saysDiskFull(errno)
        ? .diskFull(path: file.folder.path) : .storingStopped(path: file.folder.path, reason: errorSentence())
    }
  }

  /// The transaction was committed: the file belongs to the cache.
  func didCommit() { file.keep() }
}

/// A file that is removed when its owner goes, unless it is kept; locked meanwhile, so that sweeps leave it alone.
final class TemporaryBlob: Sendable {
  let folder: CacheFolder
  let descriptor: FileDescriptor
  private let name: Mutex<String?>

  /// Makes a file in `blobs/tmp`.
  init(_ folder: CacheFolder) throws(CacheError) {
    self.folder = folder
    while true {
      let draft = "\(BlobFolder.temporaryName)/\(getpid())-\(UInt64.random(in: .min ... .max))"
      guard let file = try folder.open(draft, O_RDWR | O_CREAT | O_EXCL) else { throw .deleted(path: folder.path) }
      // A sweep may come between the two calls; then it has the lock, or the file has no name any more.
      if flock(file.number, LOCK_EX | LOCK_NB) == 0, let status = file.status, status.st_nlink > 0 {
        name = Mutex(draft)
        descriptor = file
        return
      }
    }
  }

  func move(to newName: String) throws(CacheError) {
    try name.withLock { (name) throws(CacheError) in
      guard let oldName = name else { preconditionFailure("a staged body was stored twice") }
      try folder.move(oldName, to: newName)
      name = newName
    }
  }

  func keep() { name.withLock { $0 = nil } }

  deinit {
    // What cannot be removed is left to the next sweep.
    if let name = name.withLock({ $0 }) { unlinkat(folder.descriptor.number, name, 0) }
  }
}
