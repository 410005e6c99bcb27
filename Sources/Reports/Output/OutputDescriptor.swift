import Glibc
import ImagePrimitives

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
    let result = open(path, flags | O_WRONLY | O_CLOEXEC, 0o666)
    guard result >= 0 else { throw SystemError(code: errno) }
    descriptor = result
    isOwned = true
  }

  /// Makes a file without a name in `folder`, which goes with its descriptor unless ``link(to:)`` names it.
  ///
  /// nil where there are no such files (open(2), O_TMPFILE), or where naming one cannot work.
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

  /// Empties a regular file; what is none, such as a pipe, has nothing to be emptied of.
  borrowing func truncate() throws(SystemError) {
    guard ftruncate(descriptor, 0) != 0, errno != EINVAL else { return }
    throw SystemError(code: errno)
  }

  /// Writes all of `bytes`, however many calls it takes.
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
