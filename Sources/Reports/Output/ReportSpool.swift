import Glibc
import Base

/// An unnamed file for parts of a report whose place in it is known only after the run.
///
/// It lies in the folder of TMPDIR, by default /tmp, and disappears with its descriptor.
struct ReportSpool: ~Copyable {
  private static let pieceBytes = 65_536

  private let descriptor: Int32
  private let folder: String
  private(set) var count = 0

  /// - Parameter folder: the folder for the file.
  init(folder: String = temporaryFolder()) throws(ReportError) {
    self.folder = folder
    var template = Array("\(folder)/.prewarm-report-XXXXXX".utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw ReportError(.spool, path: folder, code: errno) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    unlink(template)
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(ReportError) {
    guard writeAll(bytes, to: descriptor) else { throw ReportError(.spool, path: folder, code: errno) }
    count += bytes.count
  }

  /// Calls `body` with all appended bytes, in pieces.
  borrowing func read(_ body: (UnsafeRawBufferPointer) throws(ReportError) -> Void) throws(ReportError) {
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 8)
    defer { piece.deallocate() }
    var offset = 0
    while offset < count {
      let length = pread(descriptor, piece.baseAddress, piece.count, off_t(offset))
      if length > 0 {
        try body(UnsafeRawBufferPointer(rebasing: piece[..<length]))
        offset += length
      } else if length == 0 || errno != EINTR {
        throw ReportError(.spool, path: folder, code: length == 0 ? EIO : errno)
      }
    }
  }
}

/// The folder of TMPDIR, by default /tmp.
package func temporaryFolder() -> String {
  let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
  return folder.isEmpty ? "/tmp" : folder
}
