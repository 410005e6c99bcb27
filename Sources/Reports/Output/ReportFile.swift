import Glibc
import ImagePrimitives

/// The file of a report: opened before the run, so that a bad path is known at once, and put in its place when it is whole.
///
/// A regular file has no name in its folder until ``commit()`` gives it one, so that readers see the old report or the new one,
/// never half of one, and a killed run leaves nothing; where the file system knows no such files it has a temporary name until
/// then. A link is followed. While it is open, no other run can open a report at the same path. Anything but a regular file (`-`, a pipe, a device) is written as is.
final class ReportFile {
  /// The path as the job names it; `-` is standard output.
  let path: String
  private let descriptor: OutputDescriptor
  /// The name it gets when it is committed; nil if it is written as is, or has it.
  private var target: String?
  /// The name it has until then; nil if it has none.
  private var temporaryName: String?
  private let growsInPlace: Bool
  /// Keeps other runs from the same file; nil for what is none.
  private let lock: ReportLock?

  /// Opens the report at `path`, makes the folders above it, and touches nothing that is there already.
  ///
  /// - Parameter growsInPlace: whether what is written is seen at once; then ``commit()`` does nothing.
  init(path: String, growsInPlace: Bool = false) throws(ReportError) {
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

  func write(_ bytes: UnsafeRawBufferPointer) throws(ReportError) {
    do {
      try descriptor.write(bytes)
    } catch {
      throw ReportError(.write, path: path, code: error.code)
    }
  }

  /// Gives the written file its name; without it nothing is left behind.
  func commit() throws(ReportError) {
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

  /// A link replaces nothing that is there; then the file gets a name beside it first, which is there for a moment only.
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

/// Whether something other than a regular file is at `path`; a folder counts, so that opening it fails with the reason.
private func isSpecialFile(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
}

private func renameFile(_ path: String, to target: String) throws(SystemError) {
  guard rename(path, target) == 0 else { throw SystemError(code: errno) }
}

/// A name that no other run of ours takes; short, since the report's own name may be as long as names can be.
private func makeTemporaryName(beside path: String) -> String {
  "\(folder(of: path)).prewarm-report-\(String(UInt64.random(in: .min ... .max), radix: 36))"
}

/// O_TMPFILE of Linux (asm-generic/fcntl.h), which Swift does not import.
private let unnamedFile: Int32 = 0o20_000_000 | O_DIRECTORY

/// A file descriptor for writing, closed when its owner goes.
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
  /// The error number is thrown as it is, since only the caller knows what the path was for.
  init(opening path: String, flags: Int32) throws(SystemError) {
    // A pipe that no program reads yet is refused (ENXIO) in place of a wait for its reader.
    let result = open(path, flags | O_WRONLY | O_CLOEXEC | O_NONBLOCK, 0o666)
    guard result >= 0 else { throw SystemError(code: errno) }
    _ = fcntl(result, F_SETFL, fcntl(result, F_GETFL) & ~O_NONBLOCK)
    descriptor = result
    isOwned = true
  }

  /// Makes a file without a name in `folder`, which goes with its descriptor unless ``link(to:)`` names it.
  ///
  /// Nil if there are no such files (open(2), O_TMPFILE), or naming one cannot work.
  init?(unnamedIn folder: String) {
    let result = open(folder, unnamedFile | O_WRONLY | O_CLOEXEC, 0o666)
    guard result >= 0 else { return nil }
    // Without /proc it could get no name.
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

  /// Names the file of ``init(unnamedIn:)``; `EEXIST` where the name is taken.
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

/// Makes the folders above `path`, each with the mode that the umask leaves, and minds none that is there already.
func makeParentFolders(of path: String) throws(SystemError) {
  var position = path.utf8.startIndex
  while let slash = path.utf8[position...].firstIndex(of: UInt8(ascii: "/")) {
    position = path.utf8.index(after: slash)
    let folder = String(path[..<slash])
    if !folder.isEmpty, mkdir(folder, 0o777) != 0, errno != EEXIST {
      let code = errno
      // A read-only or forbidden parent says so before it says that the folder is there.
      guard access(folder, F_OK) == 0 else { throw SystemError(code: code) }
    }
  }
}
