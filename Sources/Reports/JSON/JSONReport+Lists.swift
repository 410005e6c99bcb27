import ImagePrimitives

/// The elements of the lists.

extension ManifestSummary: JSONSection {
  init() { self.init(path: "") }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("path", &path, isRequired: true)
    try json.field("file", &file, isOmitted: true)
    try totals.codePart(&json)
  }
}

extension HostSummary: JSONSection {
  init() { self.init(host: "") }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("host", &host, isRequired: true)
    try totals.codePart(&json)
    try json.field("bytes", &receivedBytes)
    try json.field("latency_ms", &latency, as: { LatencyFields($0, of: .host) }, from: \.histogram)
    try json.field("remote_cache", &remoteCaches, isOmitted: true) { counts in
      counts.isEmpty ? nil : RemoteCaches(counts: counts)
    } from: { caches in
      caches?.counts ?? []
    }
  }
}

/// One count, or one an edge by the edges' names.
private struct RemoteCaches: JSONCodable {
  var counts: [RemoteCacheCount]

  init(counts: [RemoteCacheCount]) { self.counts = counts }

  init(json: JSONValue) throws(JSONError) {
    let members = try json.members()
    counts = members.contains { !$0.value.isObject } ? [try Self.count(json, edge: nil)] : []
    for (edge, value) in members where value.isObject { counts.append(try Self.count(value, edge: edge)) }
  }

  func write(to json: inout JSONWriter) {
    json.object { json in
      for count in counts {
        if let edge = count.edge {
          json.write(key: edge)
          json.object { Self.write(count, to: &$0) }
        } else {
          Self.write(count, to: &json)
        }
      }
    }
  }

  private static func count(_ json: JSONValue, edge: String?) throws(JSONError) -> RemoteCacheCount {
    var count = RemoteCacheCount(edge: edge)
    // An edge may have such a name itself.
    func number(_ key: StaticString) throws(JSONError) -> UInt64 {
      guard let value = try json.value(key), !value.isObject else { return 0 }
      return try value.count()
    }
    count.hits = try number("hit")
    count.misses = try number("miss")
    count.unknown = try number("unknown")
    return count
  }

  private static func write(_ count: RemoteCacheCount, to json: inout JSONWriter) {
    json.derived("hit", count.hits)
    json.derived("miss", count.misses)
    if count.unknown > 0 { json.derived("unknown", count.unknown) }
  }
}

extension FailureGroup: JSONSection {
  init() { self.init(kind: nil, status: nil) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("kind", &kind)
    try json.field("status", &status, as: { $0.map(HTTPStatus.init) }, from: { $0?.code })
    try json.field("failed", &failed)
    try json.field("blacklisted", &blacklisted)
    try json.field("counting", &counting)
    try json.list("hosts", &hosts)
    try json.field("elsewhere", &elsewhere)
    try json.list("examples", &examples)
  }
}

extension HostCount: JSONSection {
  init() { self.init(host: "", count: 0) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("host", &host, isRequired: true)
    try json.field("count", &count)
  }
}

extension FailureRecord: JSONSection {
  init() { self.init(url: "", manifest: "", line: 0, priority: .normal, outcome: .failed, failure: nil) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    var (kind, status) = (failure?.kind, failure?.status)
    var (isTransient, message) = (failure?.isTransient ?? false, failure?.message)
    try json.field("url", &url, isRequired: true)
    try json.field("manifest", &manifest)
    try json.field("line", &line, as: { $0 > 0 ? $0 : nil }, from: { $0 ?? 0 })
    try json.field("priority", &priority)
    try json.field("variant", &variant.name, isOmitted: true)
    try json.field("edge", &variant.edge, isOmitted: true)
    try json.field("outcome", &outcome, isRequired: true, as: { BadOutcome($0) }, from: \.outcome)
    try json.field("kind", &kind)
    try json.field("status", &status, as: { $0.map(HTTPStatus.init) }, from: { $0?.code })
    try json.field("transient", &isTransient)
    try json.field("attempts", &attempts)
    try json.field("remote_cache", &remoteCache, isOmitted: true)
    try json.field("blacklisted", &isBlacklisted)
    try json.field("standing", &standing, isOmitted: true, as: { $0 == .counts ? nil : $0 }, from: { $0 ?? .counts })
    try json.field("message", &message)
    guard Fields.isReading else { return }
    failure = kind.map { Failure($0, status: status, isTransient: isTransient, message: message ?? "") }
  }
}

extension Placeholder: JSONSection {
  init() { self.init(host: "", checksum: Checksum(high: 0, low: 0), urls: 0, firstURL: "") }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("host", &host, isRequired: true)
    try json.field("body_hash", &checksum, isRequired: true)
    try json.field("urls", &urls)
    try json.field("first_url", &firstURL)
    try json.field("format", &format)
    try json.field("width", &width)
    try json.field("height", &height)
    try json.field("bytes", &bytes)
  }
}

extension ReportedRequest: JSONSection {
  init() { self.init(curl: CurlCommand(options: [])) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("variant", &variant.name)
    try json.field("edge", &variant.edge)
    try json.field("curl", &curl, isRequired: true) { curl in
      ["curl"] + curl.options
    } from: { words in
      CurlCommand(options: Array(words.dropFirst()))
    }
  }
}
