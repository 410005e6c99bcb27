import CLinux
import Glibc
public import ImagePrimitives
import Synchronization

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
