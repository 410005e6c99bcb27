internal import ImageCaching
internal import ImageDownloading
internal import ImageManaging
internal import Base
internal import Lists
internal import Reports

// Checks over several keys: those that exclude each other.
extension JobReader {
  func checkAll() {
    for index in job.manifests.indices {
      checkList(index)
      checkTemplate(index)
      checkSigning(index)
      checkLazyAttributes(index)
    }
    checkRequest()
    checkCache()
    for (side, bounds) in [
      ("width", job.verify.rules.width), ("height", job.verify.rules.height), ("bytes", job.verify.rules.bytes),
    ] {
      if let maximum = bounds.maximum, maximum < bounds.minimum { reject("verify.\(side).max", lessThan: "verify.\(side).min") }
    }
    if let resize = job.transform?.resize, resize.width == nil, resize.height == nil, let node = given["transform.resize.fit"] {
      errors.add("'fit' has no effect without 'width' or 'height'", at: node)
    }
    checkLint()
    checkReports()
    checkNotifications()
    checkStandardInput()
    checkMethod()
    if readsNoHeaders {
      // Unless images are decoded for another reason.
      reject(headerRules, since: "decode: none doesn't read image headers", chosenBy: "verify.decode")
    }
  }

  private func reject(_ upper: String, lessThan lower: String) {
    guard let node = given[upper] ?? given[lower] else { return }
    errors.add("'\(upper.keyName)' is less than '\(lower.keyName)'", at: node)
  }

  /// Keys that a reason may leave without an effect, and whether they are set to more than their default, which is harmless.
  private typealias SetKeys = KeyValuePairs<String, Bool>

  /// Rejects keys that have no effect because of the value of the key `choice`.
  ///
  /// If an option sets `choice`, keys of the job file aren't rejected.
  private func reject(_ keys: SetKeys, in section: String = "", since reason: String, chosenBy choice: String) {
    for case (let key, true) in keys {
      guard let node = given[section + key] else { continue }
      if let choice = given[choice], errors.isOption(choice), !errors.isOption(node) { continue }
      errors.add("'\(key.keyName)' has no effect: \(reason)", at: node)
    }
  }

  // MARK: Manifests and reports

  /// Rejects keys that only have an effect on sitemaps or on pages.
  private func checkList(_ index: Int) {
    let (list, path) = (job.manifests[index], "manifests[\(index)].")
    let format = list.list.format
    if given["\(path)page"] != nil, format != .page {
      reject(["format": true], in: path, since: "'page' names an HTML page", chosenBy: "\(path)page")
    } else if format != .page, !list.list.readsPages, !isOfCommandLine {
      let (crawl, usual) = (list.list.crawl, URLList.Crawl())
      let keys: SetKeys = [
        "depth": crawl.depth != usual.depth, "pages": crawl.pages != usual.pages, "same-site": crawl.sameSite != usual.sameSite,
        "include": !crawl.include.isEmpty, "exclude": !crawl.exclude.isEmpty,
      ]
      reject(keys, in: "\(path)crawl.", since: "the list isn't a page", chosenBy: "\(path)format")
    }
    let isInline = given["\(path)urls"] != nil
    guard isInline || format != .auto && format != .sitemap else { return }
    let reason = isInline ? "entries in the job file aren't a sitemap" : "format: \(format.rawValue) isn't a sitemap"
    let keys: SetKeys = [
      "pages": list.list.readsPages, "newer-than": list.newerThan != nil, "sitemap-lastmod": list.list.usesLastModified,
      "sitemap-priority": list.list.usesSitemapPriority,
    ]
    reject(keys, in: path, since: reason, chosenBy: "\(path)format")
  }

  private func checkStandardInput() {
    let nodes = job.manifests.indices.filter { job.manifests[$0].isStandardInput }.compactMap { given["manifests[\($0)].path"] }
    for node in nodes.dropFirst() { errors.add("standard input can be read only once; another entry reads it", at: node) }
  }

  /// Rejects URLs as targets, and two reports with the same target.
  private func checkReports() {
    if let node = given["cache.directory"], let path = node.scalar?.text, let sentence = JobPath.remoteTarget(path) {
      errors.add("'directory' is a URL: \(sentence)", at: node)
    }
    var writers: [String: String] = [:]
    for (index, report) in job.reports.enumerated() {
      let path = "report[\(index)].\(report.format.rawValue)"
      guard let node = given[path], node.mapping == nil || given["\(path).path"] != nil else { continue }
      if case .file(let path) = report.destination, let sentence = JobPath.remoteTarget(path.written) {
        errors.add("'\(path.written)' is a URL: \(sentence)", at: node)
      }
      let (target, name) =
        switch report.destination {
        case .standardOutput: ("-", "standard output")
        case .file(let path): (path.normalized, "'\(path.written)'")
        }
      if let other = writers.updateValue("the \(report.format.rawValue) report", forKey: target) {
        errors.add("\(name) is already the target of \(other); use another file", at: node)
      }
    }
  }

  /// Rejects limits of rules that are switched off, or that can't judge cached images.
  private func checkLint() {
    let limits = job.appliedLimits.lint.filter { $0.value != .never }
    for rule in LintRule.allCases where limits[rule] != nil {
      if job.lint[rule] == .off, let node = given["fail-on.lint"] {
        errors.add("the limit of '\(rule.name)' has no effect: lint.\(rule.name) is off", at: node)
      }
      guard let node = given["lint.\(rule.name)"] ?? given["fail-on.lint"] ?? given["lint.all"] else { continue }
      guard let reason = reasonNotToJudge(by: rule) else { continue }
      return errors.add("'\(rule.name)' judges \(reason)", at: node)
    }
  }

  /// Why entries would pass a rule without being judged, as the end of a sentence; nil if they don't.
  private func reasonNotToJudge(by rule: LintRule) -> String? {
    let requestsAll = job.cache.mode == .refresh || job.cache.mode == .bypass
    if rule.judgesResponses, !requestsAll {
      return "responses, and cached images have none; set cache.mode: refresh, or use prewarm check"
    }
    guard rule.judgesImages else { return nil }
    if job.request.download.method == .head { return "images, and request.method: head fetches none; use get or probe" }
    if readsNoHeaders { return "images, and verify.decode: none doesn't read their headers; use header" }
    if job.transform != nil, !requestsAll {
      return "images as servers send them, and the cache has transformed ones; set cache.mode: refresh"
    }
    return nil
  }

  // MARK: Requests

  /// How often variants and edges may request an entry.
  private static let maximumCombinations = 1000

  /// Rejects keys of the request that exclude each other.
  private func checkRequest() {
    let request = job.request
    if request.download.connection.addresses == .publicOnly, request.download.connection.proxy != .none {
      reject(["request.addresses": true], since: "the proxy chooses the address to connect to", chosenBy: "request.proxy")
    }
    if !request.edges.isEmpty, !request.download.connection.connectTo.isEmpty {
      reject(["request.connect-to": true], since: "edges set the servers", chosenBy: "request.edges")
    }
    let combinations = max(1, request.edges.count) * max(1, request.variants.count)
    if combinations > Self.maximumCombinations, let node = given["request.variants"] ?? given["request.edges"] {
      errors.add(
        "variants and edges request each entry \(combinations) times; the maximum is \(Self.maximumCombinations)",
        at: node
      )
    }
    let headers =
      [("request.headers", request.download.headers)] + job.hosts.enumerated().map { ("hosts[\($0)].headers", $1.headers) }
    for (key, headers) in headers where request.download.handlesCookies {
      guard let node = given[key], headers.contains(where: { $0.name.lowercased() == "cookie" }) else { continue }
      errors.add("a 'Cookie' header conflicts with cookies: true, which sends its own; remove one of them", at: node)
    }
    let ways = job.wayCount * (1 + job.hosts.count(where: \.changesRequests))
    if ways > UInt16.max, let node = given["hosts"] {
      errors.add("variants, edges and hosts make \(ways) kinds of requests; the maximum is \(UInt16.max)", at: node)
    }
    if request.tls.clientCertificate == nil, request.tls.clientKey != nil, let node = given["request.tls.client-key"] {
      errors.add("'client-key' has no effect without 'client-certificate'", at: node)
    }
    if request.download.allowsInvalidTLSCertificates, request.tls.caFile != nil, let node = given["request.tls.ca-file"] {
      errors.add("'ca-file' has no effect with verify: false", at: node)
    }
    if request.download.backoff.maximum < request.download.backoff.initial {
      reject("request.backoff.maximum", lessThan: "request.backoff.initial")
    }
  }

  /// Rejects keys that require whole images with `head` and `probe`, and keys that require image headers with `head`.
  private func checkMethod() {
    let (method, rules) = (job.request.download.method, job.verify.rules)
    guard method != .get else { return }
    let keys: SetKeys = [
      "verify.decode": rules.depth == .full, "verify.strict": rules.isStrict, "cache.memory": job.cache.memory != nil,
      "transform": job.transform != nil,
    ]
    let reason = "method: \(JobCodec.method.text(method)) doesn't fetch whole images"
    reject(keys, since: reason, chosenBy: "request.method")
    if method == .head { reject(headerRules, since: "method: head doesn't fetch image headers", chosenBy: "request.method") }
  }

  private var readsNoHeaders: Bool {
    job.verify.rules.depth == .none && !job.verify.rules.isStrict && job.transform == nil && job.cache.memory == nil
  }

  private var headerRules: SetKeys {
    let rules = job.verify.rules
    return [
      "verify.width": rules.width.minimum > 1 || rules.width.maximum != nil,
      "verify.height": rules.height.minimum > 1 || rules.height.maximum != nil,
      "verify.animated": rules.animated != .allow,
      "verify.max-pixels": rules.maximumPixels != VerificationRules().maximumPixels,
    ]
  }

  // MARK: The cache

  /// Rejects keys of the cache that exclude each other, a transform of images that aren't stored, and the CDN's cache status without
  /// requests.
  private func checkCache() {
    let cache = job.cache
    switch cache.mode {
    case .bypass:
      let keys: SetKeys = [
        "freshness": cache.disk.freshness == .http, "min-fresh": cache.disk.minFresh > .zero, "memory": cache.memory != nil,
        "read-only": !cache.readOnly.isEmpty, "verify-hits": cache.verifiesHits,
      ]
      reject(keys, in: "cache.", since: "mode: bypass doesn't read the cache", chosenBy: "cache.mode")
      reject(["transform": job.transform != nil], since: "mode: bypass stores nothing", chosenBy: "cache.mode")
      return
    case .refresh:
      let isSet = cache.disk.minFresh > .zero
      return reject(["cache.min-fresh": isSet], since: "mode: refresh requests everything", chosenBy: "cache.mode")
    case .only:
      let isSet = job.remoteCache != .ignore
      reject(["verify.remote-cache": isSet], since: "mode: only requests nothing", chosenBy: "cache.mode")
    default: break
    }
    // By age, a `min-fresh` beyond `max-age` would make every entry stale; servers may grant more time.
    guard cache.disk.freshness == .age, let node = given["cache.min-fresh"], let maxAge = cache.disk.maxAge else { return }
    if cache.disk.minFresh > .zero, cache.disk.minFresh >= maxAge {
      errors.add("'min-fresh' must be less than 'max-age', or no entry is ever fresh", at: node)
    }
  }
}

// Checks of templates, signatures and the attributes of pages.
extension JobReader {
  // MARK: Templates

  /// Rejects a template that can't be parsed, and variables that it doesn't use.
  func checkTemplate(_ index: Int) {
    let (list, path) = (job.manifests[index], "manifests[\(index)]")
    let variables = given["\(path).expand"]
    guard let node = given["\(path).template"], list.template != nil else {
      guard let variables, let name = list.expand.first?.name, !isInvalid("template", index) else { return }
      return errors.add("'expand' has no effect without 'template'; add template: \"{url}?\(name)={\(name)}\"", at: variables)
    }
    // Invalid variables and values were reported, and would seem to be missing.
    let written = (variables?.mapping?.pairs ?? []).map { $0.value.sequence?.count }
    if isInvalid("expand", index) || written != list.expand.map({ $0.values.count }) { return }
    do throws(InvalidTemplate) {
      guard let template = try list.urlTemplate(), template.hasSignature, list.sign == nil, !isInvalid("sign", index)
      else { return }
      let advice = "add sign: {service: imgproxy, key-env: IMGPROXY_KEY, salt-env: IMGPROXY_SALT}"
      errors.add("'{signature}' has no effect without 'sign'; \(advice)", at: node, narrowedTo: "{signature}")
    } catch {
      report(error, template: node, variables: variables, of: list)
    }
  }

  /// Whether a key of a list was reported as invalid.
  private func isInvalid(_ name: String, _ index: Int) -> Bool {
    guard given["manifests[\(index)].\(name)"] == nil, let items = given["manifests"]?.sequence else { return false }
    return items.indices.contains(index) && items[index].mapping?[name] != nil
  }

  private func report(_ error: InvalidTemplate, template: YAMLNode, variables: YAMLNode?, of list: Job.List) {
    let text = template.scalar?.text ?? ""
    func add(_ message: String, atVariable name: String) {
      let key = variables?.mapping?.pairs.first { $0.key.scalar?.text == name }?.key
      errors.add(message, at: key ?? template)
    }
    switch error {
    case .unclosedBrace:
      let part = text.lastIndex(of: "{").map { String(text[$0...]) } ?? "{"
      errors.add("unclosed '{' in the template; write a placeholder as in {url}", at: template, narrowedTo: part)
    case .unopenedBrace:
      errors.add("a '}' without its '{' in the template; write %7D for a brace in a URL", at: template, narrowedTo: "}")
    case .unknownPlaceholder(let name):
      let names = ["url", "host", "path", "query", "url-encoded", "url-base64"] + list.expand.map(\.name)
      let advice =
        Suggestions.nearest(to: name, among: names).map { "did you mean {\($0)}?" }
        ?? "use \(JobForm.alternatives(names.map { "{\($0)}" })), or add it to 'expand'"
      // It may come from an environment variable.
      let shown = text.contains("{\(name)}") ? "placeholder '{\(name)}'" : "placeholder"
      errors.add("unknown \(shown) in the template; \(advice)", at: template, narrowedTo: "{\(name)}")
    case .unusedVariable(let name): add("the template doesn't use '\(name)'; write {\(name)} into it", atVariable: name)
    case .reservedName(let name): add("'\(name)' is a part of the entry's URL; choose another name", atVariable: name)
    case .noValues(let name): add("'\(name)' has no values; write \(name): [320, 640]", atVariable: name)
    case .tooManyCombinations:
      let maximum = URLTemplate.maximumCombinations
      errors.add("'expand' makes more than \(maximum) URLs from each entry; remove values", at: variables ?? template)
    }
  }

  // MARK: Signatures

  /// Rejects keys of image services that can't be keys, and a salt for services without one.
  func checkSigning(_ index: Int) {
    let (list, path) = (job.manifests[index], "manifests[\(index)].sign")
    guard let sign = list.sign, let section = given[path], given["\(path).service"] != nil, let key = given["\(path).key-env"]
    else { return }
    let salt = given["\(path).salt-env"]
    if sign.service != .imgproxy {
      if let salt { errors.add("'salt-env' has no effect: only imgproxy has a salt", at: salt) }
    } else if salt == nil {
      if section.mapping?["salt-env"] == nil {
        errors.add("'imgproxy' requires a salt; add salt-env: IMGPROXY_SALT", atStartOf: section)
      }
      return
    }
    do throws(InvalidSigningKey) {
      _ = try list.urlSigner()
    } catch {
      let advice = "the value of this environment variable isn't hexadecimal; set it as imgproxy's"
      switch error {
      case .emptyKey: errors.add("the value of this environment variable is empty; set it to the secret", at: key)
      case .keyNotHexadecimal: errors.add("\(advice) IMGPROXY_KEY", at: key)
      case .saltNotHexadecimal: errors.add("\(advice) IMGPROXY_SALT", at: salt ?? key)
      }
    }
  }

  // MARK: Pages

  /// Rejects names that attributes can't have, and attributes of lists that aren't pages.
  func checkLazyAttributes(_ index: Int) {
    let (list, path) = (job.manifests[index].list, "manifests[\(index)].lazy-attributes")
    guard let node = given[path] else { return }
    if list.format != .page, list.lazyAttributes != PageRules.usualLazyAttributes {
      return reject([path: true], since: "the list isn't a page", chosenBy: "manifests[\(index)].format")
    }
    for (name, item) in zip(list.lazyAttributes, node.sequence ?? []) {
      if !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"\"'>/=".utf8.contains($0) }) { continue }
      errors.add("\(errors.shown(name, of: item)) isn't the name of an attribute; write one such as data-src", at: item)
    }
  }
}
