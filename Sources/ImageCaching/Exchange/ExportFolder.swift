import Platform
import Base

/// The target folder of an export. Files appear completely or not at all: each is written under a temporary name, then renamed.
/// Subfolders are opened one inside the other and never through a symbolic link, so that nothing outside is written or removed.
struct ExportFolder: ~Copyable {
  let path: String
  private let descriptor: FileDescriptor
  private let draft = ".prewarm-export-\(getpid())-\(UInt32.random(in: .min ... .max))"
  /// The folder of the last written file, and its path relative to this one.
  private var last: FileDescriptor?
  private var lastFolders: [String] = []
  private var hosts: Set<String> = []

  /// Opens the folder, creating it and its parents if necessary, with modes from the umask.
  init(path: String) throws(CacheError) {
    self.path = path
    for end in path.indices.dropFirst() where path[end] == "/" { mkdir(String(path[..<end]), 0o777) }
    // A failure for a parent matters only if the folder can't be opened.
    let isMade = mkdir(path, 0o777) == 0 || errno == EEXIST
    let reason = errorSentence()
    let number = Platform.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw .cannotExport(path: path, reason: isMade ? errorSentence() : reason) }
    descriptor = FileDescriptor(owning: number)
  }

  /// The length of a written file; 0 if it doesn't exist.
  mutating func byteCount(of folders: [String], _ file: String) throws(CacheError) -> Int {
    var status = stat()
    return fstatat(try open(folders), file, &status, AT_SYMLINK_NOFOLLOW) == 0 ? Int(status.st_size) : 0
  }

  /// Writes a file, replacing one with the same name; its modification time is the time when the image was stored. A file that has
  /// these bytes already is kept, so that web servers don't take it for a new one.
  mutating func write(_ bytes: [UInt8], folders: [String], file: String, storedAt: Timestamp) throws(CacheError) {
    let folder = try open(folders)
    if Self.start(of: file, in: folder, limit: bytes.count, size: bytes.count) == bytes { return }
    let number = openat(descriptor.number, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard number >= 0 else { throw .cannotExport(path: path, reason: errorSentence()) }
    let isWritten = bytes.withUnsafeBytes { writeAll($0, to: number) }
    let writeError = errno
    // Ignore failures to set the time: some file systems let only a file's owner set it.
    if isWritten { Self.setModified(number, storedAt) }
    // Some file systems report a full disk only here.
    let isClosed = close(number) == 0
    let closeError = errno
    // Renaming replaces a link of that name instead of following it.
    guard isWritten, isClosed, renameat(descriptor.number, draft, folder, file) == 0 else {
      let reason = errorSentence(!isWritten ? writeError : !isClosed ? closeError : errno)
      unlinkat(descriptor.number, draft, 0)
      throw .cannotExport(path: ([path] + folders + [file]).joined(separator: "/"), reason: reason)
    }
  }

  /// The descriptor of a subfolder, which is created if necessary; valid until the next call.
  private mutating func open(_ folders: [String]) throws(CacheError) -> Int32 {
    if folders.isEmpty { return descriptor.number }
    if folders == lastFolders, let number = last?.number { return number }
    lastFolders = []
    var outer: FileDescriptor?
    for (index, name) in folders.enumerated() {
      let parent = outer?.number ?? descriptor.number
      let isMade = mkdirat(parent, name, 0o777) == 0 || errno == EEXIST
      let reason = errorSentence()
      let number = openat(parent, name, Self.folderFlags)
      guard number >= 0 else {
        let failed = errorSentence()
        let path = ([path] + folders[...index]).joined(separator: "/")
        if Self.isLink(name, in: parent) { throw .linkInExport(path: path) }
        throw .cannotExport(path: path, reason: isMade ? failed : reason)
      }
      outer = FileDescriptor(owning: number)
    }
    last = outer
    lastFolders = folders
    hosts.insert(folders[0])
    return last?.number ?? descriptor.number
  }

  private static let folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

  private static func isLink(_ name: String, in folder: Int32) -> Bool {
    var status = stat()
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  private static func setModified(_ file: Int32, _ time: Timestamp) {
    // Seconds are rounded down, since the fraction must be positive before 1970, too.
    let seconds = (time.milliseconds - (time.milliseconds % 1000 + 1000) % 1000) / 1000
    let moment = timespec(tv_sec: Int(seconds), tv_nsec: Int((time.milliseconds - seconds * 1000) * 1_000_000))
    futimens(file, [moment, moment])
  }

  // MARK: Removing

  /// Removes image files that the layout would write and for whose paths `isOther` is true, and folders that become empty; returns the
  /// paths of the files.
  func removeFiles(_ layout: ExportLayout, where isOther: (String) -> Bool) throws(CacheError) -> [String] {
    var removed: [String] = []
    try forEachFile(in: descriptor.number, path) { name throws(CacheError) in
      if layout != .urlPath {
        if FlatFolder.isImageName(name), isOther(name) { try removeImage(name, in: descriptor.number, name, &removed) }
      } else if URLPathName.mayBeHost(name) || hosts.contains(name) {
        try removeFiles(below: name, in: descriptor.number, name, depth: 0, where: isOther, &removed)
      }
    }
    return removed
  }

  private func removeFiles(
    below name: String,
    in parent: Int32,
    _ folderPath: String,
    depth: Int,
    where isOther: (String) -> Bool,
    _ removed: inout [String]
  ) throws(CacheError) {
    if depth > URLPathName.deepestPath { return }
    let number = openat(parent, name, Self.folderFlags)
    // A file, a link, or a folder of another program.
    guard number >= 0 else { return }
    let folder = FileDescriptor(owning: number)
    let countBefore = removed.count
    try forEachFile(in: folder.number, folderPath) { name throws(CacheError) in
      let itsPath = "\(folderPath)/\(name)"
      if URLPathName.mayBeFile(name) {
        if isOther(itsPath) { try removeImage(name, in: folder.number, itsPath, &removed) }
      } else if URLPathName.mayBeFolder(name) {
        try removeFiles(below: name, in: folder.number, itsPath, depth: depth + 1, where: isOther, &removed)
      }
    }
    // This fails unless the folder is empty.
    if removed.count > countBefore { unlinkat(parent, name, AT_REMOVEDIR) }
  }

  /// Removes a file, unless it isn't an image.
  private func removeImage(_ name: String, in folder: Int32, _ itsPath: String, _ removed: inout [String]) throws(CacheError) {
    guard Self.isImage(name, in: folder) else { return }
    guard unlinkat(folder, name, 0) == 0 || errno == ENOENT else {
      throw .cannotExport(path: "\(path)/\(itsPath)", reason: errorSentence())
    }
    removed.append(itsPath)
  }

  private func forEachFile(in folder: Int32, _ itsPath: String, _ body: (String) throws(CacheError) -> Void) throws(CacheError) {
    let isRead = try forEachName(inFolder: folder) { name throws(CacheError) in
      // No layout creates hidden names.
      if !name.hasPrefix(".") { try body(name) }
      return true
    }
    if !isRead { throw .cannotExport(path: itsPath, reason: errorSentence()) }
  }

  /// Whether it is a regular file that begins with an image's signature.
  private static func isImage(_ name: String, in folder: Int32) -> Bool {
    start(of: name, in: folder, limit: ImageFormat.textPrefixLength)?.withUnsafeBytes { ImageFormat(prefix: $0) } != nil
  }

  /// The first bytes of a file; nil if it isn't a regular file, has another size than `size`, or can't be read.
  private static func start(of name: String, in folder: Int32, limit: Int, size: Int? = nil) -> [UInt8]? {
    let number = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    guard let status = file.status, status.isRegular, size == nil || size == Int(status.st_size) else { return nil }
    return readAll(number, limit: limit)
  }
}
