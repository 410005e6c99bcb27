import Glibc
import ImageURLs
import ImagePrimitives

/// One list that is read from its start to its end: a manifest, or one of the files that its pattern matches.
struct ManifestFile {
  /// The index of the manifest whose settings it has.
  var manifest: Int
  /// What it is called in reports.
  var name: String
  /// Where its bytes are; nil for an inline list.
  var location: Location?
  /// What its relative entries are resolved against.
  var base: BaseURL?
  /// How many indexes lead to it; 0 for what a manifest names itself.
  var depth = 0
  /// Whether no other file of its manifest comes after it.
  var isLast = true
  /// What the user has named, of the files that lead to it: the manifest's URL, or that in an index which is a local file.
  var trusted: BaseURL?

  enum Location {
    case path(String)
    case standardInput
    case url(BaseURL)
  }

  /// Whether it is to be fetched from where the user has named something, and not from where only a server has.
  var isOfOwnOrigin: Bool {
    guard case .url(let url)? = location, let trusted else { return false }
    return url.parts.isSecure == trusted.parts.isSecure
      && url.bytes[url.parts.hostAndPort] == trusted.bytes[trusted.parts.hostAndPort]
  }

  /// The files of all manifests, in order.
  static func all(of manifests: [Manifest]) throws(ManifestError) -> [ManifestFile] {
    var files: [ManifestFile] = []
    for (index, manifest) in manifests.enumerated() {
      switch manifest.source {
      case .file(let path): files.append(ManifestFile(manifest: index, name: manifest.name, location: .path(path)))
      case .glob(let pattern):
        for path in try paths(matching: pattern, in: manifest) {
          files.append(ManifestFile(manifest: index, name: name(of: path, pattern: pattern, in: manifest), location: .path(path)))
        }
      case .standardInput:
        if files.contains(where: { if case .standardInput = $0.location { true } else { false } }) {
          throw ManifestError(manifest: manifest.name, message: "standard input is named twice, but can be read only once")
        }
        files.append(ManifestFile(manifest: index, name: manifest.name, location: .standardInput))
      case .inline: files.append(ManifestFile(manifest: index, name: manifest.name))
      case .url(let url):
        files.append(ManifestFile(manifest: index, name: manifest.name, location: .url(url), trusted: url))
      }
    }
    for index in files.indices {
      files[index].base = manifests[files[index].manifest].baseURL
      files[index].isLast = index + 1 == files.count || files[index + 1].manifest != files[index].manifest
    }
    return files
  }

  /// Folders are left out: a pattern means the files.
  private static func paths(matching pattern: String, in manifest: Manifest) throws(ManifestError) -> [String] {
    var matches = glob_t()
    defer { globfree(&matches) }
    // Sorted by us, since glob(3) sorts by the locale.
    switch glob(pattern, GLOB_NOSORT | GLOB_MARK | GLOB_ERR, nil, &matches) {
    case 0: break
    case GLOB_NOMATCH: throw ManifestError(manifest: manifest.name, message: "no file matches this pattern")
    case GLOB_ABORTED:
      throw ManifestError(
        manifest: manifest.name,
        message: "a folder that it names cannot be read: \(errorSentence())"
      )
    default: fatalError("glob: out of memory")
    }
    let paths = (0..<Int(matches.gl_pathc)).map { String(cString: matches.gl_pathv[$0]!) }.filter { !$0.hasSuffix("/") }
    guard !paths.isEmpty else {
      throw ManifestError(manifest: manifest.name, message: "only folders match this pattern, and no file")
    }
    return paths.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The path relative to what the pattern as written is relative to.
  private static func name(of path: String, pattern: String, in manifest: Manifest) -> String {
    guard pattern.hasSuffix(manifest.name) else { return path }
    let folder = pattern.dropLast(manifest.name.count)
    return path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
  }
}

/// A file without a name, which nobody else knows and which goes with its descriptor.
package final class UnnamedFile: Sendable {
  /// What it is written to and read from.
  package let descriptor: Int32

  /// Why the system made or wrote no file, in its own words.
  package struct Refusal: Error {
    package let reason = errorSentence()
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
    guard bytes.withUnsafeBytes({ writeAll($0, to: descriptor) }) else { throw Refusal() }
  }
}
