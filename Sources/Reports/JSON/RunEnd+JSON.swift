import Base

// The sections of a ``JSONReport`` on the run as a whole.

extension JobIdentity: JSONSection {
  init() { self.init(name: "", file: nil) }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("name", \.name), ("file", \.file))
    try json.field("description", &description, unless: "", isOmitted: true)
    try json.fields(&self, ("shard", \.shard), ("digest", \.digest))
  }
}

extension ReportedShard: JSONSection {
  init() { self.init(index: 0, count: 0, by: "") }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    var (index, count) = (UInt64(clamping: index), UInt64(clamping: count))
    try json.field("index", &index)
    try json.field("count", &count)
    try json.check(count <= 1 << 16 && index >= 1 && index <= count, "is shard \(index) of \(count), which is impossible")
    (self.index, self.count) = (Int(index), Int(count))
    try json.field("by", &rule, isRequired: true)
    var (entries, fingerprint) = (list?.entries, list.map { Fingerprint($0.fingerprint) })
    try json.field("entries", &entries, isOmitted: true)
    try json.field("fingerprint", &fingerprint, isOmitted: true)
    try json.check(fingerprint == nil || entries != nil, "lacks entries")
    list = fingerprint.map { ReportedList(entries: entries ?? 0, fingerprint: $0.number) }
  }
}

extension RunEnd {
  mutating func codeRun(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("finished_at", \.finishedAt), ("duration_seconds", \.duration))
    var isInterrupted = interruption != nil
    try json.field("interrupted", &isInterrupted)
    try json.field("signal", &interruption)
    if json.isReading { interruption = isInterrupted ? interruption ?? .interrupt : nil }
    try json.fields(&self, ("deadline_passed", \.isPastDeadline), ("breakage", \.breakage))
    try json.fields(&self, ("manifests_read", \.areManifestsRead), ("empty", \.isEmpty), ("outstanding", \.outstanding))
  }

  mutating func codeResources(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("peak_memory_bytes", \.peakMemoryBytes))
    try json.field("mapped_memory_bytes", &mappedMemoryBytes, isOmitted: true)
    try json.fields(&self, ("bounded_by", \.bottleneck))
    try json.field("bound_shares", &bottlenecks) { shares in
      JSONMap<String, ShareOfRun>(shares.map { ($0.name, ShareOfRun(fraction: $0.fraction)) })
    } from: { map in
      map.members.map { BottleneckShare(name: $0.key, fraction: $0.value.fraction) }
    }
  }
}

private struct ShareOfRun: JSONCodable {
  var fraction: Double
  init(fraction: Double) { self.fraction = fraction }

  init(json: JSONValue) throws(JSONProblem) {
    fraction = try json.number()
    guard fraction <= 1 else { throw json.problem("is more than the whole run") }
  }

  var jsonTree: JSONTree { JSONNumber(fraction, decimals: 3).jsonTree }
}

extension CacheSummary: JSONSection {
  init() { self.init(directory: "", namespace: "", entries: 0, bodyBytes: 0, diskBytes: 0) }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("directory", \.directory), ("namespace", \.namespace), ("entries", \.entries))
    try json.fields(&self, ("body_bytes", \.bodyBytes), ("disk_bytes", \.diskBytes), ("max_bytes", \.maximumBytes))
    try json.fields(&self, ("trimmed_entries", \.trimmedEntries), ("expired_entries", \.expiredEntries))
    try json.field("evicted_from_this_run", &evictedFromThisRun)
    try json.field("sufficient_max_bytes", &sufficientBytes, isOmitted: true)
    var second = freshUntil.map(WholeSecond.init)
    try json.field("fresh_until", &second)
    freshUntil = second?.timestamp
  }
}

private struct WholeSecond: JSONCodable {
  var timestamp: Timestamp
  init(_ timestamp: Timestamp) { self.timestamp = timestamp }
  init(json: JSONValue) throws(JSONProblem) { timestamp = try Timestamp(json: json) }
  var jsonTree: JSONTree { .string(timestamp.iso8601Seconds) }
}

extension BlacklistSummary: JSONSection {
  init() { self.init(entries: 0, added: 0, removed: 0) }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("entries", \.entries), ("added", \.added), ("removed", \.removed))
  }
}

extension FailOn: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    // A limit of null means that there is none.
    if json.isReading { (failures, known) = (.never, .never) }
    try json.fields(&self, ("failures", \.failures), ("known", \.known), ("kinds", \.kinds))
    var milliseconds = latency.mapValues(Milliseconds.init)
    try json.field("latency_ms", &milliseconds)
    latency = milliseconds.mapValues(\.duration)
    try json.field("lint", &lint, unless: [:], isOmitted: true)
    try json.field("temporary_runs", &temporaryRuns, unless: 1, isOmitted: true)
    try json.fields(&self, ("empty", \.empty), ("unfinished", \.unfinished), ("evicted", \.evicted))
  }
}

private struct Milliseconds: JSONCodable {
  var duration: Duration
  init(duration: Duration) { self.duration = duration }
  init(json: JSONValue) throws(JSONProblem) { duration = .nanoseconds(Int64((min(try json.number(), 4e12) * 1e6).rounded())) }
  var jsonTree: JSONTree { JSONNumber(duration.inSeconds * 1000, decimals: 6).jsonTree }
}

extension FailOn.Limit: JSONCodable {
  init(json: JSONValue) throws(JSONProblem) {
    if json.isNull {
      self = .never
    } else if json.isObject {
      let fraction = try json.required("fraction").number()
      guard fraction <= 1 else { throw json.problem("is a fraction above 1") }
      self = .fraction(fraction)
    } else {
      self = .count(try json.count())
    }
  }

  var jsonTree: JSONTree {
    switch self {
    case .count(let count): count.jsonTree
    // Swift writes the fewest digits that read back as the same number.
    case .fraction(let fraction): .object([("fraction", fraction.jsonTree)])
    case .never: .null
    }
  }
}

extension FailureStandings: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("counting", \.counting), ("known", \.known))
    try json.field("in_grace", &inGrace)
    try json.field("warned", &warned, unless: 0, isOmitted: true)
    try json.field("counting_by_kind", &countingByKind)
  }
}

extension BaselineDifference: JSONSection {
  init() { self.init(path: "", failures: 0, stillBad: 0, fixed: 0) }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("path", \.path), ("failures", \.failures), ("still_bad", \.stillBad), ("fixed", \.fixed))
    json.derived("not_seen", unseen)
    try json.field("fixed_entries", &fixedEntries)
  }
}

extension EntryHistory: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try entry.code(&json)
    try json.field("bad_since", &badSince)
    try json.field("runs", &runs) { runs in
      let count = UInt32.bitWidth - runs.leadingZeroBitCount
      return String((0..<count).reversed().map { runs >> $0 & 1 == 1 ? "x" : "." })
    } from: { (text: String) in
      text.suffix(EntryHistory.runLimit).reduce(0) { $0 << 1 | ($1 == "x" ? 1 : 0) }
    }
  }
}

extension ListedEntry: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("url", &url, isRequired: true)
    try json.field("manifest", &manifest)
    try json.field("line", &line, unless: 0)
    try json.field("variant", &variant.name, isOmitted: true)
    try json.field("edge", &variant.edge, isOmitted: true)
  }
}
