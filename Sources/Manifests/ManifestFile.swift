import Glibc
import ImagePrimitives
import ImageURLs

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
  fileprivate static func paths(matching pattern: String, in manifest: Manifest) throws(ManifestError) -> [String] {
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

extension Manifest {
  /// The paths of the files that have its entries; none where that are no files, or they cannot be found.
  package var files: [String] {
    switch source {
    case .file(let path): [path]
    case .glob(let pattern): (try? ManifestFile.paths(matching: pattern, in: self)) ?? []
    case .standardInput, .inline, .url: []
    }
  }
}

/// A manifest's file while it is read.
final class OpenManifest {
  /// A sitemap may have so many bytes, uncompressed: five times what sitemaps.org allows.
  private static let maximumSitemapBytes: UInt64 = 256 << 20

  /// The index of its file.
  let file: Int
  let rows: any RowReader
  let input: InputDescriptor?
  /// The files that it has named as an index and that were not read yet.
  var children: [Int] = []
  /// Whether no more rows come.
  private(set) var hasEnded = false
  /// Why its rows broke off.
  private(set) var failure: ManifestError?
  private let buffer: InputBuffer?
  private let name: String
  /// Kept as long as the input, whose descriptor it owns.
  private let fetched: (any FetchedBytes)?

  /// The input is nil for an inline list only.
  init(_ index: Int, _ file: ManifestFile, of manifest: Manifest, input: InputDescriptor?, context: Context) {
    self.file = index
    self.input = input
    name = file.name
    fetched = context.fetched?.bytes
    if case .inline(let entries) = manifest.source, file.depth == 0 {
      buffer = nil
      rows = InlineReader(entries)
      return
    }
    guard let input else { preconditionFailure("a file is read without being opened") }
    let format =
      context.fetched.map { manifest.format(of: file, contentType: $0.contentType) } ?? manifest.format(of: file)
    let isSitemap = format == .sitemap || file.depth > 0
    let buffer = InputBuffer(InputStream(input, maximumTextBytes: isSitemap ? Self.maximumSitemapBytes : nil))
    self.buffer = buffer
    let rules = SitemapRules(manifest)
    rows =
      switch format {
      case .auto:
        DetectingReader(buffer, rules: rules, manifest: file.name, isFetched: context.fetched != nil) {
          // Files of a pattern may be of different kinds: each log is counted by itself.
          var alone = file
          alone.isLast = true
          return AccessLogReader(buffer, alone, index: index, of: manifest, counter: context.ownCounter())
        }
      case .text: TextReader(buffer)
      case .csv: CSVReader(buffer, delimiter: UInt8(ascii: ","), columns: manifest.columns, manifest: file.name)
      case .tsv: CSVReader(buffer, delimiter: UInt8(ascii: "\t"), columns: manifest.columns, manifest: file.name)
      case .jsonl: JSONLinesReader(buffer, columns: manifest.columns)
      case .sitemap: SitemapReader(buffer, rules: rules, manifest: file.name)
      case .combined: AccessLogReader(buffer, file, index: index, of: manifest, counter: context.counter())
      }
  }

  /// What opening needs beside the file.
  struct Context {
    /// Counts the requests of all files of its manifest.
    var counter: () -> RequestCounter
    /// Counts the requests of one file.
    var ownCounter: () -> RequestCounter
    /// Where the input is of a file that was fetched.
    var fetched: FetchedManifest?
  }

  /// Whether the offsets of rows are places in the file, which can be read again.
  var isPlainFile: Bool { buffer?.isPlainFile ?? false }

  /// Bytes of the file that have been used up, about.
  var consumedBytes: UInt64 { buffer?.consumedBytes ?? 0 }

  /// Notes that no more rows come, and why, where the text broke off before its end.
  func end() {
    hasEnded = true
    do throws(ManifestError) {
      if let failure = buffer?.failure { throw failure.error(in: name) }
      try rows.checkEnd()
    } catch {
      failure = error
    }
  }

  /// Notes that no more rows come because of `error`.
  func fail(_ error: ManifestError) {
    hasEnded = true
    failure = failure ?? error
  }
}
