internal import Glibc
package import Base
package import Lists

extension Job {
  /// A list of URLs, with settings that are relative to the time of the run.
  package struct List: Sendable {
    /// The list and its settings; its time limit is set from ``newerThan``.
    package var list: URLList
    /// Sitemaps: the maximum age of `lastmod`; nil for no limit.
    package var newerThan: Duration?
    /// The text of a template that makes other URLs from each entry. Default: nil, which keeps the URLs.
    package var template: String?
    /// The variables of the template. The first changes last.
    package var expand: [URLTemplate.Variable] = []
    /// How URLs are signed, after the template. Default: nil, which signs none.
    package var sign: Signing?

    /// An image service and its secrets, which no description shows.
    package struct Signing: Sendable, CustomStringConvertible, CustomReflectable {
      package var service = URLSigner.Service.imgproxy
      package var key = ""
      package var salt: String?

      package var description: String { "\(service) ***" }
      package var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// Creates the list at a path or of a glob, or standard input for `-`, with the defaults of the job file.
    package init(_ path: JobPath) {
      let source = path.listSource
      list = URLList(source, name: source == .standardInput ? "stdin" : path.written)
    }

    package init(_ url: BaseURL) { list = URLList(.url(url), name: url.shown) }

    package init(_ entries: [URLList.InlineEntry]) { list = URLList(.inline(entries), name: "urls") }

    /// Creates the list that a command line names: a path or a glob, relative to the current folder, or `-` for standard input.
    package init(named name: String) { self.init(JobPath(name, in: currentFolder())) }

    /// Whether its entries come from standard input, which can be read only once.
    package var isStandardInput: Bool { list.source == .standardInput }

    /// Whether its entries can be read only once: standard input, or a pipe.
    var isStream: Bool {
      guard case .file(let path) = list.source else { return isStandardInput }
      var status = stat()
      return stat(path, &status) == 0 && ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Whether it may be a page, or a sitemap whose pages are read.
    var mayHavePages: Bool {
      if case .inline = list.source { return false }
      return [.auto, .page, .sitemap].contains(list.format)
    }

    /// Returns the same list with all other properties of `settings`.
    func read(by settings: List) -> List {
      var read = settings
      (read.list.source, read.list.name, read.list.isOfAnyKind) = (list.source, list.name, list.isOfAnyKind)
      if settings.list.format == .auto { read.list.format = list.format }
      // Links lead from the pages of a sitemap.
      if settings.list.crawl.depth > 0, settings.list.sitemapPages == .undecided { read.list.sitemapPages = .read }
      return read
    }

    /// Returns the list for a run that starts at `now`.
    ///
    /// - Parameter inlineName: the name in reports of URLs that aren't in a list of their own.
    func readable(now: Timestamp, inlineName: String) -> URLList {
      var list = list
      if case .inline = list.source { list.name = inlineName }
      list.newerThan = newerThan.map { now.advanced(by: .zero - $0) }
      do {
        list.template = try urlTemplate()
        list.signer = try urlSigner()
      } catch {
        fatalError("a job that was checked has a template or a signing key that isn't valid: \(error)")
      }
      return list
    }

    func urlTemplate() throws(InvalidTemplate) -> URLTemplate? {
      guard let template else { return nil }
      return try URLTemplate(template, variables: expand)
    }

    func urlSigner() throws(InvalidSigningKey) -> URLSigner? {
      guard let sign else { return nil }
      return try URLSigner(sign.service, key: sign.key, salt: sign.salt)
    }
  }
}

extension Job {
  /// Reads the pages of sitemaps, those of entries that name no image, unless the list says otherwise.
  package mutating func readUndecidedPages() {
    for index in manifests.indices where manifests[index].list.sitemapPages == .undecided {
      manifests[index].list.sitemapPages = .readWithoutImages
    }
  }
}

extension JobPath {
  /// A file, a pattern or standard input; special characters in the folder's name are escaped in a pattern.
  fileprivate var listSource: URLList.Source {
    switch URLList.Source(path: written) {
    case .file: return .file(absolute)
    case .glob:
      let escaped = folder.reduce(into: "") { text, character in
        if "*?[\\".contains(character) { text += "\\" }
        text.append(character)
      }
      return .glob(JobPath(written, in: escaped).absolute)
    case let source: return source
    }
  }
}
