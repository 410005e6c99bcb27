import Glibc

/// The file to which a path leads: paths with equal identities lead to the same file, even if it doesn't exist yet.
///
/// Symbolic links are followed, dangling ones too. Hard links of a file have its identity.
package struct FileIdentity: Hashable {
  private var device: UInt64
  private var inode: UInt64
  /// The components below it that don't exist yet.
  private var missing: [Substring] = []

  private init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }

  /// The identity of the existing or future file at `path`.
  package init(_ path: String) { self = Self.chain(path)[0] }

  /// The identity of an open file; nil if it isn't a regular one.
  package init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    self.init(status)
  }

  /// Whether a path leads to `folder` or into it, also by another hard link.
  package static func isInside(_ path: String, _ folder: String) -> Bool {
    if chain(path).contains(FileIdentity(folder)) { return true }
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 else { return false }
    return hasLink(to: FileIdentity(status), in: folder)
  }

  /// The identity of a path, then those of its folders.
  private static func chain(_ path: String) -> [FileIdentity] {
    var path = resolvedPath(path)
    var missing: [Substring] = []
    var status = stat()
    while stat(path, &status) != 0 {
      guard let name = path.split(separator: "/").last else { break }
      let isRelative = !path.hasPrefix("/")
      path = String(path[..<name.startIndex])
      if path.isEmpty, isRelative { path = "." }
      if name == ".." {
        missing.insert(name, at: 0)
      } else if name != "." {
        missing.insert(name, at: 0)
        guard missing.dropFirst().first == ".." else { continue }
        // The folder will be created, so `..` leads to its parent, which may contain the rest.
        let rest = missing.dropFirst(2).joined(separator: "/")
        path = resolvedPath(path == "." && !rest.isEmpty ? rest : path + rest)
        missing = []
      }
    }
    var found = FileIdentity(status)
    var chain = stride(from: missing.count, through: 0, by: -1).map { count in
      found.missing = Array(missing.prefix(count))
      return found
    }
    var folder = resolvedPath(path)
    while folder != "/", let slash = folder.lastIndex(of: "/") {
      folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
      if stat(folder, &status) == 0 { chain.append(FileIdentity(status)) }
    }
    return chain
  }

  private static func hasLink(to file: FileIdentity, in folder: String) -> Bool {
    guard let entries = opendir(folder) else { return false }
    defer { closedir(entries) }
    while let entry = readdir(entries) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name == "." || name == ".." { continue }
      if entry.pointee.d_type == UInt8(DT_DIR) {
        if hasLink(to: file, in: "\(folder)/\(name)") { return true }
      } else if UInt64(entry.pointee.d_ino) == file.inode, FileIdentity("\(folder)/\(name)") == file {
        return true
      }
    }
    return false
  }
}

/// Returns the target of a link, even of a dangling one, so that renaming replaces the file and not the link; otherwise `path`.
func resolvedPath(_ path: String) -> String {
  var path = path
  // As many links as Linux follows (path_resolution(7)).
  for _ in 0..<40 {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(cString: resolved)
    }
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let length = bytes.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
    guard length > 0 else { return path }
    let target = String(decoding: bytes[..<length], as: UTF8.self)
    path = target.hasPrefix("/") ? target : folder(of: path) + target
  }
  return path
}

/// The folder of `path`, with a slash at its end.
func folder(of path: String) -> String { path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "./" }
