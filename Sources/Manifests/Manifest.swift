public import ImagePrimitives
public import ImageURLs

/// One list of URLs and how it is to be read.
public struct Manifest: Sendable {
  /// Where the list comes from.
  public enum Source: Sendable, Hashable {
    /// A file of that path, compressed or not; anything that can be opened and read.
    case file(String)
    /// All files that a pattern of glob(7) matches, in the order of their paths' bytes.
    case glob(String)
    /// The standard input, compressed or not.
    case standardInput
    /// Entries that stand in the job file.
    case inline([InlineEntry])
    /// A file that is fetched first, compressed or not.
    case url(BaseURL)

    /// What a path in a job file means: `-` is standard input, one with `*`, `?` or `[` is a pattern, any other is a file.
    public init(path: String) {
      if path == "-" {
        self = .standardInput
      } else {
        self = path.utf8.contains(where: "*?[".utf8.contains) ? .glob(path) : .file(path)
      }
    }
  }

  /// A URL that stands in the job file.
  public struct InlineEntry: Sendable, Hashable {
    /// The URL as written.
    public var text: String
    /// The line of the job file that it stands on, from 1.
    public var line: UInt64

    /// An entry and its line.
    public init(text: String, line: UInt64) {
      self.text = text
      self.line = line
    }
  }

  /// How rows are written.
  public enum Format: String, Sendable, CaseIterable {
    /// By the extension of the file or of the URL's path, `.gz` not counted; where it says nothing, by what the server calls it,
    /// and by its beginning: the XML of a sitemap, or a line of an access log; else text. Such a log is counted by itself, and not with
    /// other files of its pattern.
    case auto
    /// A URL a line; blank lines and lines that begin with `#` are left out.
    case text
    /// RFC 4180 with a header row.
    case csv
    /// As ``csv``, with tabs.
    case tsv
    /// An object or a string a line (jsonlines.org).
    case jsonl
    /// XML of sitemaps.org, whose indexes are followed.
    ///
    /// Entries are images: each `image:loc` (Google's image extension), and the `loc` of a `url` where its path ends as images'
    /// do, such as `.jpg`. Any other `loc` is a page and no entry, unless ``include`` is given, which then decides. The line
    /// of an entry is that of its element.
    case sitemap
    /// A web server's access log in the combined or the common format (`%h %l %u %t "%r" %>s %b …`).
    ///
    /// Entries are what was asked for by GET and answered with 200, 206 or 304, once each, by falling count of requests, those of
    /// one count in the order in which they first came; an entry's line is that of its first request. Only paths that end as
    /// images' do count, unless ``include`` is given, which then decides. The files of a pattern are counted together, as one log.
    ///
    /// With a ``baseURL`` all of them are URLs of its scheme, host and port, whatever visitors wrote; without one there may be
    /// only whole URLs in the log, as a forward proxy writes them, and ``include`` must choose among them.
    case combined
  }

  /// Which field of a row is which, by name; text has none.
  public struct Columns: Sendable, Hashable {
    /// The field with the URL, which every row must have. Default: `url`.
    public var url: String
    /// The field with the name of a priority, which may be absent or empty. Default: `priority`.
    public var priority: String

    /// The names of the two fields.
    public init(url: String = "url", priority: String = "priority") {
      self.url = url
      self.priority = priority
    }
  }

  /// Where the list comes from.
  public var source: Source
  /// The name in reports, as the user wrote it; files of a pattern are named each by its own path, relative as the pattern was.
  public var name: String
  /// How rows are written. Default: ``Format/auto``.
  public var format = Format.auto
  /// The class of entries that name none. Default: normal.
  public var priority = Priority.normal
  /// What relative entries are resolved against; with none, which is the default, against the URL that a manifest was fetched
  /// from, and elsewhere they are invalid. The paths of an access log are never resolved against the log's own URL.
  public var baseURL: BaseURL?
  /// Which field is which in CSV, TSV and JSON Lines.
  public var columns = Columns()
  /// Only entries that one of these matches are taken; all, if there are none, which is the default.
  public var include: [URLPattern] = []
  /// Entries that one of these matches are left out, even if included. Default: none.
  public var exclude: [URLPattern] = []
  /// How many good entries are taken, after ``include`` and ``exclude`` and before order; all, by default. Nothing is read
  /// beyond.
  public var limit: Int?
  /// Sitemaps: only entries are taken whose `lastmod` is later; all, by default. One without `lastmod`, or with one that cannot
  /// be read, is taken; a date without a time counts until its end. A sitemap's `lastmod` in an index counts likewise.
  public var newerThan: Timestamp?
  /// Sitemaps: whether `<priority>` chooses the class: very-high from 0.9 on, high from 0.7, normal from 0.4, low from 0.2, else
  /// very-low; ``priority`` where there is none. Default: false.
  public var usesSitemapPriority = false

  /// A manifest with every other setting at its default.
  public init(_ source: Source, name: String) {
    self.source = source
    self.name = name
  }
}

extension Manifest {
  /// The format of a file of this manifest as far as the job and the file's name tell; ``Format/auto`` where its beginning does.
  func format(of file: ManifestFile) -> Format {
    // What an index names is a sitemap, or a text (https://www.sitemaps.org/protocol.html#otherformats).
    if file.depth > 0 { return .auto }
    guard format == .auto else { return format }
    let path =
      switch file.location {
      case .path(let path): path
      case .url(let url): String(decoding: url.bytes[url.parts.path], as: UTF8.self)
      case .standardInput, nil: ""
      }
    return Self.format(ofPath: path.lowercased())
  }

  /// The format of a fetched file of this manifest, by what the server calls it where its name says nothing.
  func format(of file: ManifestFile, contentType: String?) -> Format {
    let format = format(of: file)
    guard format == .auto, file.depth == 0, let contentType else { return format }
    let type = contentType.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
    return switch type {
    case "text/csv": .csv
    case "text/tab-separated-values": .tsv
    case "application/jsonl", "application/x-ndjson", "application/x-jsonlines", "application/ndjson": .jsonl
    default: .auto
    }
  }

  /// Whether rows of a file may name a priority of their own; nil if its beginning tells.
  func mayNamePriority(in file: ManifestFile) -> Bool? {
    switch format(of: file) {
    case .text, .combined: return false
    case .jsonl: return true
    case .csv, .tsv: return nil
    case .sitemap: return usesSitemapPriority
    case .auto:
      // What has no name, or comes with a type, may turn out to be anything.
      if case .url? = file.location { return nil }
      return usesSitemapPriority ? nil : false
    }
  }

  private static func format(ofPath path: String) -> Format {
    let name = path.hasSuffix(".gz") ? String(path.dropLast(3)) : path
    if name.hasSuffix(".csv") { return .csv }
    if name.hasSuffix(".tsv") || name.hasSuffix(".tab") { return .tsv }
    if name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson") { return .jsonl }
    return name.hasSuffix(".xml") ? .sitemap : .auto
  }
}

/// Where the entries of a manifest stand, for who points at their lines.
public enum ManifestLocation: Sendable, Hashable {
  /// In the file at that path.
  case file(String)
  /// In the job file.
  case inline
  /// In none that stays: standard input, or what was fetched.
  case elsewhere
}
