import Glibc

/// A descriptor that manifests are read from; closed with it where it is its own.
final class InputDescriptor {
  let descriptor: Int32
  /// Whether it is a file with a size, which can be read again from any place.
  let isRegular: Bool
  /// The file's length in bytes; nil where there is none.
  let size: UInt64?
  /// What tells whether the file is still the same.
  let version: FileVersion
  private let isOwned: Bool

  /// Opens the file of that path.
  convenience init(path: String) throws(InputFailure) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw InputFailure("it cannot be opened: \(String(cString: strerror(errno)))") }
    try self.init(descriptor: descriptor, isOwned: true)
  }

  init(descriptor: Int32, isOwned: Bool) throws(InputFailure) {
    self.descriptor = descriptor
    self.isOwned = isOwned
    var status = stat()
    let result = fstat(descriptor, &status)
    isRegular = result == 0 && status.st_mode & S_IFMT == S_IFREG
    size = isRegular ? UInt64(status.st_size) : nil
    version = FileVersion(status)
    // Where it throws, `deinit` closes the descriptor.
    guard result == 0 else { throw InputFailure(systemCall: "fstat") }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      throw InputFailure("it is a folder; name the files in it, with a pattern such as */*.txt")
    }
  }

  deinit {
    if isOwned { close(descriptor) }
  }

  /// Whether a read would give something, or the end, at once.
  var isReady: Bool {
    if isRegular { return true }
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, 0) != 0
  }

  /// Reads up to the length of `destination`; 0 is the end.
  func read(into destination: UnsafeMutableRawBufferPointer) throws(InputFailure) -> Int {
    while true {
      let count = Glibc.read(descriptor, destination.baseAddress, destination.count)
      if count >= 0 { return count }
      if errno != EINTR { throw InputFailure(systemCall: "reading it") }
    }
  }

  /// Reads from `offset`, as much as there is up to the length of `destination`.
  func read(into destination: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(InputFailure) -> Int {
    var done = 0
    while done < destination.count {
      let count = pread(descriptor, destination.baseAddress! + done, destination.count - done, off_t(offset) + off_t(done))
      if count == 0 { break }
      if count > 0 {
        done += count
      } else if errno != EINTR {
        throw InputFailure(systemCall: "reading it")
      }
    }
    return done
  }
}

/// What changes when somebody writes to a file or puts another in its place.
struct FileVersion: Equatable {
  private let device: dev_t
  private let inode: ino_t
  private let size: off_t
  private let seconds: Int
  private let nanoseconds: Int

  init(_ status: stat) {
    device = status.st_dev
    inode = status.st_ino
    size = status.st_size
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
  }
}
