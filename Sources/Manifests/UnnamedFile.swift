import Glibc

/// A file without a name, which nobody else knows and which goes with its descriptor.
package final class UnnamedFile: Sendable {
  /// What it is written to and read from.
  package let descriptor: Int32

  /// Why the system made or wrote no file, in its own words.
  package struct Refusal: Error {
    package let reason = String(cString: strerror(errno))
  }

  /// A new, empty file in that folder.
  package init(in directory: String) throws(Refusal) {
    var template = Array("\(directory)/.prewarm-spool-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw Refusal() }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    unlink(template)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Writes all of `bytes` where the last ones ended.
  package func append(_ bytes: [UInt8]) throws(Refusal) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + done, $0.count - done) }
      if count >= 0 {
        done += count
      } else if errno != EINTR {
        throw Refusal()
      }
    }
  }
}
