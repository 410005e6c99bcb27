import Glibc
import ImagePrimitives

/// A file without a name, which nobody else knows and which goes with its descriptor.
package final class UnnamedFile: Sendable {
  /// What it is written to and read from.
  package let descriptor: Int32

  /// A new, empty file in that folder.
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

  /// Writes all of `bytes` where the last ones ended.
  package func append(_ bytes: [UInt8]) throws(UnnamedFileError) {
    guard bytes.withUnsafeBytes({ writeAll($0, to: descriptor) }) else { throw UnnamedFileError() }
  }
}

/// Why the system made or wrote no file, in its own words.
package struct UnnamedFileError: Error {
  package let reason = errorSentence()
}
