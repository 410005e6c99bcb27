import Glibc

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

  deinit {
    if isOwned { close(descriptor) }
  }

  /// Writes all of `bytes`, however many calls it takes.
  borrowing func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count > 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      } else if count < 0, errno == EAGAIN {
        waitUntilWritable()
      } else if count < 0, errno != EINTR {
        throw SystemError(code: errno)
      }
    }
  }

  /// Standard output may be a pipe that another program made non-blocking.
  private borrowing func waitUntilWritable() {
    var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    poll(&poller, 1, -1)
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
