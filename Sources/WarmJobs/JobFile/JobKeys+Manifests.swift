internal import ImageDownloading
internal import ImagePrimitives
internal import ImageURLs
internal import Manifests

extension JobKeys {
  @JobKeyList static var job: [JobKey] {
    JobKey("version", .integer(1...1), \.formatVersion, example: "1", isRequired: true, "the version of this format")
    JobKey(
      "name",
      .text(.jobName),
      \.name,
      example: "homepage",
      isRequired: true,
      "what reports call the job: [a-z0-9][a-z0-9-]*"
    )
    JobKey("description", .text(.free), \.description, "a sentence for people")
  }

  @JobKeyList static var manifests: [JobKey] {
    JobKey(
      "manifests",
      exactlyOneOf: ["path", "url", "urls"],
      minimum: 1,
      \.manifests,
      Job.Manifest([]),
      "lists of URLs, read in this order"
    )
    JobKey(
      "manifests[].path",
      .given(.path),
      \.manifest.path,
      example: "urls/hero.txt",
      isInDigest: true,
      "a file, a glob, '-' for standard input; .gz is read as is"
    )
    JobKey(
      "manifests[].url",
      .given(.webURL),
      \.manifest.url,
      example: "https://www.example.com/sitemap.xml",
      isInDigest: true,
      "a sitemap, whose indexes are followed, or any other list; fetched as entries are"
    )
    JobKey("manifests[].urls", .entries, \.manifest.entries, isInDigest: true, "entries, inline")
    JobKey(
      "manifests[].format",
      .words(
        "a manifest format",
        [
          "auto": .auto, "text": .text, "csv": .csv, "tsv": .tsv, "jsonl": .jsonl, "sitemap": .sitemap, "combined": .combined,
        ]
      ),
      \.manifest.list.format,
      isInDigest: true,
      "how entries are written; combined: a web server's access log, URLs by falling count of requests"
    )
    JobKey(
      "manifests[].priority",
      .words(
        "a priority",
        ["very-high": .veryHigh, "high": .high, "normal": .normal, "low": .low, "very-low": .veryLow]
      ),
      \.manifest.list.priority,
      isInDigest: true,
      "the class of entries that carry none of their own"
    )
    JobKey("manifests[].base-url", .orNone(.webURL), \.manifest.list.baseURL, isInDigest: true, "resolves relative entries")
    JobKey("manifests[].columns", "csv, tsv, jsonl: which field is which")
    JobKey("manifests[].columns.url", .text(.free), \.manifest.list.columns.url, isInDigest: true, "the field of the URL")
    JobKey(
      "manifests[].columns.priority",
      .text(.free),
      \.manifest.list.columns.priority,
      isInDigest: true,
      "the field of the priority"
    )
    JobKey(
      "manifests[].include",
      .list(of: .pattern),
      \.manifest.list.include,
      isInDigest: true,
      "globs over the URL's path, or re:EXPRESSION over the URL; none: all"
    )
    JobKey(
      "manifests[].exclude",
      .list(of: .pattern),
      \.manifest.list.exclude,
      isInDigest: true,
      "what is left out, written like include"
    )
    JobKey(
      "manifests[].limit",
      .orNone(.integer(1...Int.max)),
      \.manifest.list.limit,
      isInDigest: true,
      "entries taken, after include and exclude, before order"
    )
    JobKey(
      "manifests[].newer-than",
      .orNone(.duration(minimum: .zero)),
      \.manifest.newerThan,
      isInDigest: true,
      "sitemaps: only entries with a later lastmod, such as 7d"
    )
    JobKey(
      "manifests[].sitemap-priority",
      .boolean,
      \.manifest.list.usesSitemapPriority,
      isInDigest: true,
      "sitemaps: <priority> chooses the class"
    )
  }

  @JobKeyList static var prefetch: [JobKey] {
    JobKey("prefetch", "in which order, and how many at once")
    JobKey(
      "prefetch.order",
      .words("an order", ["fifo": .fifo, "lifo": .lifo]),
      \.prefetch.order,
      "within a priority class; lifo reverses across manifests too"
    )
    JobKey("prefetch.concurrency", .integer(1...4096), \.prefetch.limits.concurrency, "transfers in flight")
    JobKey(
      "prefetch.per-host",
      .integer(1...4096),
      \.prefetch.limits.perHost,
      "transfers in flight to one host (name and port)"
    )
    JobKey("prefetch.rate", .orNone(.rate), \.prefetch.limits.rate, "requests begun over all hosts; evenly, no bursts")
    JobKey("prefetch.per-host-rate", .orNone(.rate), \.prefetch.limits.perHostRate, "the same at one host")
    JobKey("prefetch.adaptive", .boolean, \.prefetch.limits.isAdaptive, "find each host's concurrency, up to per-host")
    JobKey("prefetch.deadline", .orNone(.duration(minimum: .milliseconds(1))), \.prefetch.deadline, "for the whole job")
  }
}

extension Job {
  /// The only version of the format that there is.
  fileprivate var formatVersion: Int {
    get { 1 }
    set {}
  }

  /// The manifest that was begun last.
  fileprivate var manifest: Manifest {
    get { manifests[manifests.count - 1] }
    set { manifests[manifests.count - 1] = newValue }
  }
}

extension Job.Manifest {
  fileprivate var path: JobPath? {
    get {
      switch list.source {
      case .file, .glob, .standardInput: JobPath(list.name, in: "/")
      case .inline, .url: nil
      }
    }
    set { if let newValue { setSource(of: Self(newValue)) } }
  }

  fileprivate var url: BaseURL? {
    get { if case .url(let url) = list.source { url } else { nil } }
    set { if let newValue { setSource(of: Self(newValue)) } }
  }

  fileprivate var entries: [Manifests.Manifest.InlineEntry] {
    get { if case .inline(let entries) = list.source { entries } else { [] } }
    set { setSource(of: Self(newValue)) }
  }

  private mutating func setSource(of other: Self) { (list.source, list.name) = (other.list.source, other.list.name) }
}
