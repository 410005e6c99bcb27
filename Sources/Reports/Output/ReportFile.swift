import Base
import CXXHash
import Glibc

/// The file of a report: opened before the run, so that an invalid path fails early, and renamed to its path when it is complete.
///
/// A regular file has no name until ``commit()``, so that readers see the old report or the new one, never half of one, and a killed run
/// leaves nothing; a file system without unnamed files gives it a temporary name. Links are followed. While it is open, no other run
/// can open a report at the same path. Anything else (`-`, a pipe, a device) is written directly.
package final class ReportFile {
  /// The path as the job names it; `-` is standard output.
  let path: String
  private let descriptor: FileDescriptor
  /// The name that it gets when it is committed; nil if it is written directly, or has its name already.
  private var target: String?
  /// The name until then; nil if it has none.
  private var temporaryName: String?
  private let growsInPlace: Bool
  /// Excludes other runs from the same file; nil if it isn't a regular file.
  private let lock: ReportLock?

  /// Opens the report at `path` and creates the folders above it; an existing report stays unchanged.
  ///
  /// - Parameter growsInPlace: whether readers see the report while it grows; then ``commit()`` does nothing.
  package init(path: String, growsInPlace: Bool = false) throws(ReportError) {
    (self.path, self.growsInPlace) = (path, growsInPlace)
    if path == "-" {
      descriptor = FileDescriptor(owning: fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0))
      lock = nil
      return
    }
    do { try makeParentFolders(of: path) } catch { throw ReportError(.makeFolder, path: path, code: error.code) }
    let isSpecial = isSpecialFile(path)
    let target = resolvedPath(path)
    lock = isSpecial ? nil : try ReportLock(target: target, path: path)
    do {
      if growsInPlace {
        descriptor = try FileDescriptor(writing: path, flags: O_CREAT)
      } else if isSpecial {
        descriptor = try FileDescriptor(writing: path, flags: 0)
      } else {
        if let unnamed = FileDescriptor.unnamed(in: folder(of: target)) {
          descriptor = unnamed
        } else {
          let temporary = makeTemporaryName(beside: target)
          descriptor = try FileDescriptor(writing: temporary, flags: O_CREAT | O_EXCL)
          temporaryName = temporary
        }
        self.target = target
      }
    } catch { throw ReportError(.open, path: path, code: error.code) }
  }

  deinit {
    if let temporaryName { unlink(temporaryName) }
  }

  /// The folder in which committing the report at `path` changes names; nil if it is written directly.
  package static func namingFolder(_ path: String) -> String? {
    isSpecialFile(path) ? nil : folder(of: resolvedPath(path))
  }

  /// Removes an older report from a file that grows in place.
  func empty() throws(ReportError) {
    guard growsInPlace, path != "-" else { return }
    do { try descriptor.truncate() } catch { throw ReportError(.write, path: path, code: error.code) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(ReportError) {
    do { try descriptor.write(bytes) } catch { throw ReportError(.write, path: path, code: error.code) }
  }

  func write(_ text: String) throws(ReportError) {
    var output = OutputBuffer(capacity: text.utf8.count)
    output.append(text)
    try output.withUnsafeBytes { bytes throws(ReportError) in try write(bytes) }
  }

  /// Gives the written file its name; without this call, no file remains.
  package func commit() throws(ReportError) {
    guard let target else { return }
    do {
      if let temporaryName {
        try renameFile(temporaryName, to: target)
        self.temporaryName = nil
      } else {
        try nameUnnamed(target)
      }
    } catch { throw ReportError(.commit, path: path, code: error.code) }
    self.target = nil
  }

  /// A link can't replace an existing file, so the file first gets a temporary name beside it.
  private func nameUnnamed(_ target: String) throws(SystemError) {
    do { return try descriptor.link(to: target) } catch { guard error.code == EEXIST else { throw error } }
    let temporary = makeTemporaryName(beside: target)
    try descriptor.link(to: temporary)
    do {
      try renameFile(temporary, to: target)
    } catch {
      unlink(temporary)
      throw error
    }
  }
}

/// Whether `path` names anything but a regular file; a folder counts, so that opening it fails with the reason.
private func isSpecialFile(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
}

private func renameFile(_ path: String, to target: String) throws(SystemError) {
  guard rename(path, target) == 0 else { throw SystemError(code: errno) }
}

/// A name that no other run uses; short, since the report's own name may have the maximum length.
private func makeTemporaryName(beside path: String) -> String {
  "\(folder(of: path)).prewarm-report-\(String(UInt64.random(in: .min ... .max), radix: 36))"
}

/// O_TMPFILE of Linux (asm-generic/fcntl.h), which Swift does not import.
private let unnamedFile: Int32 = 0o20_000_000 | O_DIRECTORY

extension FileDescriptor {
  /// Opens `path` for writing with `flags` of open(2); a new file gets the mode that the umask leaves. Throws the error number,
  /// since only the caller knows the path's purpose.
  init(writing path: String, flags: Int32) throws(SystemError) {
    // A pipe without a reader fails with ENXIO instead of blocking.
    let result = open(path, flags | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0o666)
    guard result >= 0 else { throw SystemError(code: errno) }
    _ = fcntl(result, F_SETFL, fcntl(result, F_GETFL) & ~O_NONBLOCK)
    self.init(owning: result)
  }

  /// Creates an unnamed file in `folder`, which disappears with its descriptor unless ``link(to:)`` names it. Nil if the file
  /// system has no unnamed files (open(2), O_TMPFILE), or they can't be named.
  static func unnamed(in folder: String) -> FileDescriptor? {
    let result = open(folder, unnamedFile | O_WRONLY | O_CLOEXEC, 0o666)
    guard result >= 0 else { return nil }
    let file = FileDescriptor(owning: result)
    // Naming it needs /proc.
    guard access(file.linkPath, F_OK) == 0 else { return nil }
    return consume file
  }

  private var linkPath: String { "/proc/self/fd/\(number)" }

  /// Names the file of ``unnamed(in:)``; throws `EEXIST` if the name is taken.
  borrowing func link(to path: String) throws(SystemError) {
    guard linkat(AT_FDCWD, linkPath, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else { throw SystemError(code: errno) }
  }

  /// Empties a regular file; does nothing for others, such as a pipe.
  borrowing func truncate() throws(SystemError) {
    guard ftruncate(number, 0) != 0, errno != EINVAL else { return }
    throw SystemError(code: errno)
  }

  borrowing func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    guard writeAll(bytes, to: number) else { throw SystemError(code: errno) }
  }
}

struct SystemError: Error {
  var code: Int32
}

/// Creates the missing folders above `path`, each with the mode that the umask leaves.
func makeParentFolders(of path: String) throws(SystemError) {
  var position = path.utf8.startIndex
  while let slash = path.utf8[position...].firstIndex(of: UInt8(ascii: "/")) {
    position = path.utf8.index(after: slash)
    let folder = String(path[..<slash])
    if !folder.isEmpty, mkdir(folder, 0o777) != 0, errno != EEXIST {
      let code = errno
      // A read-only or forbidden parent is reported before the fact that the folder exists.
      guard access(folder, F_OK) == 0 else { throw SystemError(code: code) }
    }
  }
}

/// Prevents other runs from writing the same report until it is released or its process ends in any way. The lock (flock(2)) is
/// on an empty hidden file beside the report, and releasing it removes the file. The file of a killed run stays, and the next run
/// uses it. A file system without such locks gives no protection.
final class ReportLock {
  private let name: String
  private let descriptor: Int32

  /// Locks the report at `target`, which the job calls `path`; nil if the file system doesn't allow it.
  ///
  /// - Throws: ``ReportError`` if another run has the lock.
  init?(target: String, path: String) throws(ReportError) {
    var file = target.utf8.split(separator: UInt8(ascii: "/")).last.map { Array($0) } ?? []
    let hash = file.withUnsafeMutableBytes { XXH3_64bits($0.baseAddress, $0.count) }
    // Short, since the report's own name may have the maximum length.
    name = "\(folder(of: target)).prewarm-lock-\(String(hash, radix: 36))"
    while true {
      // The file of another user can be locked even if it isn't writable.
      let existing = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
      let opened = existing >= 0 ? existing : open(name, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o666)
      guard opened >= 0 else { return nil }
      guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        close(opened)
        if code == EINTR { continue }
        guard code == EWOULDBLOCK else { return nil }
        throw ReportError(.lock, path: path, code: code)
      }
      // Its owner may have removed it meanwhile.
      var (held, named) = (stat(), stat())
      if fstat(opened, &held) == 0, stat(name, &named) == 0, held.st_ino == named.st_ino, held.st_dev == named.st_dev {
        descriptor = opened
        return
      }
      close(opened)
    }
  }

  deinit {
    unlink(name)
    close(descriptor)
  }
}

/// A report can't be written; the description names the file.
public struct ReportError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Step: Sendable, Hashable {
    case makeFolder, open, write, commit
    /// Locking it: another run is writing it.
    case lock
    /// Storing parts of it in the folder for temporary files.
    case spool
  }

  public var step: Step
  /// The path as the job names it; `-` is standard output. For ``Step/spool`` the folder for temporary files.
  public var path: String
  public var code: Int32

  public init(_ step: Step, path: String, code: Int32) { (self.step, self.path, self.code) = (step, path, code) }

  /// Whether the reader of standard output has ended, as in `| head`: it wanted no more, so nothing failed.
  public var isReaderGone: Bool { path == "-" && code == EPIPE }

  public var description: String {
    let place = path == "-" ? "standard output" : path
    let reason = errorSentence(code)
    let advice =
      switch code {
      case ENOSPC, EDQUOT: "; free some space and run again"
      case EACCES, EPERM, EROFS: "; choose a path that this user may write"
      case ENXIO: "; first start the program that reads this pipe"
      case EISDIR: "; name a file in it"
      case ENOTDIR: "; a part of the path is a file"
      default: ""
      }
    return switch step {
    case .makeFolder: "cannot create the folder of report \(place): \(reason)\(advice)"
    case .lock: "cannot open report \(place): another run is writing it; wait for that run, or name another file"
    case .open: "cannot open report \(place): \(reason)\(advice)"
    case .write: "cannot write report \(place): \(reason)\(advice)"
    case .spool: "cannot store parts of a report in \(place): \(reason); set TMPDIR to a writable folder with free space"
    case .commit: "cannot move the finished report to \(place): \(reason)\(advice)"
    }
  }
}

/// The file to which a path leads: paths with equal identities lead to the same file, even if it doesn't exist yet.
///
/// Symbolic links are followed, dangling ones too. Hard links of a file have its identity.
package struct FileIdentity: Hashable {
  private var device: UInt64
  private var inode: UInt64
  /// The components below it that don't exist yet.
  private var missing: [Substring] = []

  private init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }

  /// The identity of the existing or future file at `path`.
  package init(_ path: String) { self = Self.chain(path)[0] }

  /// The identity of an open file; nil if it isn't a regular one.
  package init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    self.init(status)
  }

  /// Whether a path leads to `folder` or into it, also by another hard link.
  package static func isInside(_ path: String, _ folder: String) -> Bool {
    if chain(path).contains(FileIdentity(folder)) { return true }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 else { return false }
    return hasLink(to: FileIdentity(status), in: folder)
  }

  private static func chain(_ path: String) -> [FileIdentity] {
    var path = resolvedPath(path)
    var missing: [Substring] = []
    var status = stat()
    while stat(path, &status) != 0 {
      guard let name = path.split(separator: "/").last else { break }
      let isRelative = !path.hasPrefix("/")
      path = String(path[..<name.startIndex])
      if path.isEmpty, isRelative { path = "." }
      if name == ".." {
        missing.insert(name, at: 0)
      } else if name != "." {
        missing.insert(name, at: 0)
        guard missing.dropFirst().first == ".." else { continue }
        // The folder will be created, so `..` leads to its parent, which may contain the rest.
        let rest = missing.dropFirst(2).joined(separator: "/")
        path = resolvedPath(path == "." && !rest.isEmpty ? rest : path + rest)
        missing = []
      }
    }
    var found = FileIdentity(status)
    var chain = stride(from: missing.count, through: 0, by: -1).map { count in
      found.missing = Array(missing.prefix(count))
      return found
    }
    var folder = resolvedPath(path)
    while folder != "/", let slash = folder.lastIndex(of: "/") {
      folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
      if stat(folder, &status) == 0 { chain.append(FileIdentity(status)) }
    }
    return chain
  }

  private static func hasLink(to file: FileIdentity, in folder: String) -> Bool {
    guard let entries = opendir(folder) else { return false }
    defer { closedir(entries) }
    while let entry = readdir(entries) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name == "." || name == ".." { continue }
      if entry.pointee.d_type == UInt8(DT_DIR) {
        if hasLink(to: file, in: "\(folder)/\(name)") { return true }
      } else if UInt64(entry.pointee.d_ino) == file.inode, FileIdentity("\(folder)/\(name)") == file {
        return true
      }
    }
    return false
  }
}

/// Returns the target of a link, even of a dangling one, so that renaming replaces the file and not the link; otherwise `path`.
func resolvedPath(_ path: String) -> String {
  var path = path
  // As many links as Linux follows (path_resolution(7)).
  for _ in 0..<40 {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(cString: resolved)
    }
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let length = bytes.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
    guard length > 0 else { return path }
    let target = String(decoding: bytes[..<length], as: UTF8.self)
    path = target.hasPrefix("/") ? target : folder(of: path) + target
  }
  return path
}

/// The folder of `path`, with a slash at its end.
func folder(of path: String) -> String { path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "./" }
