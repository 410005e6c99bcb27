package import Base
import Glibc

/// A list of URLs and its settings.
package struct URLList: Sendable {
  /// The origin of the list.
  package enum Source: Sendable, Hashable {
    /// The file at that path, compressed or not; anything that can be opened and read. A folder means the HTML files below it.
    case file(String)
    /// All files that match a glob(7) pattern, sorted by the bytes of their paths.
    case glob(String)
    /// Standard input, compressed or not.
    case standardInput
    /// Entries in the job file.
    case inline([InlineEntry])
    /// A file that is fetched first, compressed or not.
    case url(BaseURL)

    /// The source that a path in a job file means: `-` is standard input; a path with `*`, `?` or `[` is a pattern; any
    /// other path is a file.
    package init(path: String) {
      if path == "-" {
        self = .standardInput
      } else {
        self = path.utf8.contains(where: "*?[".utf8.contains) ? .glob(path) : .file(path)
      }
    }
  }

  /// A URL in the job file, as written, and its line, from 1.
  package struct InlineEntry: Sendable, Hashable {
    package var text: String
    package var line: UInt64

    package init(text: String, line: UInt64) {
      self.text = text
      self.line = line
    }
  }

  /// The format of rows.
  package enum Format: String, Sendable, CaseIterable {
    /// Detected: by the extension of the file or of the URL's path, ignoring `.gz`; then by the server's `Content-Type`; then by
    /// the first bytes, and XML by its root element. A file that isn't a list is refused.
    case auto
    /// One URL per line, without words after it; blank lines and lines that start with `#` are skipped.
    case text
    /// RFC 4180 with a header row, which also shows the delimiter: a comma, a semicolon, a tab or a bar.
    case csv
    /// Like ``csv``, with tabs.
    case tsv
    /// An object or a string per line (jsonlines.org), or a JSON document with an array of these.
    case jsonl
    /// XML of sitemaps.org; indexes are followed.
    ///
    /// Entries are images: each `image:loc` (Google's image extension), and the `loc` of a `url` if its path ends in an image
    /// extension. Any other `loc` is a page, which ``URLList/sitemapPages`` and ``include`` decide on.
    case sitemap
    /// RSS 2.0 or Atom, such as a product feed of Google Merchant Center.
    ///
    /// Entries are images, each once per item: `image_link`, `additional_image_link` and `lifestyle_image_link` of Google's
    /// namespace, `media:content` and `media:thumbnail`, an `enclosure` of an image type, and the feed's own `image`, `logo`
    /// and `icon`. Their identifier is `g:id`, else the item's `guid` or `id`.
    case feed
    /// An access log of a web server, a load balancer or a CDN: lines with a quoted request (`%h %l %u %t "%r" %>s %b …` and
    /// similar), the W3C extended format, Squid's own, or JSON.
    ///
    /// Entries are the targets of GET requests with status 200, 206 or 304, each once, most requested first, with the line of the
    /// first request. Only paths that end in an image extension count, unless ``include`` is given, which then decides. The files
    /// of a pattern are counted together. All entries are URLs of the site of ``baseURL``; without one, the log must contain only
    /// absolute URLs, as a forward proxy writes them, and ``include`` must select among them.
    case combined
    /// HTML, without running its scripts. Entries are the images of the page and of its stylesheets, each once; ``crawl`` decides
    /// on the pages that it links to.
    case page
  }

  /// What becomes of the pages of a sitemap: each `loc` without an image extension.
  package enum SitemapPages: Sendable {
    /// They are ignored; a sitemap that lists nothing else is an error, since nothing of it would be read.
    case undecided
    case ignored
    /// They are read by the rules of ``URLList/crawl``; their images follow those of the sitemap.
    case read
    /// Those of entries without images are read.
    case readWithoutImages

    var areRead: Bool { self == .read || self == .readWithoutImages }
  }

  /// The names of a row's fields; unused for text. In JSON, a name with dots is that of a field in nested objects.
  package struct Columns: Sendable, Hashable {
    /// The field with the URL, which every row must have. Default: `url`; if a file of CSV or TSV lacks it, `image_link` and
    /// the further images of Google Merchant Center.
    package var url: String
    /// The field with a priority, which may be absent or empty. Default: `priority`.
    package var priority: String
    /// The field with an identifier for reports, such as that of a product. Default: `id`.
    package var id = "id"
    /// The fields with what the image must be: the SHA-256 of its body in hexadecimal digits, its width and height in pixels, and
    /// the size of its body. Any may be absent or empty. Defaults: `sha256`, `width`, `height`, `bytes`.
    package var sha256 = "sha256", width = "width", height = "height", bytes = "bytes"

    package init(url: String = "url", priority: String = "priority") {
      self.url = url
      self.priority = priority
    }
  }

  package var source: Source
  /// The name in reports, as the user wrote it. A file of a pattern has its path as its name, relative if the pattern is.
  package var name: String
  package var format = Format.auto
  /// The priority of entries that don't name one. Default: normal.
  package var priority = LoadPriority.normal
  /// The URL against which relative entries are resolved. Default: nil, which means the URL that the list was fetched from,
  /// except for the paths of an access log.
  package var baseURL: BaseURL?
  /// Whether the response decides what the URL leads to: a page, a list, or an image, which is the only entry. Default: false, a
  /// list.
  package var isOfAnyKind = false
  /// Pages: which other pages are read. Default: none.
  package var crawl = Crawl()
  /// Pages: the attributes of images with URLs that a script loads later; see ``PageRules``.
  package var lazyAttributes = PageRules.usualLazyAttributes
  /// Sitemaps: what becomes of pages. Default: undecided.
  package var sitemapPages = SitemapPages.undecided
  package var columns = Columns()
  /// Only entries that match one of these are read; all if empty, which is the default.
  package var include: [URLPattern] = []
  /// Entries that match one of these are skipped, even if included. Default: none.
  package var exclude: [URLPattern] = []
  /// The maximum number of valid entries, after ``include`` and ``exclude``; reading stops there. Default: no limit.
  package var limit: Int?
  /// Makes other URLs from those of the list, which ``include``, ``exclude`` and ``limit`` then apply to. Default: nil.
  package var template: URLTemplate?
  /// Signs the URLs, after ``template``. Default: nil.
  package var signer: URLSigner?
  /// Sitemaps: skips entries, and sitemaps of an index, whose `lastmod` isn't later. A date without a time means its end, and
  /// entries without a readable one are kept. Default: nil, skip none.
  package var newerThan: Timestamp?
  /// Sitemaps: whether `<priority>` sets the priority: very-high from 0.9, high from 0.7, normal from 0.4, low from
  /// 0.2, else very-low; ``priority`` if it is missing. Default: false.
  package var usesSitemapPriority = false
  /// Sitemaps: whether an image that was cached before the `lastmod` of its entry is requested again. Default: false.
  package var usesLastModified = false

  package init(_ source: Source, name: String) {
    self.source = source
    self.name = name
  }
}

extension URLList {
  /// The format of a file of this list, from the settings and the file's name; ``Format/auto`` if its first bytes decide.
  ///
  /// If the settings don't say it, ``Format/sitemap`` may be a feed, too, by the root element.
  func format(of file: ListFile) -> Format {
    switch file.kind {
    case .listed: break
    // An index names sitemaps or text files (https://www.sitemaps.org/protocol.html#otherformats).
    case .sitemap: return .auto
    case .page, .stylesheet, .webManifest: return .page
    }
    guard format == .auto else { return format }
    if case .path(let path)? = file.location, LocalPages.isPage(path) { return .page }
    switch file.location {
    case .path(let path): return Self.format(ofPath: path)
    case .url(let url): return Self.format(ofPath: url.path)
    case .standardInput, nil: return .auto
    }
  }

  /// Whether its images may be those of several pages.
  var readsSeveralPages: Bool {
    switch source {
    case .glob where format == .page: return true
    case .file(let path) where LocalPages.isFolder(path): return true
    default: break
    }
    switch sitemapPages {
    case .undecided, .ignored: return crawl.depth > 0
    case .read: return true
    case .readWithoutImages: return crawl.depth > 0 || isSitemapByName
    }
  }

  /// Whether its pages are read if it is a sitemap.
  package var readsPages: Bool {
    get { sitemapPages.areRead }
    set { sitemapPages = newValue ? .read : .ignored }
  }

  /// Whether its name says that it is a sitemap.
  private var isSitemapByName: Bool {
    guard format == .auto else { return format == .sitemap }
    switch source {
    case .file(let path), .glob(let path): return Self.format(ofPath: path) == .sitemap
    case .url(let url): return Self.format(ofPath: url.path) == .sitemap || url.path == "/robots.txt"
    case .standardInput, .inline: return false
    }
  }

  /// The format of a fetched file of this list: by its name, else by its `Content-Type`.
  func format(of file: ListFile, contentType: String?) -> Format {
    let format = format(of: file)
    guard format == .auto, file.kind == .listed, let contentType else { return format }
    return switch Self.mediaType(contentType) {
    case "text/csv": .csv
    case "text/tab-separated-values": .tsv
    case "application/rss+xml", "application/atom+xml": .sitemap
    case "application/jsonl", "application/x-ndjson", "application/x-jsonlines", "application/ndjson": .jsonl
    default: .auto
    }
  }

  /// Whether a fetched file may be a page, and its type says that it is one.
  func isPage(_ file: ListFile, contentType: String?) -> Bool {
    guard isOfAnyKind, file.kind == .listed, let contentType else { return false }
    return Self.isHTML(Self.mediaType(contentType))
  }

  static func isHTML(_ mediaType: String) -> Bool { mediaType == "text/html" || mediaType == "application/xhtml+xml" }

  /// The media type without parameters, the first if there are several; empty if there is none.
  static func mediaType(_ contentType: String?) -> String {
    (contentType ?? "").prefix { $0 != ";" && $0 != "," }.lowercased().filter { !$0.isWhitespace }
  }

  /// Whether rows of a file may set their own priority; nil if its first bytes decide.
  func mayNamePriority(in file: ListFile) -> Bool? {
    switch format(of: file) {
    case .text, .combined, .page, .feed: return false
    case .jsonl: return true
    case .csv, .tsv: return nil
    case .sitemap: return usesSitemapPriority
    case .auto: return nil
    }
  }

  private static func format(ofPath path: String) -> Format {
    var name = path.lowercased()
    if name.hasSuffix(".gz") { name.removeLast(3) }
    if name.hasSuffix(".csv") { return .csv }
    if name.hasSuffix(".tsv") || name.hasSuffix(".tab") { return .tsv }
    if name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson") { return .jsonl }
    return name.hasSuffix(".xml") ? .sitemap : .auto
  }
}

/// The location of a list's entries, for messages that point at a line.
package enum ListLocation: Sendable, Hashable {
  /// In the file at that path.
  case file(String)
  /// In the job file.
  case inline
  /// Neither; standard input, or fetched.
  case elsewhere
}

/// The reason why a list can't be read, or not to its end.
package struct ListError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The list's name, as in reports.
  package let manifest: String
  /// The line, from 1, if the error is in one.
  package let line: UInt64?
  /// The problem and what to do, as a clause without the location.
  package let message: String

  package init(manifest: String, line: UInt64? = nil, message: String) {
    self.manifest = manifest
    self.line = line
    self.message = message
  }

  /// `manifest:line: message`, or `manifest: message` if there is no line.
  package var description: String { line.map { "\(manifest):\($0): \(message)" } ?? "\(manifest): \(message)" }
}

/// The reason why a list can't be read or a file be written, without the list's name, which the caller adds to make a ``ListError``.
struct InputError: Error {
  let message: String
  /// The line, from 1, if the error is in one.
  let line: UInt64?

  init(_ message: String, line: UInt64? = nil) { (self.message, self.line) = (message, line) }

  /// Creates an error from `errno` after a system call failed.
  init(systemCall: String) { self.init("\(systemCall) failed: \(errorSentence())") }

  func error(in list: String) -> ListError { ListError(manifest: list, line: line, message: message) }

  /// Calls `body`, and throws its error with the name of the list.
  @inline(__always)
  static func naming<R>(_ list: @autoclosure () -> String, _ body: () throws(InputError) -> R) throws(ListError) -> R {
    do throws(InputError) { return try body() } catch { throw error.error(in: list()) }
  }
}
