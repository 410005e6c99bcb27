import Base
import Glibc

/// An unnamed file for parts of a report whose place in it is known only after the run.
struct ReportSpool {
  private static let pieceBytes = 65_536

  private let file: UnnamedFile
  private let folder: String
  private(set) var count = 0

  /// - Parameter folder: the folder for the file, by default that of TMPDIR.
  init(folder: String = temporaryFolder()) throws(ReportError) {
    self.folder = folder
    do { file = try UnnamedFile(in: folder) } catch { throw ReportError(.spool, path: folder, code: error.code) }
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws(ReportError) {
    do { try file.append(bytes) } catch { throw ReportError(.spool, path: folder, code: error.code) }
    count += bytes.count
  }

  /// Calls `body` with all appended bytes, in pieces.
  func read(_ body: (UnsafeRawBufferPointer) throws(ReportError) -> Void) throws(ReportError) {
    let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceBytes, alignment: 8)
    defer { piece.deallocate() }
    var offset = 0
    while offset < count {
      let length = readAll(file.descriptor, at: UInt64(offset), into: piece)
      guard let length, length > 0 else { throw ReportError(.spool, path: folder, code: length == nil ? errno : EIO) }
      try body(UnsafeRawBufferPointer(rebasing: piece[..<length]))
      offset += length
    }
  }
}
