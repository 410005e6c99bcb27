import Glibc

/// The file of a report: opened before the run, so that a bad path is known at once, and put in its place when it is whole.
///
/// A regular file is written under a temporary name in the same folder and renamed by ``commit()``, so that readers see the old
/// report or the new one, never half of one; a link is followed. What is no regular file (`-`, a pipe, a device) is written as is.
public final class ReportFile {
  /// The path as the job names it; `-` is standard output.
  public let path: String
  private let descriptor: OutputDescriptor
  /// The name it has until it is committed, and the name it gets; nil where it is written as is.
  private var renaming: (from: String, to: String)?

  /// Opens the report at `path`, makes the folders above it, and touches nothing that is there already.
  public init(path: String) throws(ReportError) {
    self.path = path
    if path == "-" {
      descriptor = OutputDescriptor()
      return
    }
    do {
      try makeParentFolders(of: path)
    } catch {
      throw ReportError(.makeFolder, path: path, code: error.code)
    }
    do {
      if isSpecialFile(path) {
        descriptor = try OutputDescriptor(opening: path, flags: 0)
      } else {
        let target = resolvedPath(path)
        let temporary = temporaryName(beside: target)
        descriptor = try OutputDescriptor(opening: temporary, flags: O_CREAT | O_EXCL)
        renaming = (temporary, target)
      }
    } catch {
      throw ReportError(.open, path: path, code: error.code)
    }
  }

  deinit {
    if let renaming { unlink(renaming.from) }
  }

  /// Writes bytes at the end.
  public func write(_ bytes: UnsafeRawBufferPointer) throws(ReportError) {
    do {
      try descriptor.write(bytes)
    } catch {
      throw ReportError(.write, path: path, code: error.code)
    }
  }

  /// Gives the written file its name; without it nothing is left behind.
  public func commit() throws(ReportError) {
    guard let renaming else { return }
    guard rename(renaming.from, renaming.to) == 0 else { throw ReportError(.commit, path: path, code: errno) }
    self.renaming = nil
  }
}

/// Whether something other than a regular file is at `path`; a folder counts, so that opening it tells the mistake.
private func isSpecialFile(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
}

/// Where a link leads, so that renaming replaces the file and not the link; `path` itself where nothing is there yet.
private func resolvedPath(_ path: String) -> String {
  guard let resolved = realpath(path, nil) else { return path }
  defer { free(resolved) }
  return String(cString: resolved)
}

/// A name that no other run of ours takes; short, since the report's own name may be as long as names can be.
private func temporaryName(beside path: String) -> String {
  let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? ""
  let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
  return "\(folder).prewarm-report-\(suffix)"
}
