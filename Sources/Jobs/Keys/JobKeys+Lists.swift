internal import ImageDownloading
internal import Base
internal import Lists

extension JobKeys {
  @JobKeyList static var job: [JobKey] {
    JobKey("version", "the version of the job file format")
      .value(.integer(1...1), \.formatVersion, .required, example: "1")
    JobKey("name", "the name in reports: lowercase letters, digits and hyphens")
      .value(.text(.jobName), \.name, .required, example: "homepage")
    JobKey("description", "a sentence shown in reports")
      .value(.text(.free), \.description)
  }

  @JobKeyList static var manifests: [JobKey] {
    JobKey("manifests", "lists of URLs, read in this order")
      .entries(exactlyOneOf: ["path", "url", "urls", "page"], minimum: 1, \.manifests, Job.List([]))
    JobKey("manifests[].path", "a file, a glob or '-' (standard input); may be gzipped")
      .value(.given(.path), \.manifest.path, .inDigest, example: "urls/hero.txt")
    JobKey("manifests[].url", "a sitemap (indexes are followed), a feed or another list to download")
      .value(.given(.webURL), \.manifest.url, .inDigest, example: "https://www.example.com/sitemap.xml")
    JobKey("manifests[].urls", "URLs written in the job file")
      .value(.entries, \.manifest.entries, .inDigest)
    JobKey("manifests[].page", "an HTML page, whose images are the entries; no scripts run")
      .value(.given(.webURL), \.manifest.page, .inDigest, example: "https://www.example.com/")
    JobKey("manifests[].format", "the format of the list; feed: RSS, Atom; combined: access log")
      .value(.choice("a list format"), \.manifest.list.format, .inDigest)
    JobKey("manifests[].priority", "the priority of entries without their own")
      .value(.choice("a priority", LoadPriority.allCases, \.name), \.manifest.list.priority, .inDigest)
    JobKey("manifests[].base-url", "resolve relative URLs against this URL")
      .value(.orNone(.webURL), \.manifest.list.baseURL, .inDigest)
    JobKey("manifests[].template", "make other URLs from each entry, such as \"{url}?w={w}\"")
      .value(.orNone(.template), \.manifest.template, .inDigest)
    JobKey("manifests[].expand", "the values of the template's own placeholders: {w: [320, 640]}")
      .value(.variables, \.manifest.expand, .inDigest)
    JobKey("manifests[].sign", "sign the URLs for an image service, after template")
      .value(
        .section(or: "none", example: "{service: imgproxy, key-env: NAME, salt-env: NAME}"),
        \.manifest.sign,
        [.advanced, .inDigest]
      ) {
        $0.manifest.sign = Job.List.Signing()
      }
    JobKey("manifests[].sign.service", "the service that checks the signatures")
      .value(.choice("an image service"), \.manifest.signingService, [.required, .advanced, .inDigest], example: "imgproxy")
    JobKey("manifests[].sign.key-env", "the environment variable with the key, or Cloudinary's API secret")
      .value(.secretVariable, \.manifest.sign!.key, [.required, .advanced], example: "IMGPROXY_KEY")
    JobKey("manifests[].sign.salt-env", "imgproxy: the environment variable with the salt")
      .value(.given(.secretVariable), \.manifest.sign!.salt, .advanced, example: "IMGPROXY_SALT")
    JobKey("manifests[].columns", "the fields of csv, tsv and jsonl")
    JobKey("manifests[].columns.url", "the field with the URL")
      .value(.text(.free), \.manifest.list.columns.url, .inDigest)
    JobKey("manifests[].columns.priority", "the field with the priority")
      .value(.text(.free), \.manifest.list.columns.priority, .inDigest)
    JobKey("manifests[].columns.id", "the field with an identifier for reports, such as that of a product")
      .value(.text(.free), \.manifest.list.columns.id, .inDigest)
    JobKey("manifests[].columns.sha256", "the field with the SHA-256 that the body must have")
      .value(.text(.free), \.manifest.list.columns.sha256, [.advanced, .inDigest])
    JobKey("manifests[].columns.width", "the field with the width that the image must have, in pixels")
      .value(.text(.free), \.manifest.list.columns.width, [.advanced, .inDigest])
    JobKey("manifests[].columns.height", "the field with the height that the image must have, in pixels")
      .value(.text(.free), \.manifest.list.columns.height, [.advanced, .inDigest])
    JobKey("manifests[].columns.bytes", "the field with the size that the body must have")
      .value(.text(.free), \.manifest.list.columns.bytes, [.advanced, .inDigest])
  }

  @JobKeyList static var listFilters: [JobKey] {
    JobKey("manifests[].pages", "sitemaps: whether to read the images of the pages that they list")
      .value(.given(.boolean), \.manifest.readsPages, .inDigest, example: "true")
    JobKey("manifests[].crawl", "pages: which pages that they link to are read, too", .advanced)
    JobKey("manifests[].crawl.depth", "follow this many links from the page")
      .value(.integer(0...5), \.manifest.list.crawl.depth, [.advanced, .inDigest])
    JobKey("manifests[].crawl.pages", "read at most this many pages; auto: 1000, and more are an error")
      .value(.or("auto", .integer(1...100_000)), \.manifest.list.crawl.pages, [.advanced, .inDigest])
    JobKey("manifests[].crawl.same-site", "only follow links to the page's scheme, host and port")
      .value(.boolean, \.manifest.list.crawl.sameSite, [.advanced, .inDigest])
    JobKey("manifests[].crawl.include", "only follow links that match a glob or re:EXPRESSION (empty: all)")
      .value(.list(of: .pattern), \.manifest.list.crawl.include, [.advanced, .inDigest])
    JobKey("manifests[].crawl.exclude", "don't follow links that match; written like include")
      .value(.list(of: .pattern), \.manifest.list.crawl.exclude, [.advanced, .inDigest])
    JobKey("manifests[].lazy-attributes", "pages: attributes of images and backgrounds that scripts load later")
      .value(.list(of: .text(.free)), \.manifest.list.lazyAttributes, [.advanced, .inDigest])
    JobKey("manifests[].include", "keep URLs that match a glob or re:EXPRESSION, even pages (empty: all)")
      .value(.list(of: .pattern), \.manifest.list.include, .inDigest)
    JobKey("manifests[].exclude", "skip URLs that match; written like include")
      .value(.list(of: .pattern), \.manifest.list.exclude, .inDigest)
    JobKey("manifests[].limit", "keep at most this many entries, after include and exclude")
      .value(.orNone(.integer(1...Int.max)), \.manifest.list.limit, .inDigest)
    JobKey("manifests[].newer-than", "sitemaps: keep entries with a later lastmod, such as 7d")
      .value(.orNone(.duration(minimum: .zero)), \.manifest.newerThan, .inDigest)
    JobKey("manifests[].sitemap-priority", "sitemaps: use <priority> as the priority of entries")
      .value(.boolean, \.manifest.list.usesSitemapPriority, [.advanced, .inDigest])
    JobKey("manifests[].sitemap-lastmod", "sitemaps: request images again that were cached before their lastmod")
      .value(.boolean, \.manifest.list.usesLastModified, [.advanced, .inDigest])
  }

  @JobKeyList static var prefetch: [JobKey] {
    JobKey("prefetch", "the order and the rate of requests")
    JobKey("prefetch.order", "the order within a priority; lifo reverses across lists, too")
      .value(.words("an order", ["fifo": .fifo, "lifo": .lifo]), \.prefetch.order)
    JobKey("prefetch.concurrency", "limit concurrent transfers")
      .value(.integer(1...4096), \.prefetch.limits.concurrency)
    JobKey("prefetch.per-host", "limit concurrent transfers per host (name and port)")
      .value(.integer(1...4096), \.prefetch.limits.perHost)
    JobKey("prefetch.rate", "limit requests over all hosts, evenly spaced")
      .value(.orNone(.rate), \.prefetch.limits.rate)
    JobKey("prefetch.per-host-rate", "limit requests per host, evenly spaced")
      .value(.orNone(.rate), \.prefetch.limits.perHostRate)
    JobKey("prefetch.adaptive", "use fewer transfers on hosts that get slow or fail")
      .value(.boolean, \.prefetch.limits.isAdaptive, .advanced)
    JobKey("prefetch.threads", "the threads that make transfers; auto: by the number of cores")
      .value(.or("auto", .integer(1...DownloadLimits.maximumThreads)), \.prefetch.limits.threads, .advanced)
    JobKey("prefetch.deadline", "cancel unfinished entries after this time")
      .value(.orNone(.duration(minimum: .milliseconds(1))), \.prefetch.deadline)
  }
}

extension Job {
  fileprivate var formatVersion: Int {
    get { 1 }
    set {}
  }

  /// The last list, whose keys are being read.
  fileprivate var manifest: List {
    get { manifests[manifests.count - 1] }
    set { manifests[manifests.count - 1] = newValue }
  }
}

extension Job.List {
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

  fileprivate var entries: [URLList.InlineEntry] {
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

  private mutating func setSource(of other: Self) { (list.source, list.name) = (other.list.source, other.list.name) }
}
