import Glibc
import ImagePrimitives

/// The folder that images are exported to. A file is there whole or not at all: it is written under a name of its own, then
/// renamed.
struct ExportFolder: ~Copyable {
  let path: String
  private let descriptor: FileDescriptor
  private let draft = ".prewarm-export-\(getpid())-\(UInt32.random(in: .min ... .max))"
  /// The file system's time when this export began.
  private let begin: timespec
  private var lastFolders: [String] = []

  /// Opens the folder, and makes it with those above it where it is not there, as the umask says.
  init(path: String) throws(CacheError) {
    self.path = path
    for end in path.indices.dropFirst() where path[end] == "/" { mkdir(String(path[..<end]), 0o777) }
    // What failed above matters only if the folder cannot be opened.
    let isMade = mkdir(path, 0o777) == 0 || errno == EEXIST
    let reason = errorSentence()
    let number = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw .cannotExport(path: path, reason: isMade ? errorSentence() : reason) }
    let descriptor = FileDescriptor(owning: number)
    begin = try Self.time(in: descriptor, path: path, draft: draft)
    self.descriptor = descriptor
  }

  /// The time that a file gets that is made now, by the clock of whoever keeps the folder.
  private static func time(in folder: borrowing FileDescriptor, path: String, draft: String) throws(CacheError) -> timespec {
    let number = openat(folder.number, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw .cannotExport(path: path, reason: errorSentence()) }
    let file = FileDescriptor(owning: number)
    defer { unlinkat(folder.number, draft, 0) }
    guard let status = file.status else { throw .cannotExport(path: path, reason: errorSentence()) }
    return status.st_ctim
  }

  /// Whether this export has written the file already, with an image that was stored later.
  func hasNewer(_ folders: [String], _ file: String, than storedAt: Timestamp) -> Bool {
    var status = stat()
    guard fstatat(descriptor.number, (folders + [file]).joined(separator: "/"), &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      return false
    }
    let isOurs = (status.st_ctim.tv_sec, status.st_ctim.tv_nsec) >= (begin.tv_sec, begin.tv_nsec)
    return isOurs && Timestamp(status.st_mtim) > storedAt
  }

  /// Writes a file, over another one of its name; its time of modification is that at which the image was stored.
  mutating func write(_ bytes: [UInt8], folders: [String], file: String, storedAt: Timestamp) throws(CacheError) {
    if folders != lastFolders { try make(folders) }
    let number = openat(descriptor.number, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard number >= 0 else { throw error() }
    let isWritten = bytes.withUnsafeBytes { writeAll($0, to: number) }
    let writeError = errno
    // The image is there whatever its time is: some file systems let only a file's owner set it.
    if isWritten { Self.setModified(number, storedAt) }
    // Some file systems tell only here that a write had no room.
    let isClosed = close(number) == 0
    let closeError = errno
    let target = (folders + [file]).joined(separator: "/")
    guard isWritten, isClosed, renameat(descriptor.number, draft, descriptor.number, target) == 0 else {
      let reason = errorSentence(!isWritten ? writeError : !isClosed ? closeError : errno)
      unlinkat(descriptor.number, draft, 0)
      throw .cannotExport(path: "\(path)/\(target)", reason: reason)
    }
  }

  private mutating func make(_ folders: [String]) throws(CacheError) {
    for count in folders.indices.map({ $0 + 1 }) {
      let folder = folders.prefix(count).joined(separator: "/")
      guard mkdirat(descriptor.number, folder, 0o777) == 0 || errno == EEXIST else { throw error() }
    }
    lastFolders = folders
  }

  private static func setModified(_ file: Int32, _ time: Timestamp) {
    let (seconds, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
    let isBelowZero = rest < 0
    let moment = timespec(
      tv_sec: Int(isBelowZero ? seconds - 1 : seconds),
      tv_nsec: Int((isBelowZero ? rest + 1000 : rest) * 1_000_000)
    )
    futimens(file, [moment, moment])
  }

  private func error() -> CacheError { .cannotExport(path: path, reason: errorSentence()) }
}
