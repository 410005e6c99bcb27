import Glibc
import Base

/// The file of a report: opened before the run, so that an invalid path fails early, and renamed to its path when it is complete.
///
/// A regular file has no name until ``commit()``, so that readers see the old report or the new one, never half of one, and a killed run
/// leaves nothing; a file system without unnamed files gives it a temporary name. Links are followed. While it is open, no other run
/// can open a report at the same path. Anything else (`-`, a pipe, a device) is written directly.
package final class ReportFile {
  /// The path as the job names it; `-` is standard output.
  let path: String
  private let descriptor: OutputDescriptor
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
    self.path = path
    self.growsInPlace = growsInPlace
    if path == "-" {
      descriptor = OutputDescriptor()
      lock = nil
      return
    }
    do {
      try makeParentFolders(of: path)
    } catch {
      throw ReportError(.makeFolder, path: path, code: error.code)
    }
    let isSpecial = isSpecialFile(path)
    let target = resolvedPath(path)
    lock = isSpecial ? nil : try ReportLock(target: target, path: path)
    do {
      if growsInPlace {
        descriptor = try OutputDescriptor(opening: path, flags: O_CREAT)
      } else if isSpecial {
        descriptor = try OutputDescriptor(opening: path, flags: 0)
      } else {
        if let unnamed = OutputDescriptor(unnamedIn: folder(of: target)) {
          descriptor = unnamed
        } else {
          let temporary = makeTemporaryName(beside: target)
          descriptor = try OutputDescriptor(opening: temporary, flags: O_CREAT | O_EXCL)
          temporaryName = temporary
        }
        self.target = target
      }
    } catch {
      throw ReportError(.open, path: path, code: error.code)
    }
  }

  deinit {
    if let temporaryName { unlink(temporaryName) }
  }

  /// Removes an older report from a file that grows in place.
  func empty() throws(ReportError) {
    guard growsInPlace, path != "-" else { return }
    do {
      try descriptor.truncate()
    } catch {
      throw ReportError(.write, path: path, code: error.code)
    }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(ReportError) {
    do {
      try descriptor.write(bytes)
    } catch {
      throw ReportError(.write, path: path, code: error.code)
    }
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
    } catch {
      throw ReportError(.commit, path: path, code: error.code)
    }
    self.target = nil
  }

  /// A link can't replace an existing file, so the file first gets a temporary name beside it.
  private func nameUnnamed(_ target: String) throws(SystemError) {
    do {
      return try descriptor.link(to: target)
    } catch {
      guard error.code == EEXIST else { throw error }
    }
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

/// A file descriptor for writing, closed with its owner.
struct OutputDescriptor: ~Copyable {
  private let descriptor: Int32
  private let isOwned: Bool

  /// Standard output, which stays open.
  init() {
    descriptor = STDOUT_FILENO
    isOwned = false
  }

  /// Opens `path` for writing with `flags` of open(2); a new file gets the mode that the umask leaves.
  ///
  /// Throws the error number, since only the caller knows the path's purpose.
  init(opening path: String, flags: Int32) throws(SystemError) {
    // A pipe without a reader fails with ENXIO instead of blocking.
    let result = open(path, flags | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0o666)
    guard result >= 0 else { throw SystemError(code: errno) }
    _ = fcntl(result, F_SETFL, fcntl(result, F_GETFL) & ~O_NONBLOCK)
    descriptor = result
    isOwned = true
  }

  /// Creates an unnamed file in `folder`, which disappears with its descriptor unless ``link(to:)`` names it.
  ///
  /// Nil if the file system has no unnamed files (open(2), O_TMPFILE), or they can't be named.
  init?(unnamedIn folder: String) {
    let result = open(folder, unnamedFile | O_WRONLY | O_CLOEXEC, 0o666)
    guard result >= 0 else { return nil }
    // Naming it needs /proc.
    guard access(Self.linkPath(of: result), F_OK) == 0 else {
      close(result)
      return nil
    }
    descriptor = result
    isOwned = true
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  /// Names the file of ``init(unnamedIn:)``; throws `EEXIST` if the name is taken.
  borrowing func link(to path: String) throws(SystemError) {
    guard linkat(AT_FDCWD, Self.linkPath(of: descriptor), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else {
      throw SystemError(code: errno)
    }
  }

  private static func linkPath(of descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

  /// Empties a regular file; does nothing for others, such as a pipe.
  borrowing func truncate() throws(SystemError) {
    guard ftruncate(descriptor, 0) != 0, errno != EINVAL else { return }
    throw SystemError(code: errno)
  }

  borrowing func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    guard writeAll(bytes, to: descriptor) else { throw SystemError(code: errno) }
  }
}

/// An error number of the system (errno(3)).
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
