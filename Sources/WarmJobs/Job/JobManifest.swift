public import ImagePrimitives
public import ImageURLs
public import Manifests

extension Job {
  /// One list of URLs and how to read it.
  public struct Manifest: Sendable {
    /// Where its entries come from.
    public var source: Source
    /// How they are written; ``Format/auto`` by default.
    public var format: Format
    /// The class of entries that carry none of their own.
    public var priority: Priority
    /// What relative entries are resolved against; nil where an entry must be absolute.
    public var baseURL: BaseURL?
    /// Which fields hold what, in the formats that have fields.
    public var columns: Columns
    /// Entries that match none of these are filtered out; empty: none are.
    public var include: [URLPattern]
    /// Entries that match any of these are filtered out.
    public var exclude: [URLPattern]
    /// Entries taken at most, after ``include`` and ``exclude`` and before order; nil: all.
    public var limit: Int?
    /// Sitemaps: only entries whose `lastmod` is later than that long ago; nil: all.
    public var newerThan: Duration?
    /// Sitemaps: whether `<priority>` chooses the class; false by default.
    public var usesSitemapPriority: Bool

    /// Where the entries come from.
    public enum Source: Sendable {
      /// A file, or the files that a glob matches.
      case path(JobPath)
      case standardInput
      /// Entries written in the job file itself.
      case inline([InlineURL])
      /// A sitemap or any other list that is fetched first.
      case url(BaseURL)
    }

    /// An entry of the job file and the line on which it stands, counted from 1.
    public struct InlineURL: Sendable, Hashable {
      /// The entry as written.
      public var url: String
      /// From 1.
      public var line: Int

      /// An entry that stands on `line`.
      public init(url: String, line: Int) {
        self.url = url
        self.line = line
      }
    }

    /// How entries are written.
    public enum Format: String, Sendable, CaseIterable {
      /// By the file's extension and first bytes.
      case auto
      /// One URL a line.
      case text
      case csv, tsv
      /// One JSON value a line.
      case jsonl
      /// XML by sitemaps.org; indexes are followed.
      case sitemap
      /// A web server's access log in the combined format: URLs by falling count of requests.
      case combined
    }

    /// Which fields of CSV, TSV and JSON Lines hold what.
    public struct Columns: Sendable, Hashable {
      /// The field of the URL; `url` by default.
      public var url: String
      /// The field of the priority; `priority` by default.
      public var priority: String

      /// The fields of those names.
      public init(url: String = "url", priority: String = "priority") {
        self.url = url
        self.priority = priority
      }
    }

    /// A manifest with the defaults of the job file.
    public init(_ source: Source) {
      self.source = source
      format = .auto
      priority = .normal
      columns = Columns()
      include = []
      exclude = []
      usesSitemapPriority = false
    }

    /// The manifest that a command line names: a path or a glob, from the current folder on, or `-` for standard input.
    public init(named name: String) {
      self.init(name == "-" ? .standardInput : .path(JobPath(name, in: currentFolder())))
    }

    /// Whether its entries come from standard input, which can be read once.
    public var isStandardInput: Bool { if case .standardInput = source { true } else { false } }
  }
}
