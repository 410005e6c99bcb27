import Platform
package import Base
import Synchronization

/// The bodies above 256 KiB, one file each. Their writer creates them in `blobs/tmp` and keeps them locked; the write transaction
/// that commits their record moves them to one of 256 folders. So within a write transaction every file in these folders has a
/// record or is unused.
struct BlobFolder {
  static let temporaryName = "blobs/tmp"
  private static let name = "blobs"

  let folder: CacheFolder

  init(_ folder: CacheFolder) { self.folder = folder }

  func prepare() throws(CacheError) {
    try folder.makeFolder(Self.name)
    try folder.makeFolder(Self.temporaryName)
  }

  /// The path of a numbered folder, relative to the cache's folder.
  static func folderName(_ number: UInt8) -> String { "\(name)/" + hexadecimal([number]) }

  /// The path of a body's file, relative to the cache's folder. It contains the key of its record.
  static func fileName(_ key: CacheKey, _ head: EntryHead) -> String {
    "\(folderName(head.blobFolder))/\(hexadecimal(key.high))\(hexadecimal(key.low))-\(hexadecimal(head.revision))"
  }

  /// Creates the folder with that number durably, and those above it if they were deleted.
  func makeFolder(_ number: UInt8) throws(CacheError) {
    try prepare()
    if try folder.makeFolder(Self.folderName(number)) { try folder.synchronize(Self.name) }
  }

  /// Removes temporary files of writers that crashed: those without a lock.
  func sweepTemporary() throws(CacheError) {
    try folder.forEachFile(in: Self.temporaryName) { name throws(CacheError) in
      let path = "\(Self.temporaryName)/\(name)"
      guard let file = try folder.open(path, O_RDONLY) else { return true }
      if flock(file.number, LOCK_EX | LOCK_NB) == 0 { try folder.remove(path) }
      return true
    }
  }

  /// Removes the files of a folder that have no record and returns their number; only within a write transaction.
  func sweep(_ number: UInt8, in transaction: WriteTransaction) throws(CacheError) -> Int {
    var count = 0
    try folder.forEachFile(in: Self.folderName(number)) { name throws(CacheError) in
      let path = "\(Self.folderName(number))/\(name)"
      if let key = Self.key(ofFile: name), let head = try transaction.entry(key)?.head, head.isBlob,
        Self.fileName(key, head) == path
      {
        return true
      }
      try folder.remove(path)
      count += 1
      return true
    }
    return count
  }

  private static func key(ofFile name: String) -> CacheKey? {
    guard name.utf8.count == 49, let high = UInt64(name.prefix(16), radix: 16),
      let low = UInt64(name.dropFirst(16).prefix(16), radix: 16)
    else { return nil }
    return CacheKey(high: high, low: low)
  }

  /// The bytes of a blob, truncated after `size + 1`; nil if it doesn't exist.
  func read(_ name: String, size: Int) throws(CacheError) -> [UInt8]? {
    guard let file = try folder.open(name, O_RDONLY) else { return nil }
    // A damaged record must not allocate more memory than the file has bytes.
    let limit = min(size, Int(file.status?.st_size ?? 0)) + 1
    guard let bytes = readAll(file.number, limit: limit) else {
      throw .cannotRead(path: folder.path(of: name), reason: errorSentence())
    }
    return bytes
  }
}

/// Writes a body to its own file as it arrives, so that it is never entirely in memory. A body that isn't finished and committed
/// is removed when its last reference is released.
package final class BlobWriter: @unchecked Sendable {
  // Used by one thread at a time; the receiving thread may hand the writer over.
  private let file: TemporaryBlob
  private var size: UInt64 = 0
  private var hash = ChecksumStream()

  init(_ folder: CacheFolder) throws(CacheError) { file = try TemporaryBlob(folder) }

  static func write(_ bytes: [UInt8], in folder: CacheFolder) throws(CacheError) -> StagedBlob {
    let writer = try BlobWriter(folder)
    try bytes.withRawBytes { (bytes) throws(CacheError) in try writer.append(bytes) }
    return try writer.finish()
  }

  /// Appends the next bytes of the body. Throws `diskFull` or another ``CacheError`` if they can't be written; the body is then
  /// lost.
  package func append(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
    guard writeAll(bytes, to: file.descriptor.number) else { throw file.folder.writeError(errno) }
    hash.append(bytes)
    size += UInt64(bytes.count)
  }

  /// The appended bytes, without those whose writing failed; nil if they can't be read back.
  package func written() -> [UInt8]? {
    let count = Int(clamping: size)
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = readAll(file.descriptor.number, at: 0, into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
    }
    return bytes.count == count ? bytes : nil
  }

  /// Ends the body. Writing its bytes back to disk starts now, and the commit that stores it syncs them, so that one journal commit
  /// of the file system serves all blobs of a transaction.
  package func finish() throws(CacheError) -> StagedBlob {
    // Only a hint: the sync writes the rest.
    system_start_writing_back(file.descriptor.number)
    return StagedBlob(file: file, size: size, checksum: hash.checksum)
  }
}

/// A complete body in its own file, to be stored by one ``CacheWriter/store(_:body:)``; otherwise it is removed.
package final class StagedBlob: Sendable {
  package let size: UInt64
  package let checksum: Checksum
  let file: TemporaryBlob

  init(file: TemporaryBlob, size: UInt64, checksum: Checksum) {
    self.file = file
    self.size = size
    self.checksum = checksum
  }

  /// Calls `read` with the whole body, mapped from its file rather than copied.
  package func withBytes<R>(_ read: (UnsafeRawBufferPointer) -> R) throws(CacheError) -> R {
    let count = Int(clamping: size)
    guard count > 0 else { return read(UnsafeRawBufferPointer(start: nil, count: 0)) }
    let address = mmap(nil, count, PROT_READ, MAP_SHARED, file.descriptor.number, 0)
    guard let address, address != MAP_FAILED else { throw .cannotRead(path: file.folder.path, reason: errorSentence()) }
    defer { munmap(address, count) }
    return read(UnsafeRawBufferPointer(start: address, count: count))
  }

  /// This body, or a copy of it in `folder` if its file was deleted.
  func current(in folder: CacheFolder) throws(CacheError) -> StagedBlob {
    guard file.descriptor.status.map({ $0.st_nlink == 0 }) ?? true else { return self }
    let writer = try BlobWriter(folder)
    try withBytes { bytes in Result { () throws(CacheError) in try writer.append(bytes) } }.get()
    return try writer.finish()
  }

  func synchronize() throws(CacheError) {
    guard system_sync_data(file.descriptor.number) == 0 else {
      throw isDiskFull(errno)
        ? .diskFull(path: file.folder.path) : .storingStopped(path: file.folder.path, reason: errorSentence())
    }
  }
}

/// A file that is removed on deinitialisation unless it is kept; it is locked until then, so that sweeps skip it.
final class TemporaryBlob: Sendable {
  let folder: CacheFolder
  let descriptor: FileDescriptor
  private let name: Mutex<String?>

  init(_ folder: CacheFolder) throws(CacheError) {
    self.folder = folder
    while true {
      let draft = "\(BlobFolder.temporaryName)/\(getpid())-\(UInt64.random(in: .min ... .max))"
      guard let file = try folder.open(draft, O_RDWR | O_CREAT | O_EXCL) else { throw .deleted(path: folder.path) }
      // A sweep between the two calls may hold the lock or have removed the file.
      if flock(file.number, LOCK_EX | LOCK_NB) == 0, let status = file.status, status.st_nlink > 0 {
        name = Mutex(draft)
        descriptor = file
        return
      }
    }
  }

  /// Moves it to its final path, which becomes visible when the write transaction commits.
  func move(to newName: String) throws(CacheError) {
    try name.withLock { (name) throws(CacheError) in
      guard let oldName = name else { preconditionFailure("a staged body was stored twice") }
      try folder.move(oldName, to: newName)
      name = newName
    }
  }

  /// Keeps the file after the transaction has committed.
  func keep() { name.withLock { $0 = nil } }

  deinit {
    // If this fails, the next sweep removes the file.
    if let name = name.withLock({ $0 }) { unlinkat(folder.descriptor.number, name, 0) }
  }
}
