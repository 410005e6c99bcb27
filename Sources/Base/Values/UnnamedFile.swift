import Platform

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
    guard bytes.withUnsafeBytes({ writeAll($0, to: descriptor) }) else { throw UnnamedFileError() }
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
