import Base

// The sections of a ``JSONReport`` that count, then the elements of its lists.

extension OutcomeTotals: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    var urls = urls
    try json.field("urls", &urls, isRequired: true)
    try json.counts(&self)
    try json.check(urls == self.urls, "don't add up to urls")
  }

  /// The totals of a manifest or a host: hits on disk are the rest of the hits.
  mutating func codePart(_ json: inout JSONFields) throws(JSONProblem) {
    var (urls, hits) = (urls, hits)
    try json.field("urls", &urls)
    try json.field("hits", &hits)
    try json.fields(&self, ("downloaded", \.downloaded), ("failed", \.failed), ("blacklisted", \.blacklisted))
    try json.fields(&self, ("hit_memory", \.hitMemory), ("revalidated", \.revalidated), ("checked", \.checked))
    try json.fields(&self, ("skipped", \.skipped), ("cancelled", \.cancelled))
    guard json.isReading else { return }
    try json.check(hitMemory <= hits, "has more hits in memory than hits")
    hitDisk = hits - hitMemory
    try json.check(self.urls <= urls, "counts more than its urls")
    try json.check(self.urls == urls, "counts fewer than its urls")
  }
}

extension Traffic {
  mutating func codeBytes(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("downloaded", \.receivedBytes), ("from_cache", \.cachedBytes), ("original", \.originalBytes))
    try json.field("stored", &storedBytes)
  }

  mutating func codeAttempts(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("total", \.attempts), ("retried", \.retries))
    try json.field("waited_seconds", &waitedNanoseconds) { nanoseconds in
      JSONNumber(Double(nanoseconds) / 1e9, decimals: 3)
    } from: { number in
      UInt64((min(number.value, 4e9) * 1000).rounded()) * 1_000_000
    }
    try json.field("transient_failures", &transientFailures)
    try json.field("recovered", &recovered, unless: 0, isOmitted: true)
  }
}

extension OutcomeTraffic: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("bytes", \.receivedBytes), ("shared", \.shared), ("latency_ms", \.latency))
  }
}

/// Some percentiles for people, then all buckets, from which a reader restores the distribution.
extension LatencyHistogram: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) { try code(&json, isWhole: false) }

  /// - Parameter isWhole: whether it is that of all transfers, which has more figures.
  mutating func code(_ json: inout JSONFields, isWhole: Bool) throws(JSONProblem) {
    func percentile(_ fraction: Double) -> JSONNumber? { self.percentile(fraction).map { JSONNumber($0, decimals: 3) } }
    if isWhole { json.derived("count", count) }
    json.derived("p50", percentile(0.5))
    if isWhole { json.derived("p90", percentile(0.9)) }
    json.derived("p99", percentile(0.99))
    var maximum: JSONNumber? = count > 0 ? JSONNumber(maximumMilliseconds, decimals: 3) : nil
    var sum = JSONNumber(Double(sumNanoseconds / 1000) / 1000, decimals: 3)
    var buckets = buckets.map { LatencyBucket(upperBound: $0.upperBound, count: $0.count) }
    try json.field("max", &maximum)
    try json.field("sum", &sum)
    try json.field("buckets", &buckets)
    guard json.isReading else { return }
    // The scale has 113 buckets.
    try json.check(buckets.count <= 1000, "has more buckets than the scale has")
    try json.check(buckets.sum(\.count) <= JSONValue.maximumCount, "counts more values than possible")
    self = LatencyHistogram(
      buckets: buckets.map { ($0.upperBound, $0.count) },
      maximumNanoseconds: Self.nanoseconds(maximum?.value ?? 0),
      sumNanoseconds: Self.nanoseconds(sum.value)
    )
  }

  private static func nanoseconds(_ milliseconds: Double) -> UInt64 { UInt64(min(milliseconds * 1000, 4e15).rounded()) * 1000 }
}

private struct LatencyBucket: JSONCodable {
  var upperBound: Double
  var count: UInt64

  init(upperBound: Double, count: UInt64) { (self.upperBound, self.count) = (upperBound, count) }

  init(json: JSONValue) throws(JSONProblem) {
    let pair = try json.elements()
    guard pair.count == 2 else { throw json.problem("isn't a pair of an upper bound and a count") }
    (upperBound, count) = (try pair[0].number(), try pair[1].count())
  }

  var jsonTree: JSONTree { .array([JSONNumber(upperBound, decimals: upperBound < 1 ? 4 : 2).jsonTree, count.jsonTree]) }
}

extension Duplicates: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("bodies", \.bodies), ("urls", \.urls))
    try json.field("complete", &isComplete, unless: true, isOmitted: true)
  }
}

extension Timeline: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    var (urls, bad, bytes) = (steps.map(\.urls), steps.map(\.bad), steps.map(\.receivedBytes))
    try json.field("step_seconds", &step, isRequired: true)
    try json.field("urls", &urls)
    try json.field("bad", &bad)
    try json.field("bytes", &bytes)
    try json.check(urls.count == bad.count && urls.count == bytes.count, "has lists of different lengths")
    steps = urls.indices.map { Step(urls: urls[$0], bad: bad[$0], receivedBytes: bytes[$0]) }
  }
}

extension ManifestSummary: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("path", &path, isRequired: true)
    try json.field("file", &file, isOmitted: true)
    try totals.codePart(&json)
  }
}

extension HostSummary: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("host", &host, isRequired: true)
    try totals.codePart(&json)
    try json.fields(&self, ("bytes", \.receivedBytes), ("latency_ms", \.latency))
    var caches = RemoteCaches(counts: remoteCaches)
    try json.field("remote_cache", &caches, unless: RemoteCaches(counts: []), isOmitted: true)
    remoteCaches = caches.counts
  }
}

/// One count, or one per edge, by the edges' names.
private struct RemoteCaches: JSONCodable, Equatable {
  var counts: [RemoteCacheCount]

  init(counts: [RemoteCacheCount]) { self.counts = counts }

  init(json: JSONValue) throws(JSONProblem) {
    let members = try json.members()
    counts = members.contains { !$0.value.isObject } ? [try Self.count(json, edge: nil)] : []
    for (edge, value) in members where value.isObject { counts.append(try Self.count(value, edge: edge)) }
  }

  var jsonTree: JSONTree {
    .object(
      counts.flatMap { count -> [JSONTree.Member] in
        let unknown: [JSONTree.Member] = count.unknown > 0 ? [("unknown", count.unknown.jsonTree)] : []
        let members = [("hit", count.hits.jsonTree), ("miss", count.misses.jsonTree)] + unknown
        return count.edge.map { [($0, .object(members))] } ?? members
      }
    )
  }

  private static func count(_ json: JSONValue, edge: String?) throws(JSONProblem) -> RemoteCacheCount {
    var count = RemoteCacheCount(edge: edge)
    for (key, path) in RemoteCacheCount.counts {
      // An edge may have such a name.
      if let value = try json.value(key), !value.isObject { count[keyPath: path] = try value.count() }
    }
    return count
  }
}

extension FailureGroup: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("kind", &kind)
    try json.status(&status)
    try json.field("message", &message, isOmitted: true)
    try json.counts(&self)
    try json.fields(&self, ("hosts", \.hosts), ("elsewhere", \.elsewhere), ("examples", \.examples))
  }
}

extension HostCount: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("host", &host, isRequired: true)
    try json.field("count", &count)
  }
}

extension FailureRecord: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    var (kind, status) = (failure?.kind, failure?.status)
    var (isTransient, message) = (failure?.isTransient ?? false, failure?.message)
    try json.field("url", &url, isRequired: true)
    try json.field("manifest", &manifest)
    try json.field("line", &line, unless: 0)
    try json.field("priority", &priority)
    try json.field("variant", &variant.name, isOmitted: true)
    try json.field("edge", &variant.edge, isOmitted: true)
    try json.field("outcome", &outcome, isRequired: true, as: { BadOutcome($0) }, from: \.outcome)
    try json.field("kind", &kind)
    try json.status(&status)
    try json.field("transient", &isTransient)
    try json.field("attempts", &attempts)
    try json.field("remote_cache", &remoteCache, isOmitted: true)
    try json.field("blacklisted", &isBlacklisted)
    try json.field("standing", &standing, unless: .counts, isOmitted: true)
    try json.field("bad_since", &badSince, isOmitted: true)
    try json.field("bad_runs", &badRuns, unless: 0, isOmitted: true)
    try json.field("message", &message)
    try json.field("id", &id, isOmitted: true)
    try json.field("element", &element, isOmitted: true)
    try json.field("attribute", &attribute, isOmitted: true)
    try json.field("pages", &pages, unless: 0, isOmitted: true)
    try json.field("also_in", &otherLocations, unless: [], isOmitted: true)
    guard json.isReading else { return }
    failure = kind.map { ImageFailure($0, status: status, isTransient: isTransient, message: message ?? "") }
  }
}

extension JSONFields {
  mutating func status(_ status: inout Int?) throws(JSONProblem) {
    var code = status.map(StatusCode.init)
    try field("status", &code)
    status = code?.code
  }
}

extension TrendPoint: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("finished_at", \.finishedAt), ("urls", \.urls), ("bad", \.bad), ("new", \.new))
    try json.field("duration_seconds", &duration)
    try json.field("failed", &isFailed, unless: false, isOmitted: true)
  }
}

extension LintSummary: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("rule", &rule, isRequired: true)
    try json.field("severity", &severity)
    try json.counts(&self)
    try json.field("hosts", &hosts, unless: [], isOmitted: true)
    try json.field("examples", &examples)
  }
}

extension LintHost: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("host", &host, isRequired: true)
    try json.field("count", &count)
    try json.field("message", &message, isOmitted: true)
    try json.field("first_url", &firstURL)
  }
}

extension LintExample: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("url", &url, isRequired: true)
    try json.field("manifest", &manifest)
    try json.field("line", &line, unless: 0)
    try json.fields(&self, ("message", \.message), ("saved_bytes", \.savedBytes))
  }
}

extension Placeholder: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("host", &host, isRequired: true)
    try json.field("body_hash", &checksum, isRequired: true)
    try json.fields(&self, ("urls", \.urls), ("first_url", \.firstURL), ("format", \.format), ("width", \.width))
    try json.fields(&self, ("height", \.height), ("bytes", \.bytes))
  }
}

extension ReportedRequest: JSONSection {
  init() { self.init(curl: CurlCommand(options: [])) }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("variant", &variant.name)
    try json.field("edge", &variant.edge)
    var words = ["curl"] + curl.options
    try json.field("curl", &words, isRequired: true)
    curl.options = Array(words.dropFirst())
  }
}
