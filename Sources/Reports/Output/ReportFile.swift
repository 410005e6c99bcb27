import Glibc

/// The file of a report: opened before the run, so that a bad path is known at once, and put in its place when it is whole.
///
/// A regular file has no name in its folder until ``commit()`` gives it one, so that readers see the old report or the new one,
/// never half of one, and a killed run leaves nothing; where the file system knows no such files it has a temporary name until
/// then. A link is followed. What is no regular file (`-`, a pipe, a device) is written as is.
public final class ReportFile {
  /// The path as the job names it; `-` is standard output.
  public let path: String
  private let descriptor: OutputDescriptor
  /// The name it gets when it is committed; nil where it is written as is, and when it has it.
  private var target: String?
  /// The name it has until then; nil where it has none.
  private var temporaryName: String?

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
        if let unnamed = OutputDescriptor(unnamedIn: folder(of: target)) {
          descriptor = unnamed
        } else {
          let temporary = makeTemporaryName(beside: target)
          descriptor = try OutputDescriptor(opening: temporary, flags: O_CREAT | O_EXCL)
          temporaryName = temporary
        }
        self.target = target
      }
    } catch {
      throw ReportError(.open, path: path, code: error.code)
    }
  }

  deinit {
    if let temporaryName { unlink(temporaryName) }
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
    guard let target else { return }
    do {
      if let temporaryName {
        try renameFile(temporaryName, to: target)
        self.temporaryName = nil
      } else {
        try nameUnnamed(target)
      }
    } catch {
      throw ReportError(.commit, path: path, code: error.code)
    }
    self.target = nil
  }

  /// A link replaces nothing that is there; then the file gets a name beside it first, which is there for a moment only.
  private func nameUnnamed(_ target: String) throws(SystemError) {
    do {
      return try descriptor.link(to: target)
    } catch {
      guard error.code == EEXIST else { throw error }
    }
    let temporary = makeTemporaryName(beside: target)
    try descriptor.link(to: temporary)
    do {
      try renameFile(temporary, to: target)
    } catch {
      unlink(temporary)
      throw error
    }
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

private func renameFile(_ path: String, to target: String) throws(SystemError) {
  guard rename(path, target) == 0 else { throw SystemError(code: errno) }
}

/// The folder of `path`, with a slash at its end.
private func folder(of path: String) -> String {
  path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "./"
}

/// A name that no other run of ours takes; short, since the report's own name may be as long as names can be.
private func makeTemporaryName(beside path: String) -> String {
  "\(folder(of: path)).prewarm-report-\(String(UInt64.random(in: .min ... .max), radix: 36))"
}
