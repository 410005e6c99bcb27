internal import YAMLDocuments

/// One key of the job file.
public struct JobKey: Sendable {
  /// The dotted path; `[]` stands for each item of a list, as in `manifests[].path`.
  public let path: String
  /// What it holds.
  public let type: JobValueType
  /// The value by default, as YAML; nil where there is none.
  public let defaultText: String?
  /// What to write in an example where there is no default.
  public let example: String?
  /// Whether a job must have it.
  public let isRequired: Bool
  /// Whether it works; one that does not is refused, except with exactly its default.
  public let works: Bool
  /// One sentence on what it means.
  public let summary: String

  init(
    _ path: String,
    _ type: JobValueType,
    default defaultText: String? = nil,
    example: String? = nil,
    isRequired: Bool = false,
    works: Bool = true,
    _ summary: String
  ) {
    self.path = path
    self.type = type
    self.defaultText = defaultText
    self.example = example
    self.isRequired = isRequired
    self.works = works
    self.summary = summary
  }

  /// The last part of the path: the key as it is written.
  public var name: String { path.lastIndex(of: ".").map { String(path[path.index(after: $0)...]) } ?? path }

  /// The path of the section that it stands in; empty for the job itself.
  var parent: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

  /// The default as a node; nil where there is none.
  var defaultNode: YAMLNode? { defaultText.map { JobKeys.node($0, of: path) } }
}

/// Every key of the job file, described once: validation, the list of keys in help and README, and schemas come from here.
public enum JobKeys {
  /// All keys in the order in which a job file is best written.
  public static let all: [JobKey] =
    job + manifests + prefetch + request + cache + verify + transform + blacklist + report + failOn

  /// The keys of each section, by the section's path; the job's own by the empty one.
  static let bySection = Dictionary(grouping: all, by: \.parent)

  /// The key at that path; nil where there is none.
  public static func key(at path: String) -> JobKey? { all.first { $0.path == path } }

  /// Whether the key works; a section does where one of its keys does.
  static func works(_ key: JobKey) -> Bool {
    guard case .section = key.type else { return key.works }
    return (bySection[key.path] ?? []).contains(where: works)
  }

  /// What the description of the key at `path` writes as YAML.
  static func node(_ text: String, of path: String) -> YAMLNode {
    do {
      return try YAMLDocument(parsing: Array(text.utf8), name: "the description of \(path)").root
    } catch {
      fatalError("\(error)")
    }
  }

  private static let job: [JobKey] = [
    JobKey("version", .integer(1...1), example: "1", isRequired: true, "the version of this format"),
    JobKey("name", .text(.jobName), example: "homepage", isRequired: true, "what reports call the job: [a-z0-9][a-z0-9-]*"),
    JobKey("description", .text(.free), default: #""""#, "a sentence for people"),
  ]

  private static let manifests: [JobKey] = [
    JobKey(
      "manifests",
      .entries(exactlyOneOf: ["path", "url", "urls"], minimum: 1),
      isRequired: true,
      "lists of URLs, read in this order"
    ),
    JobKey(
      "manifests[].path",
      .text(.path),
      example: "urls/hero.txt",
      "a file, a glob, '-' for standard input; .gz is read as is"
    ),
    JobKey(
      "manifests[].url",
      .text(.webURL),
      example: "https://www.example.com/sitemap.xml",
      "a sitemap, whose indexes are followed, or any other list; fetched as entries are"
    ),
    JobKey("manifests[].urls", .list(of: .text(.entry)), default: "[]", "entries, inline"),
    JobKey(
      "manifests[].format",
      .choice("a manifest format", Job.Manifest.Format.self),
      default: "auto",
      "how entries are written; combined: a web server's access log, URLs by falling count of requests"
    ),
    JobKey(
      "manifests[].priority",
      .choice(noun: "a priority", words: ["very-high", "high", "normal", "low", "very-low"], later: []),
      default: "normal",
      "the class of entries that carry none of their own"
    ),
    JobKey("manifests[].base-url", .orNone(.text(.webURL)), default: "none", "resolves relative entries"),
    JobKey("manifests[].columns", .section, "csv, tsv, jsonl: which field is which"),
    JobKey("manifests[].columns.url", .text(.free), default: "url", "the field of the URL"),
    JobKey("manifests[].columns.priority", .text(.free), default: "priority", "the field of the priority"),
    JobKey(
      "manifests[].include",
      .list(of: .text(.pattern)),
      default: "[]",
      "globs over the URL's path, or re:EXPRESSION over the URL; none: all"
    ),
    JobKey("manifests[].exclude", .list(of: .text(.pattern)), default: "[]", "what is left out, written like include"),
    JobKey(
      "manifests[].limit",
      .orNone(.integer(1...Int.max)),
      default: "none",
      "entries taken, after include and exclude, before order"
    ),
    JobKey(
      "manifests[].newer-than",
      .orNone(.duration(minimum: .zero)),
      default: "none",
      "sitemaps: only entries with a later lastmod, such as 7d"
    ),
    JobKey("manifests[].sitemap-priority", .boolean, default: "false", "sitemaps: <priority> chooses the class"),
  ]

  private static let prefetch: [JobKey] = [
    JobKey("prefetch", .section, "in which order, and how many at once"),
    JobKey(
      "prefetch.order",
      .choice("an order", Job.Prefetch.Order.self),
      default: "fifo",
      "within a priority class; lifo reverses across manifests too"
    ),
    JobKey("prefetch.concurrency", .integer(1...4096), default: "32", "transfers in flight"),
    JobKey("prefetch.per-host", .integer(1...4096), default: "8", "transfers in flight to one host (name and port)"),
    JobKey("prefetch.rate", .orNone(.rate), default: "none", "requests begun over all hosts; evenly, no bursts"),
    JobKey("prefetch.per-host-rate", .orNone(.rate), default: "none", "the same at one host"),
    JobKey("prefetch.adaptive", .boolean, default: "false", "find each host's concurrency, up to per-host"),
    JobKey("prefetch.deadline", .orNone(.duration(minimum: .milliseconds(1))), default: "none", "for the whole job"),
  ]
}
