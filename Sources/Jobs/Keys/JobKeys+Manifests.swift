internal import ImageDownloading
internal import Base
internal import Lists

extension JobKeys {
  @JobKeyList static var job: [JobKey] {
    JobKey("version", .integer(1...1), \.formatVersion, example: "1", isRequired: true, "the version of the job file format")
    JobKey(
      "name",
      .text(.jobName),
      \.name,
      example: "homepage",
      isRequired: true,
      "the name in reports: lowercase letters, digits and hyphens"
    )
    JobKey("description", .text(.free), \.description, "a sentence shown in reports")
  }

  @JobKeyList static var manifests: [JobKey] {
    JobKey(
      "manifests",
      exactlyOneOf: ["path", "url", "urls", "page"],
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
      "a file, a glob or '-' (standard input); may be gzipped"
    )
    JobKey(
      "manifests[].url",
      .given(.webURL),
      \.manifest.url,
      example: "https://www.example.com/sitemap.xml",
      isInDigest: true,
      "a sitemap (indexes are followed), a feed or another list to download"
    )
    JobKey("manifests[].urls", .entries, \.manifest.entries, isInDigest: true, "URLs written in the job file")
    JobKey(
      "manifests[].page",
      .given(.webURL),
      \.manifest.page,
      example: "https://www.example.com/",
      isInDigest: true,
      "an HTML page, whose images are the entries; no scripts run"
    )
    JobKey(
      "manifests[].format",
      .words(
        "a list format",
        [
          "auto": .auto, "text": .text, "csv": .csv, "tsv": .tsv, "jsonl": .jsonl, "sitemap": .sitemap, "feed": .feed,
          "combined": .combined, "page": .page,
        ]
      ),
      \.manifest.list.format,
      isInDigest: true,
      "the format of the list; feed: RSS, Atom; combined: access log"
    )
    JobKey(
      "manifests[].priority",
      .words(
        "a priority",
        ["very-high": .veryHigh, "high": .high, "normal": .normal, "low": .low, "very-low": .veryLow]
      ),
      \.manifest.list.priority,
      isInDigest: true,
      "the priority of entries without their own"
    )
    JobKey(
      "manifests[].base-url",
      .orNone(.webURL),
      \.manifest.list.baseURL,
      isInDigest: true,
      "resolve relative URLs against this URL"
    )
    JobKey(
      "manifests[].template",
      .orNone(.template),
      \.manifest.template,
      isInDigest: true,
      "make other URLs from each entry, such as \"{url}?w={w}\""
    )
    JobKey(
      "manifests[].expand",
      .variables,
      \.manifest.expand,
      isInDigest: true,
      "the values of the template's own placeholders: {w: [320, 640]}"
    )
    JobKey(
      "manifests[].sign",
      .section(or: "none", example: "{service: imgproxy, key-env: NAME, salt-env: NAME}"),
      \.manifest.sign,
      isAdvanced: true,
      isInDigest: true,
      opens: { $0.manifest.sign = Job.Manifest.Signing() },
      "sign the URLs for an image service, after template"
    )
    JobKey(
      "manifests[].sign.service",
      .words("an image service", ["imgproxy": .imgproxy, "thumbor": .thumbor, "cloudinary": .cloudinary]),
      \.manifest.signingService,
      example: "imgproxy",
      isRequired: true,
      isAdvanced: true,
      isInDigest: true,
      "the service that checks the signatures"
    )
    JobKey(
      "manifests[].sign.key-env",
      .secretVariable,
      \.manifest.signingKey,
      example: "IMGPROXY_KEY",
      isRequired: true,
      isAdvanced: true,
      "the environment variable with the key, or Cloudinary's API secret"
    )
    JobKey(
      "manifests[].sign.salt-env",
      .given(.secretVariable),
      \.manifest.signingSalt,
      example: "IMGPROXY_SALT",
      isAdvanced: true,
      "imgproxy: the environment variable with the salt"
    )
    JobKey("manifests[].columns", "the fields of csv, tsv and jsonl")
    JobKey("manifests[].columns.url", .text(.free), \.manifest.list.columns.url, isInDigest: true, "the field with the URL")
    JobKey(
      "manifests[].columns.priority",
      .text(.free),
      \.manifest.list.columns.priority,
      isInDigest: true,
      "the field with the priority"
    )
    JobKey(
      "manifests[].columns.id",
      .text(.free),
      \.manifest.list.columns.id,
      isInDigest: true,
      "the field with an identifier for reports, such as that of a product"
    )
    JobKey(
      "manifests[].columns.sha256",
      .text(.free),
      \.manifest.list.columns.sha256,
      isAdvanced: true,
      isInDigest: true,
      "the field with the SHA-256 that the body must have"
    )
    JobKey(
      "manifests[].columns.width",
      .text(.free),
      \.manifest.list.columns.width,
      isAdvanced: true,
      isInDigest: true,
      "the field with the width that the image must have, in pixels"
    )
    JobKey(
      "manifests[].columns.height",
      .text(.free),
      \.manifest.list.columns.height,
      isAdvanced: true,
      isInDigest: true,
      "the field with the height that the image must have, in pixels"
    )
    JobKey(
      "manifests[].columns.bytes",
      .text(.free),
      \.manifest.list.columns.bytes,
      isAdvanced: true,
      isInDigest: true,
      "the field with the size that the body must have"
    )
    JobKey(
      "manifests[].pages",
      .given(.boolean),
      \.manifest.readsPages,
      example: "true",
      isInDigest: true,
      "sitemaps: whether to read the images of the pages that they list"
    )
    JobKey("manifests[].crawl", isAdvanced: true, "pages: which pages that they link to are read, too")
    JobKey(
      "manifests[].crawl.depth",
      .integer(0...5),
      \.manifest.list.crawl.depth,
      isAdvanced: true,
      isInDigest: true,
      "follow this many links from the page"
    )
    JobKey(
      "manifests[].crawl.pages",
      .or("auto", .integer(1...100_000)),
      \.manifest.list.crawl.pages,
      isAdvanced: true,
      isInDigest: true,
      "read at most this many pages; auto: 1000, and more are an error"
    )
    JobKey(
      "manifests[].crawl.same-site",
      .boolean,
      \.manifest.list.crawl.sameSite,
      isAdvanced: true,
      isInDigest: true,
      "only follow links to the page's scheme, host and port"
    )
    JobKey(
      "manifests[].crawl.include",
      .list(of: .pattern),
      \.manifest.list.crawl.include,
      isAdvanced: true,
      isInDigest: true,
      "only follow links that match a glob or re:EXPRESSION (empty: all)"
    )
    JobKey(
      "manifests[].crawl.exclude",
      .list(of: .pattern),
      \.manifest.list.crawl.exclude,
      isAdvanced: true,
      isInDigest: true,
      "don't follow links that match; written like include"
    )
    JobKey(
      "manifests[].lazy-attributes",
      .list(of: .text(.free)),
      \.manifest.list.lazyAttributes,
      isAdvanced: true,
      isInDigest: true,
      "pages: attributes of images and backgrounds that scripts load later"
    )
    JobKey(
      "manifests[].include",
      .list(of: .pattern),
      \.manifest.list.include,
      isInDigest: true,
      "keep URLs that match a glob or re:EXPRESSION, even pages (empty: all)"
    )
    JobKey(
      "manifests[].exclude",
      .list(of: .pattern),
      \.manifest.list.exclude,
      isInDigest: true,
      "skip URLs that match; written like include"
    )
    JobKey(
      "manifests[].limit",
      .orNone(.integer(1...Int.max)),
      \.manifest.list.limit,
      isInDigest: true,
      "keep at most this many entries, after include and exclude"
    )
    JobKey(
      "manifests[].newer-than",
      .orNone(.duration(minimum: .zero)),
      \.manifest.newerThan,
      isInDigest: true,
      "sitemaps: keep entries with a later lastmod, such as 7d"
    )
    JobKey(
      "manifests[].sitemap-priority",
      .boolean,
      \.manifest.list.usesSitemapPriority,
      isAdvanced: true,
      isInDigest: true,
      "sitemaps: use <priority> as the priority of entries"
    )
    JobKey(
      "manifests[].sitemap-lastmod",
      .boolean,
      \.manifest.list.usesLastModified,
      isAdvanced: true,
      isInDigest: true,
      "sitemaps: request images again that were cached before their lastmod"
    )
  }

  @JobKeyList static var prefetch: [JobKey] {
    JobKey("prefetch", "the order and the rate of requests")
    JobKey(
      "prefetch.order",
      .words("an order", ["fifo": .fifo, "lifo": .lifo]),
      \.prefetch.order,
      "the order within a priority; lifo reverses across lists, too"
    )
    JobKey("prefetch.concurrency", .integer(1...4096), \.prefetch.limits.concurrency, "limit concurrent transfers")
    JobKey(
      "prefetch.per-host",
      .integer(1...4096),
      \.prefetch.limits.perHost,
      "limit concurrent transfers per host (name and port)"
    )
    JobKey("prefetch.rate", .orNone(.rate), \.prefetch.limits.rate, "limit requests over all hosts, evenly spaced")
    JobKey("prefetch.per-host-rate", .orNone(.rate), \.prefetch.limits.perHostRate, "limit requests per host, evenly spaced")
    JobKey(
      "prefetch.adaptive",
      .boolean,
      \.prefetch.limits.isAdaptive,
      isAdvanced: true,
      "adapt the concurrency of each host, up to per-host"
    )
    JobKey(
      "prefetch.threads",
      .or("auto", .integer(1...DownloadLimits.maximumThreads)),
      \.prefetch.limits.threads,
      isAdvanced: true,
      "the threads that make transfers; auto: by the number of cores"
    )
    JobKey(
      "prefetch.deadline",
      .orNone(.duration(minimum: .milliseconds(1))),
      \.prefetch.deadline,
      "cancel unfinished entries after this time"
    )
  }
}

extension Job {
  /// The only version of the format.
  fileprivate var formatVersion: Int {
    get { 1 }
    set {}
  }

  /// The last manifest, whose keys are being read.
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
    get { if case .url(let url) = list.source, list.format != .page { url } else { nil } }
    set { if let newValue { setSource(of: Self(newValue)) } }
  }

  fileprivate var page: BaseURL? {
    get { if case .url(let url) = list.source, list.format == .page { url } else { nil } }
    set {
      guard let newValue else { return }
      setSource(of: Self(newValue))
      list.format = .page
    }
  }

  fileprivate var entries: [Lists.Manifest.InlineEntry] {
    get { if case .inline(let entries) = list.source { entries } else { [] } }
    set { setSource(of: Self(newValue)) }
  }

  fileprivate var readsPages: Bool? {
    get { list.sitemapPages == .undecided ? nil : list.readsPages }
    set { list.sitemapPages = newValue.map { $0 ? .read : .ignored } ?? .undecided }
  }

  fileprivate var signingService: URLSigner.Service {
    get { sign?.service ?? .imgproxy }
    set { sign?.service = newValue }
  }

  fileprivate var signingKey: String {
    get { sign?.key ?? "" }
    set { sign?.key = newValue }
  }

  fileprivate var signingSalt: String? {
    get { sign?.salt }
    set { sign?.salt = newValue }
  }

  private mutating func setSource(of other: Self) { (list.source, list.name) = (other.list.source, other.list.name) }
}
