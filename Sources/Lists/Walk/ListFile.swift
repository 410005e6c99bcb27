import Glibc
import Base

/// A file that is read from start to end: a list, or one of those that its pattern matches.
struct ListFile {
  /// The index of its list.
  var list: Int
  /// Its name in reports.
  var name: String
  /// The location of its bytes; nil for an inline list.
  var location: Location?
  /// The URL against which its relative entries are resolved.
  var base: BaseURL?
  var kind = Kind.listed
  /// The number of indexes or links that lead to it; 0 for a file that the list names itself.
  var depth = 0
  /// Stylesheets: the number of stylesheets that lead to it, including itself.
  var imports = 0
  /// The first page of those that led to it, or that its sitemaps list.
  var site: BaseURL?
  var isLast = true
  /// The URL that the user named among those that lead to it: the list's own, or the first one in a local index.
  var trusted: BaseURL?

  enum Kind {
    /// Named by the list.
    case listed
    /// Named by an index.
    case sitemap
    /// Named by a page; a stylesheet also by another one.
    case page, stylesheet, webManifest

    /// Whether pages that name it use its images.
    var isPart: Bool { self == .stylesheet || self == .webManifest }
  }

  enum Location {
    case path(String)
    case standardInput
    case url(BaseURL)
  }

  /// Whether it is a page that a sitemap lists.
  var isListedPage: Bool { kind == .page && depth == 0 }

  /// The URL that it is fetched from; nil if it isn't.
  var url: BaseURL? { if case .url(let url)? = location { url } else { nil } }

  /// Whether it is at the URL of a site's robots.txt (RFC 9309, section 2.3).
  var isRobots: Bool { kind == .listed && url?.path == "/robots.txt" }

  /// Whether it is fetched from an origin that the user named, not only a server.
  var isOfOwnOrigin: Bool {
    guard let url, let trusted else { return false }
    return url.hasSameOrigin(as: trusted)
  }

  /// A file at `url` that this one names.
  func child(_ kind: Kind, at url: BaseURL, depth: Int, trusted: BaseURL?) -> ListFile {
    let name = url.bytes.withUnsafeBytes { String(decoding: maskingCredentials($0), as: UTF8.self) }
    return ListFile(
      list: list,
      name: name,
      location: .url(url),
      base: url,
      kind: kind,
      depth: depth,
      trusted: self.trusted ?? trusted
    )
  }

  /// The files of all lists, in order.
  static func all(of lists: [URLList]) throws(ListError) -> [ListFile] {
    var files: [ListFile] = []
    for (index, list) in lists.enumerated() {
      switch list.source {
      case .file(let path) where LocalPages.isFolder(path): files += try LocalPages.files(in: path, of: list, index: index)
      case .file(let path): files.append(ListFile(list: index, name: list.name, location: .path(path)))
      case .glob(let pattern):
        for path in try paths(matching: pattern, in: list) {
          files.append(ListFile(list: index, name: name(of: path, pattern: pattern, in: list), location: .path(path)))
        }
      case .standardInput:
        if files.contains(where: { if case .standardInput = $0.location { true } else { false } }) {
          throw ListError(manifest: list.name, message: "standard input is used twice, but can be read only once")
        }
        files.append(ListFile(list: index, name: list.name, location: .standardInput))
      case .inline: files.append(ListFile(list: index, name: list.name))
      case .url(let url):
        files.append(ListFile(list: index, name: list.name, location: .url(url), trusted: url))
      }
    }
    for index in files.indices {
      files[index].base = files[index].base ?? lists[files[index].list].baseURL
      files[index].isLast = index + 1 == files.count || files[index + 1].list != files[index].list
    }
    return files
  }

  /// Folders are skipped: a pattern matches files.
  fileprivate static func paths(matching pattern: String, in list: URLList) throws(ListError) -> [String] {
    var matches = glob_t()
    defer { globfree(&matches) }
    // Sorted here, since glob(3) sorts by the locale.
    switch glob(pattern, GLOB_NOSORT | GLOB_MARK | GLOB_ERR, nil, &matches) {
    case 0: break
    case GLOB_NOMATCH: throw ListError(manifest: list.name, message: "no file matches this pattern")
    case GLOB_ABORTED:
      throw ListError(
        manifest: list.name,
        message: errno == ENOENT
          ? "no file matches this pattern, whose folder doesn't exist"
          : "cannot read the folder of this pattern: \(errorSentence())"
      )
    default: fatalError("glob: out of memory")
    }
    let paths = (0..<Int(matches.gl_pathc)).map { String(cString: matches.gl_pathv[$0]!) }.filter { !$0.hasSuffix("/") }
    guard !paths.isEmpty else {
      throw ListError(manifest: list.name, message: "only folders match this pattern; make it match files, as in lists/*.txt")
    }
    return paths.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// The path, relative if the pattern as written is.
  private static func name(of path: String, pattern: String, in list: URLList) -> String {
    guard pattern.hasSuffix(list.name) else { return path }
    let folder = pattern.dropLast(list.name.count)
    return path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
  }
}

extension URLList {
  /// The paths of the files with its entries; empty if they aren't in files, or the files can't be found.
  package var files: [String] {
    switch source {
    case .file(let path) where LocalPages.isFolder(path): (try? LocalPages.paths(in: path, of: self)) ?? []
    case .file(let path): [path]
    case .glob(let pattern): (try? ListFile.paths(matching: pattern, in: self)) ?? []
    case .standardInput, .inline, .url: []
    }
  }
}

extension BaseURL {
  var path: String { String(decoding: bytes[parts.path], as: UTF8.self) }

  /// Whether both have the same scheme, host and port.
  func hasSameOrigin(as other: BaseURL) -> Bool {
    parts.isSecure == other.parts.isSecure && bytes[parts.hostAndPort] == other.bytes[other.parts.hostAndPort]
  }
}

/// A list's file while it is being read.
final class OpenList {
  /// The maximum size of a sitemap or a feed, uncompressed: five times the limit of sitemaps.org.
  private static let maximumXMLBytes: UInt64 = 256 << 20

  /// The index of its file.
  let file: Int
  let rows: any RowReader
  let input: InputDescriptor?
  /// The files that it has named as an index and that aren't read yet.
  var children: [Int] = []
  /// Whether its pages are read, if it is a sitemap.
  private let readsPages: Bool
  /// Whether pages may name its images again.
  var listsPages: Bool { readsPages && rows.isSitemap }
  /// Whether it has no more rows.
  private(set) var hasEnded = false
  /// Whether its beginning could be read.
  private(set) var wasRead = true
  /// The reason why its rows ended early.
  private(set) var failure: ListError?
  private let buffer: InputBuffer?
  private let name: String
  /// Kept as long as the input, since it owns the descriptor.
  private let fetched: (any FetchedBytes)?

  /// The input is nil only for an inline list; `url` is that against which the URLs of a page are resolved.
  init(
    _ index: Int,
    _ file: ListFile,
    of list: URLList,
    input: InputDescriptor?,
    by opener: ListOpener,
    fetched: FetchedList? = nil,
    url: BaseURL?
  ) {
    self.file = index
    self.input = input
    name = file.name
    readsPages = list.readsPages && (file.kind == .listed || file.kind == .sitemap)
    self.fetched = fetched?.bytes
    // A log's paths aren't resolved against the log's own URL.
    let base = list.format == .combined && file.kind == .listed ? list.baseURL : url
    let isImage = list.isOfAnyKind && file.kind == .listed && fetched?.contentType?.lowercased().hasPrefix("image/") ?? false
    var reader: any RowReader
    if case .inline(let entries) = list.source, file.kind == .listed {
      (buffer, reader) = (nil, InlineReader(entries))
    } else if isImage, let url = file.url {
      (buffer, reader) = (nil, InlineReader(url))
    } else {
      guard let input else { preconditionFailure("a file must be opened before it is read") }
      let format = list.format(of: file, contentType: fetched?.contentType)
      let isXML = format == .sitemap || format == .feed || file.kind == .sitemap
      let buffer = InputBuffer(InputStream(input, maximumTextBytes: isXML ? Self.maximumXMLBytes : nil))
      self.buffer = buffer
      reader = DetectingReader(buffer, index, file, of: list, opener, fetched: fetched, url: url)
    }
    if list.template != nil || list.signer != nil {
      reader = TemplateRows(reader, template: list.template, signer: list.signer, base: base)
    }
    rows = reader
  }

  /// The approximate number of bytes of the file that have been used.
  var consumedBytes: UInt64 { buffer?.consumedBytes ?? 0 }

  /// Records that there are no more rows, and the reason if the text ended early.
  func end() {
    hasEnded = true
    do throws(InputError) {
      if let failure = buffer?.failure { throw failure }
      try rows.checkEnd()
    } catch {
      failure = error.error(in: name)
    }
  }

  /// Reads what precedes the first row; returns false if it would block.
  func readHeader() throws(ListError) -> Bool { try InputError.naming(name) { () throws(InputError) in try rows.readHeader() } }

  /// Records that there are no rows because of `error`.
  func fail(_ error: ListError) {
    hasEnded = true
    wasRead = false
    failure = failure ?? error
  }
}
