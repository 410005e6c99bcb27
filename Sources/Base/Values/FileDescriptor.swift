package import Platform

/// An open file or folder, closed on deinitialisation.
package struct FileDescriptor: ~Copyable, Sendable {
  package let number: Int32

  package init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// The result of `fstat`; nil if it fails, which is unexpected on an open descriptor.
  package var status: stat? {
    var status = stat()
    return fstat(number, &status) == 0 ? status : nil
  }
}

extension Timestamp {
  package init(modified status: stat) {
    var status = status
    self.init(system_modified(&status))
  }
}

/// The system's message for an error number, by default that of the last call.
package func errorSentence(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

/// Repeats a call while signals interrupt it; if the result is negative, `errno` has the error.
package func uninterrupted<T: SignedInteger>(_ call: () -> T) -> T {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}

/// Writes all bytes at the descriptor's position, waiting if it would block; false if it fails, with the error in `errno`.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
  var rest = bytes
  while !rest.isEmpty {
    let count = uninterrupted { write(descriptor, rest.baseAddress, rest.count) }
    if count >= 0 {
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    } else if errno == EAGAIN {
      // A standard stream may be a pipe that another program made non-blocking.
      var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      poll(&poller, 1, -1)
    } else {
      return false
    }
  }
  return true
}

package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool { bytes.withUnsafeBytes { writeAll($0, to: descriptor) } }

/// Reads up to `limit` bytes from the descriptor's position; nil if it fails, with the error in `errno`.
package func readAll(_ descriptor: Int32, limit: Int) -> [UInt8]? {
  var failed = false
  let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
    while filled < limit {
      let count = uninterrupted { read(descriptor, buffer.baseAddress! + filled, limit - filled) }
      if count < 0 { failed = true }
      if count <= 0 { return }
      filled += count
    }
  }
  return failed ? nil : bytes
}

/// The first `limit` bytes of a file as text; nil if it can't be read.
package func readText(_ path: String, limit: Int = 4096) -> String? {
  let number = open(path, O_RDONLY | O_CLOEXEC)
  guard number >= 0 else { return nil }
  let file = FileDescriptor(owning: number)
  return readAll(file.number, limit: limit).map { String(decoding: $0, as: UTF8.self) }
}

/// Reads from `offset` until `destination` is full or the file ends, and returns the number of bytes; nil if it fails, with the
/// error in `errno`.
package func readAll(_ descriptor: Int32, at offset: UInt64, into destination: UnsafeMutableRawBufferPointer) -> Int? {
  var done = 0
  while done < destination.count {
    let count = uninterrupted {
      pread(descriptor, destination.baseAddress! + done, destination.count - done, off_t(offset) + off_t(done))
    }
    if count < 0 { return nil }
    if count == 0 { break }
    done += count
  }
  return done
}

/// Calls `body` with the name of each file in an open folder, in no particular order, until it returns false. Returns false if the
/// folder can't be read, with the error in `errno`.
package func forEachName<E: Error>(
  inFolder descriptor: Int32,
  at path: String = ".",
  while body: (String) throws(E) -> Bool
) throws(E) -> Bool {
  let number = openat(descriptor, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard number >= 0 else { return false }
  guard let stream = fdopendir(number) else {
    let error = errno
    close(number)
    errno = error
    return false
  }
  defer { closedir(stream) }
  while let entry = readdir(stream) {
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if name != ".", name != "..", try !body(name) { break }
  }
  return true
}

/// The names of the files in a folder, in no particular order; nil if it can't be read, with the error in `errno`.
package func names(inFolder path: String) -> [String]? {
  var names: [String] = []
  let isRead = forEachName(inFolder: AT_FDCWD, at: path) {
    names.append($0)
    return true
  }
  return isRead ? names : nil
}

/// An unlinked file; its storage is freed with its descriptor.
package final class UnnamedFile: Sendable {
  package let descriptor: Int32

  /// Creates an empty file in that folder.
  package init(in directory: String) throws(UnnamedFileError) {
    var template = Array("\(directory)/.prewarm-spool-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw UnnamedFileError() }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    unlink(template)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  package func append(_ bytes: UnsafeRawBufferPointer) throws(UnnamedFileError) {
    guard writeAll(bytes, to: descriptor) else { throw UnnamedFileError() }
  }

  package func append(_ bytes: [UInt8]) throws(UnnamedFileError) {
    guard writeAll(bytes, to: descriptor) else { throw UnnamedFileError() }
  }
}

package struct UnnamedFileError: Error {
  package let code = errno
  package var reason: String { errorSentence(code) }
}

/// The folder of TMPDIR, by default /tmp.
package func temporaryFolder() -> String {
  let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
  return folder.isEmpty ? "/tmp" : folder
}

/// A file of which only the beginning and some pieces further on are available.
package struct SparseFile: Sendable, Equatable {
  package struct Piece: Sendable, Equatable {
    package var offset: Int
    package var bytes: [UInt8]

    package init(offset: Int, bytes: [UInt8]) { (self.offset, self.bytes) = (offset, bytes) }

    package var end: Int { offset + bytes.count }
  }

  package var prefix: [UInt8]
  package var pieces: [Piece]

  package init(prefix: [UInt8], pieces: [Piece] = []) { (self.prefix, self.pieces) = (prefix, pieces) }

  /// Calls `body` with all bytes up to the end of the last piece; those between the pieces are zero and take no memory.
  ///
  /// If the system has no addresses for them, `body` gets the prefix.
  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let end = pieces.last?.end, let mapping = Self.map(end) else { return try prefix.withRawBytes(body) }
    defer { munmap(mapping.baseAddress, mapping.count) }
    mapping.copyBytes(from: prefix)
    for piece in pieces { UnsafeMutableRawBufferPointer(rebasing: mapping[piece.offset...]).copyBytes(from: piece.bytes) }
    return try body(UnsafeRawBufferPointer(mapping))
  }

  private static func map(_ count: Int) -> UnsafeMutableRawBufferPointer? {
    guard count > 0, let start = system_map_zeros(count) else { return nil }
    return UnsafeMutableRawBufferPointer(start: start, count: count)
  }
}
