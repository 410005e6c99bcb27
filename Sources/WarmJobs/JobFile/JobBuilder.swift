internal import ImageDownloading
internal import ImagePrimitives
internal import Reports
internal import YAMLDocuments

extension Job {
  /// A job of values that were all checked; `cacheDirectory` is the folder where the cache's key is `default`.
  init(_ values: JobSection, file: String?, cacheDirectory: String) {
    name = values.text("name")
    description = values.text("description")
    self.file = file
    manifests = values.entries("manifests").map(Manifest.init)
    prefetch = Prefetch(values.section("prefetch"))
    request = Request(values.section("request"))
    cache = Cache(values.section("cache"), defaultDirectory: cacheDirectory)
    verify = Verify(values.section("verify"))
    transform = values.unlessWord("transform", values.section).map(Transform.init)
    blacklist = Blacklist(values.section("blacklist"))
    reports = values.entries("report").compactMap(ReportTarget.init)
    shardBy = values.choice("shard-by")
    failOn = FailOn(values.section("fail-on"))
  }
}

extension Job.Manifest {
  fileprivate init(_ values: JobSection) {
    if values.isGiven("url") {
      self.init(.url(values.webURL("url")))
    } else if values.isGiven("path") {
      let path = values.path("path")
      self.init(path.written == "-" ? .standardInput : .path(path))
    } else {
      let lines = values.list("urls").map(\.node.location.range.start.line)
      self.init(.inline(zip(values.texts("urls"), lines).map { Job.Manifest.InlineURL(url: $0, line: $1) }))
    }
    format = values.choice("format")
    priority = Priority(name: values.word("priority")) ?? .normal
    baseURL = values.unlessWord("base-url", values.webURL)
    let fields = values.section("columns")
    columns = Columns(url: fields.text("url"), priority: fields.text("priority"))
    include = values.patterns("include")
    exclude = values.patterns("exclude")
    limit = values.unlessWord("limit", values.integer)
    newerThan = values.unlessWord("newer-than", values.duration)
    usesSitemapPriority = values.boolean("sitemap-priority")
  }
}

extension Job.Prefetch {
  fileprivate init(_ values: JobSection) {
    order = values.choice("order")
    concurrency = values.integer("concurrency")
    perHost = values.integer("per-host")
    rate = values.unlessWord("rate", values.rate)
    perHostRate = values.unlessWord("per-host-rate", values.rate)
    isAdaptive = values.boolean("adaptive")
    deadline = values.unlessWord("deadline", values.duration)
  }
}

extension Job.Request {
  fileprivate init(_ values: JobSection) {
    method = values.choice("method")
    headers = values.headers("headers")
    accept = values.text("accept")
    // The default as it is written in the list of keys means the default where it is copied, too.
    let agent = values.text("user-agent")
    userAgent = agent == "prewarm/VERSION" ? "prewarm/\(PrewarmVersion.current)" : agent
    timeout = values.unlessWord("timeout", values.duration)
    connectTimeout = values.duration("connect-timeout")
    stallTimeout = values.unlessWord("stall-timeout", values.duration)
    retries = values.integer("retries")
    backoffInitial = values.section("backoff").duration("initial")
    backoffMaximum = values.section("backoff").duration("maximum")
    retryAfterMaximum = values.duration("retry-after-max")
    redirects = values.integer("redirects")
    acceptStatus = values.ranges("accept-status")
    maxBytes = values.unlessWord("max-bytes", values.integer)
    variants = values.mapping("variants").compactMap { name, value in
      if case .headers(let headers) = value { Variant(name: name, headers: headers) } else { nil }
    }
    httpVersion = values.choice("http")
    connectTo = values.list("connect-to").compactMap { if case .connectTarget(let target) = $0.value { target } else { nil } }
    edges = values.mapping("edges").compactMap { name, value in
      if case .hostAndPort(let host, let port) = value { Edge(name: name, host: host, port: port) } else { nil }
    }
    proxy =
      switch values.values["proxy"] {
      case .text(let url): .url(url)
      case .word("environment"): .environment
      default: .none
      }
    auth = values.unlessWord("auth", values.section).map {
      Credential(user: $0.text("username"), password: $0.text("password-env"))
    }
    keepsCookies = values.boolean("cookies")
    robots = values.choice("robots")
    tls = TLS(values.section("tls"))
    addresses = values.choice("addresses")
  }
}

extension Job.Request.TLS {
  fileprivate init(_ values: JobSection) {
    verifies = values.boolean("verify")
    caFile = values.unlessWord("ca-file", values.path)
    clientCertificate = values.unlessWord("client-certificate", values.path)
    clientKey = values.unlessWord("client-key", values.path)
  }
}

extension Job.Cache {
  fileprivate init(_ values: JobSection, defaultDirectory: String) {
    directory = values.unlessWord("directory", values.path)?.absolute ?? defaultDirectory
    namespace = values.text("namespace")
    mode = values.choice("mode")
    maxAge = values.unlessWord("max-age", values.duration)
    maxSize = values.unlessWord("max-size", values.integer)
    trimTo = values.fraction("trim-to")
    expireBy = values.choice("expire-by")
    freshness = values.choice("freshness")
    minFresh = values.duration("min-fresh")
    memory = values.unlessWord("memory", values.section).map(Memory.init)
    readOnly = values.paths("read-only")
    key = Key(values)
    verifiesHits = values.boolean("verify-hits")
  }
}

extension Job.Cache.Memory {
  fileprivate init(_ values: JobSection) {
    self.init(
      maxCost: values.unlessWord("max-cost", values.integer),
      maxCount: values.unlessWord("max-count", values.integer)
    )
  }
}

extension Job.Cache.Key {
  fileprivate init(_ values: JobSection) {
    if let section = values.unlessWord("key", values.section) {
      self = .droppingQuery(Set(section.texts("drop-query")))
    } else {
      self = values.word("key") == "url" ? .url : .urlWithoutQuery
    }
  }
}

extension Job.Verify {
  fileprivate init(_ values: JobSection) {
    let depth = values.word("decode")
    decode = ProofDepth.allCases.first { $0.name == depth } ?? .header
    isStrict = values.boolean("strict")
    contentType = values.choice("content-type")
    formats = values.unlessWord("formats") { name in
      Set(values.list(name).compactMap { if case .word(let word) = $0.value { ImageFormat(name: word) } else { nil } })
    }
    width = Bounds(values.section("width"))
    height = Bounds(values.section("height"))
    maxPixels = values.unlessWord("max-pixels", values.integer)
    bytes = Bounds(values.section("bytes"))
    animated = values.choice("animated")
    placeholders = values.choice("placeholders")
    remoteCache = values.choice("remote-cache")
  }
}

extension Job.Verify.Bounds {
  fileprivate init(_ values: JobSection) {
    self.init(minimum: values.integer("min"), maximum: values.unlessWord("max", values.integer))
  }
}

extension Job.Transform {
  fileprivate init(_ values: JobSection) {
    let size = values.section("resize")
    let (width, height) = (size.unlessWord("width", size.integer), size.unlessWord("height", size.integer))
    resize = width == nil && height == nil ? nil : Resize(width: width, height: height, fit: size.choice("fit"))
    format = values.choice("format")
    quality = values.integer("quality")
    keepsOriginal = values.boolean("keep-original")
  }
}

extension Job.Blacklist {
  fileprivate init(_ values: JobSection) {
    isEnabled = values.boolean("enabled")
    retry = values.boolean("retry")
    ttl = values.unlessWord("ttl", values.duration)
    statuses = values.ranges("statuses")
  }
}

extension Job.ReportTarget {
  fileprivate init?(_ values: JobSection) {
    guard let (format, path) = values.report else { return nil }
    let destination = path.written == "-" ? Destination.standardOutput : .file(path)
    guard case .section(let section) = values.values[format.rawValue] else {
      self.init(format: format, destination: destination)
      return
    }
    self.init(format: format, destination: destination, listsSuccesses: section.boolean("successes"))
  }
}

extension JobSection {
  /// The format of a report's entry, and its path; nil where it has none, which is a mistake that was told.
  var report: (format: ReportFormat, path: JobPath)? {
    for format in ReportFormat.allCases where isGiven(format.rawValue) {
      switch values[format.rawValue] {
      case .path(let path): return (format, path)
      case .section(let section): return section.values["path"] == nil ? nil : (format, section.path("path"))
      default: return nil
      }
    }
    return nil
  }
}

extension Job.FailOn.Threshold {
  fileprivate init(_ value: JobValue?) {
    self =
      switch value {
      case .integer(let count): .count(count)
      case .fraction(let fraction): .fraction(fraction)
      default: .never
      }
  }
}

extension Job.FailOn {
  fileprivate init(_ values: JobSection) {
    failures = Threshold(values.values["failures"])
    kinds = [:]
    for (name, value) in values.mapping("kinds") {
      if let kind = FailureKind(name: name) { kinds[kind] = Threshold(value) }
    }
    latency = [:]
    for (name, value) in values.mapping("latency") {
      if let percentile = Percentile(rawValue: name), case .duration(let limit) = value { latency[percentile] = limit }
    }
    baseline = values.unlessWord("baseline", values.path)
    empty = values.unlessWord("empty", values.boolean) ?? false
    unfinished = values.unlessWord("unfinished", values.boolean) ?? false
    evicted = values.unlessWord("evicted", values.boolean) ?? false
  }
}
