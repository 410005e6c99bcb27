import Glibc
import ImagePrimitives

extension ImageCache {
  /// Writes every image to a file of `directory`, which is made where it is not there, and calls `onEntry` with what became of
  /// each.
  ///
  /// Images are read a page at a time, each checked against its sum, beside whoever writes to the cache meanwhile: what is stored
  /// later may be left out, what is replaced meanwhile is exported as it is then. Those that have expired are exported too.
  ///
  /// Existing files are replaced. A file is there whole or not at all, but is not synced to the disk; it gets the mode that the
  /// umask says, and as its time of modification that at which the image was stored. Of several images of one URL, as with
  /// variants, the one stored last stays. URLs with credentials are left out: the cache has masked them, and no app would find
  /// the file. So are transformed images (``EntryRecord/isTransformed``), which are not what the URL names.
  ///
  /// Throws `cannotExport` where the folder cannot be written or is full; what was exported before stays. Throws where the cache
  /// cannot be read.
  @discardableResult
  public func export(
    to directory: String,
    layout: ExportLayout,
    onEntry: (ExportEvent) -> Void = { _ in }
  ) throws(CacheError) -> ExportResult {
    var folder = try ExportFolder(path: directory)
    var result = ExportResult()
    try forEachEntry { (record) throws(CacheError) in
      guard let event = try export(record, to: &folder, layout) else { return }
      result.count(event)
      onEntry(event)
    }
    return result
  }

  /// Exports one entry; nil where it is gone by now.
  private func export(
    _ record: EntryRecord,
    to folder: inout ExportFolder,
    _ layout: ExportLayout
  ) throws(CacheError) -> ExportEvent? {
    if record.shownURL.withUnsafeBytes(hasCredentials) { return .skipped(url: record.shownURL, reason: .hasCredentials) }
    if record.isTransformed { return .skipped(url: record.shownURL, reason: .transformed) }
    guard let name = record.shownURL.withUnsafeBytes({ Self.name(ofURL: $0, layout) }) else {
      throw .cannotExport(path: folder.path, reason: "libcrypto does not compute MD5 here, as in FIPS mode")
    }
    guard let (record, body) = try currentBody(of: record) else { return nil }
    switch body {
    case .damaged(let damage): return .skipped(url: record.shownURL, reason: .damaged(damage))
    case .bytes(let bytes):
      let storedAt = record.head.storedAt
      if folder.hasNewer(name.folders, name.file, than: storedAt) { return .skipped(url: record.shownURL, reason: .superseded) }
      try folder.write(bytes, folders: name.folders, file: name.file, storedAt: storedAt)
      return .exported(url: record.shownURL, file: (name.folders + [name.file]).joined(separator: "/"), bytes: bytes.count)
    }
  }

  /// The name of a URL's file; nil where MD5 is not to be had.
  private static func name(ofURL url: UnsafeRawBufferPointer, _ layout: ExportLayout) -> (folders: [String], file: String)? {
    switch layout {
    case .sdwebimage(withExtension: false): return AppFileName.digits(of: url).map { ([], $0) }
    case .sdwebimage(withExtension: true): return AppFileName.nameWithExtension(forURL: url).map { ([], $0) }
    case .urlPath:
      guard let digits = AppFileName.digits(of: url) else { return nil }
      let name = URLPathName(url: url, digits: digits)
      return (name.folders, name.file)
    }
  }
}

/// How exported files are named.
public enum ExportLayout: Sendable, Hashable {
  /// As SDWebImage names them: flat, MD5 of the URL as first written in 32 lower-case hexadecimal digits.
  ///
  /// Without extension, every version of SDWebImage finds them in a read-only cache path. With it, they are named as it names its
  /// own files: by the extension of the URL's path, left out above 222 characters.
  case sdwebimage(withExtension: Bool)
  /// As the URL says: `host/path…`, for serving the folder as it is. What such a name cannot tell, a query among it, is told by 32 digits
  /// before the extension: MD5 of the URL.
  case urlPath
}

/// What became of one entry of an export.
public enum ExportEvent: Sendable, Hashable {
  /// It was written to that file of the folder.
  case exported(url: [UInt8], file: String, bytes: Int)
  /// It was left out.
  case skipped(url: [UInt8], reason: SkipReason)

  /// Why an entry was left out.
  public enum SkipReason: Sendable, Hashable {
    /// Its body is not as it was stored, or gone.
    case damaged(CachedBody.Damage)
    /// Its URL has credentials, which the cache does not know, and without which nobody asks for it.
    case hasCredentials
    /// A newer image of the same URL was exported.
    case superseded
    /// It is what a transformer made of the image, and no app asks for that by the URL.
    case transformed
  }
}

/// What an export did.
public struct ExportResult: Sendable, Hashable {
  /// Images that were written.
  public var exported = 0
  /// Bytes of all of them.
  public var bytes = 0
  /// Images left out because they are damaged.
  public var damaged = 0
  /// Images left out because their URL has credentials.
  public var withCredentials = 0
  /// Images left out because a newer one of the same URL was exported.
  public var superseded = 0
  /// Images left out because a transformer made them.
  public var transformed = 0

  /// Nothing exported.
  public init() {}

  mutating func count(_ event: ExportEvent) {
    switch event {
    case .exported(_, _, let size):
      exported += 1
      bytes += size
    case .skipped(_, .damaged): damaged += 1
    case .skipped(_, .hasCredentials): withCredentials += 1
    case .skipped(_, .superseded): superseded += 1
    case .skipped(_, .transformed): transformed += 1
    }
  }
}

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
