internal import ImageCaching
internal import ImageDownloading
internal import ImageManaging
internal import ImagePrimitives
internal import Manifests
internal import Reports
internal import YAMLDocuments

// What no single key can tell: keys that do not go together.
extension JobReader {
  func checkAll() {
    for index in job.manifests.indices { checkManifest(index) }
    checkRequest()
    checkCache()
    for (side, bounds) in [
      ("width", job.verify.rules.width), ("height", job.verify.rules.height), ("bytes", job.verify.rules.bytes),
    ] {
      if let maximum = bounds.maximum, maximum < bounds.minimum { refuse("verify.\(side).max", lessThan: "verify.\(side).min") }
    }
    if let resize = job.transform?.resize, resize.width == nil, resize.height == nil, let node = given["transform.resize.fit"] {
      errors.add("'fit' has no effect without a 'width' or a 'height'", at: node)
    }
    checkReports()
    checkStandardInput()
    checkMethod()
    checkDepth()
    checkTransform()
    checkRemoteCache()
  }

  private func refuse(_ upper: String, lessThan lower: String) {
    guard let node = given[upper] ?? given[lower] else { return }
    errors.add("'\(JobPathText.lastName(of: upper))' is less than '\(JobPathText.lastName(of: lower))'", at: node)
  }

  /// Refuses a key that has no effect, by what the key `choice` chose. What the command line chooses over the job file silences the file's
  /// keys.
  private func refuse(_ path: String, since reason: String, chosenBy choice: String) {
    guard let node = given[path] else { return }
    if let choice = given[choice], errors.isOption(choice), !errors.isOption(node) { return }
    errors.add("'\(JobPathText.lastName(of: path))' has no effect: \(reason)", at: node)
  }

  // MARK: Manifests and reports

  /// Keys of a manifest that only sitemaps have a use for.
  private func checkManifest(_ index: Int) {
    let (manifest, path) = (job.manifests[index], "manifests[\(index)]")
    let format = manifest.list.format
    let reason: String
    if given["\(path).urls"] != nil {
      reason = "entries written in the job are no sitemap"
    } else if format != .auto, format != .sitemap {
      reason = "format: \(format.rawValue) is no sitemap"
    } else {
      return
    }
    if manifest.newerThan != nil { refuse("\(path).newer-than", since: reason, chosenBy: "\(path).format") }
    if manifest.list.usesSitemapPriority { refuse("\(path).sitemap-priority", since: reason, chosenBy: "\(path).format") }
  }

  private func checkStandardInput() {
    let nodes = job.manifests.indices.filter { job.manifests[$0].isStandardInput }.compactMap { given["manifests[\($0)].path"] }
    for node in nodes.dropFirst() { errors.add("standard input is already the manifest of another entry", at: node) }
  }

  /// Refuses a file that is written twice.
  private func checkReports() {
    var writers: [String: String] = [:]
    for (index, report) in job.reports.enumerated() {
      let path = "report[\(index)].\(report.format.rawValue)"
      guard let node = given[path], node.mapping == nil || given["\(path).path"] != nil else { continue }
      let (target, name) =
        switch report.destination {
        case .standardOutput: ("-", "standard output")
        case .file(let path): (path.normalized, "'\(path.written)'")
        }
      if let other = writers.updateValue("the \(report.format.rawValue) report", forKey: target) {
        errors.add("\(name) is already the target of \(other)", at: node)
      }
    }
  }

  // MARK: Requests

  /// How often variants and edges may have an entry fetched.
  private static let maximumCombinations = 1000

  /// Keys of the request of which one rules out what another promises.
  private func checkRequest() {
    let request = job.request
    if request.download.connection.addresses == .publicOnly, request.download.connection.proxy != .none {
      let reason = "a proxy connects by itself, to whatever address"
      refuse("request.addresses", since: reason, chosenBy: "request.proxy")
    }
    if !request.edges.isEmpty, !request.download.connection.connectTo.isEmpty {
      refuse("request.connect-to", since: "entries are fetched from the edges", chosenBy: "request.edges")
    }
    let combinations = max(1, request.edges.count) * max(1, request.variants.count)
    if combinations > Self.maximumCombinations, let node = given["request.variants"] ?? given["request.edges"] {
      errors.add(
        "each entry would be fetched \(combinations) times; variants and edges may make \(Self.maximumCombinations)",
        at: node
      )
    }
    if request.download.handlesCookies, let node = given["request.headers"],
      request.download.headers.contains(where: { $0.name.lowercased() == "cookie" })
    {
      errors.add("a 'Cookie' field beside cookies: true would be sent as a second one (RFC 6265, section 5.4)", at: node)
    }
    if request.tls.clientCertificate == nil, request.tls.clientKey != nil, let node = given["request.tls.client-key"] {
      errors.add("'client-key' has no effect without a 'client-certificate'", at: node)
    }
    if request.download.allowsInvalidTLSCertificates, request.tls.caFile != nil, let node = given["request.tls.ca-file"] {
      errors.add("'ca-file' has no effect with verify: false", at: node)
    }
    if request.download.backoff.maximum < request.download.backoff.initial {
      refuse("request.backoff.maximum", lessThan: "request.backoff.initial")
    }
  }

  /// Keys that need whole images, which `head` and `probe` do not bring, or headers, which `head` does not.
  private func checkMethod() {
    let method = job.request.download.method
    guard method != .get else { return }
    let reason = "method: \(JobCodec.method.text(method)) fetches no whole images"
    if job.verify.rules.depth == .full { refuse("verify.decode", since: reason, chosenBy: "request.method") }
    if job.verify.rules.isStrict { refuse("verify.strict", since: reason, chosenBy: "request.method") }
    if method == .head { refuseHeaderRules(since: "method: head fetches no header of an image", chosenBy: "request.method") }
    if job.cache.memory != nil { refuse("cache.memory", since: reason, chosenBy: "request.method") }
    if job.transform != nil { refuse("transform", since: reason, chosenBy: "request.method") }
  }

  /// Keys that need the header of an image, which `decode: none` does not read, unless it is decoded all the same.
  private func checkDepth() {
    guard job.verify.rules.depth == .none, !job.verify.rules.isStrict, job.transform == nil, job.cache.memory == nil else {
      return
    }
    refuseHeaderRules(since: "decode: none reads no header", chosenBy: "verify.decode")
  }

  private func refuseHeaderRules(since reason: String, chosenBy choice: String) {
    let (rules, defaults) = (job.verify.rules, VerificationRules())
    for (side, bounds) in [("width", rules.width), ("height", rules.height)] where bounds.minimum > 1 || bounds.maximum != nil {
      refuse("verify.\(side)", since: reason, chosenBy: choice)
    }
    if rules.animated != .allow { refuse("verify.animated", since: reason, chosenBy: choice) }
    // The default, written down, promises nothing.
    if rules.maximumPixels != defaults.maximumPixels { refuse("verify.max-pixels", since: reason, chosenBy: choice) }
  }

  // MARK: The cache

  /// Keys of the cache that promise what another one rules out.
  private func checkCache() {
    let cache = job.cache
    switch cache.mode {
    case .bypass:
      let reason = "the cache is not read with mode: bypass"
      if cache.disk.freshness == .http { refuse("cache.freshness", since: reason, chosenBy: "cache.mode") }
      if cache.disk.minFresh > .zero { refuse("cache.min-fresh", since: reason, chosenBy: "cache.mode") }
      if cache.memory != nil { refuse("cache.memory", since: reason, chosenBy: "cache.mode") }
      if !cache.readOnly.isEmpty { refuse("cache.read-only", since: reason, chosenBy: "cache.mode") }
      if cache.verifiesHits { refuse("cache.verify-hits", since: reason, chosenBy: "cache.mode") }
    case .refresh:
      if cache.disk.minFresh > .zero {
        refuse("cache.min-fresh", since: "everything is asked for with mode: refresh", chosenBy: "cache.mode")
      }
    default: checkMinFresh()
    }
  }

  /// A server may give more time than `max-age`; by age alone nothing would ever be fresh for long enough.
  private func checkMinFresh() {
    let disk = job.cache.disk
    guard disk.freshness == .age, let node = given["cache.min-fresh"], let maxAge = disk.maxAge else { return }
    if disk.minFresh > .zero, disk.minFresh >= maxAge {
      errors.add("'min-fresh' is not less than 'max-age': nothing would ever be fresh for that long", at: node)
    }
  }

  /// What nothing is stored of need not be transformed.
  private func checkTransform() {
    guard job.transform != nil, job.cache.mode == .bypass else { return }
    refuse("transform", since: "nothing is stored with mode: bypass", chosenBy: "cache.mode")
  }

  /// What caches on the way say only of what is fetched.
  private func checkRemoteCache() {
    guard job.cache.mode == .only, job.remoteCache != .ignore else { return }
    refuse("verify.remote-cache", since: "nothing is fetched with mode: only", chosenBy: "cache.mode")
  }
}
