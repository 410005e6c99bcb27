import ImageCaching
import ImagePrimitives
import ImageURLs
import Manifests
import Reports

extension Job {
  /// 32 hexadecimal digits that follow from what decides which entries the job has and how they are judged: its manifests,
  /// which of them are asked for and how, how shards are cut, and the rules of `verify` and `fail-on`.
  ///
  /// They are the same on every machine: of an absolute path the file's name counts, of a relative one all of it. What is in the
  /// lists is not read. Values of header fields, users and passwords are left out.
  var digest: String {
    var text = DigestText()
    for manifest in manifests { manifest.add(to: &text) }
    text.add("shard-by", shardBy.rawValue)
    request.add(to: &text)
    cache.add(to: &text)
    verify.add(to: &text)
    failOn.add(to: &text)
    return text.bytes.withUnsafeBytes { checksum(of: $0) }.hexadecimal
  }
}

/// Named values, one after another; each with its length, so that different ones cannot come to the same bytes.
private struct DigestText {
  private(set) var bytes: [UInt8] = []

  mutating func add(_ name: String, _ value: String?) {
    bytes.append(contentsOf: "\(name) \(value.map { "\($0.utf8.count)" } ?? "none")\n\(value ?? "")\n".utf8)
  }

  mutating func add(_ name: String, _ value: Int?) { add(name, value.map { "\($0)" }) }

  mutating func add(_ name: String, _ value: Bool) { add(name, "\(value)") }

  mutating func add(_ name: String, _ value: Duration?) {
    add(name, value.map { "\($0.components.seconds) \($0.components.attoseconds)" })
  }

  mutating func add(_ name: String, _ values: [String]) {
    add(name, values.count)
    for value in values { add("-", value) }
  }

  mutating func add(_ name: String, _ bounds: Job.Verify.Bounds) {
    add("\(name).min", bounds.minimum)
    add("\(name).max", bounds.maximum)
  }

  mutating func add(_ name: String, _ threshold: Job.FailOn.Threshold) {
    switch threshold {
    case .count(let count): add(name, "\(count)")
    case .fraction(let fraction): add(name, "fraction \(fraction)")
    case .never: add(name, "never")
    }
  }
}

extension Job.Manifest {
  fileprivate func add(to text: inout DigestText) {
    switch source {
    case .path(let path):
      let isAbsolute = path.written.hasPrefix("/")
      text.add("path", isAbsolute ? String(path.written.split(separator: "/").last ?? "") : path.written)
    case .standardInput: text.add("path", "-")
    case .url(let url): text.add("url", url.shown)
    case .inline(let urls): text.add("urls", urls.map { maskingCredentials($0.url) })
    }
    text.add("format", format.rawValue)
    text.add("priority", priority.name)
    text.add("base-url", baseURL?.shown)
    text.add("columns", [columns.url, columns.priority])
    text.add("include", include.map(\.written))
    text.add("exclude", exclude.map(\.written))
    text.add("limit", limit)
    text.add("newer-than", newerThan)
    text.add("sitemap-priority", usesSitemapPriority)
  }
}

extension Job.Request {
  fileprivate func add(to text: inout DigestText) {
    text.add("method", method.rawValue)
    text.add("robots", robots.rawValue)
    text.add("addresses", addresses.rawValue)
    text.add("accept-status", acceptStatus.map { "\($0.lowerBound)-\($0.upperBound)" })
    text.add("max-bytes", maxBytes)
    text.add("variants", variants.flatMap { [$0.name] + $0.headers.map(\.name) })
    text.add("edges", edges.map { "\($0.name) \($0.host):\($0.port)" })
  }
}

extension Job.Cache {
  fileprivate func add(to text: inout DigestText) {
    text.add("mode", mode.rawValue)
    switch key {
    case .url: text.add("key", "url")
    case .urlWithoutQuery: text.add("key", "url-without-query")
    case .droppingQuery(let names): text.add("key", names.sorted())
    }
  }
}

extension Job.Verify {
  fileprivate func add(to text: inout DigestText) {
    text.add("decode", decode.name)
    text.add("strict", isStrict)
    text.add("content-type", contentType.rawValue)
    text.add("formats", formats?.map(\.name).sorted() ?? ["any"])
    text.add("width", width)
    text.add("height", height)
    text.add("max-pixels", maxPixels)
    text.add("bytes", bytes)
    text.add("animated", animated.rawValue)
    text.add("placeholders", placeholders.rawValue)
    text.add("remote-cache", remoteCache.rawValue)
  }
}

extension Job.FailOn {
  fileprivate func add(to text: inout DigestText) {
    text.add("failures", failures)
    for (kind, threshold) in kinds.sorted(by: { $0.key.name < $1.key.name }) { text.add(kind.name, threshold) }
    for (percentile, limit) in latency.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { text.add(percentile.rawValue, limit) }
    // Each shard may have a file of its own.
    text.add("baseline", baseline != nil)
    text.add("empty", empty)
    text.add("unfinished", unfinished)
    text.add("evicted", evicted)
  }
}
