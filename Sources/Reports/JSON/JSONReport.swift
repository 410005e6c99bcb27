import ImagePrimitives

/// The JSON report, `prewarm.report/1`: its keys in a fixed order, a line for each of them and for each element of the long lists.
///
/// It tells all that a ``FinishedReport`` holds but the thumbnails, so that it can be read back and rendered in every other form.
///
/// What is not known is null. `hit_ratio` is hits among all entries, 0 where there are none. `failures_by_kind` and
/// `failures_by_status` count what failed in this run, not what was blacklisted before. `bytes` and `attempts` count a shared transfer
/// once. `formats` counts what was fetched and good. Durations and rates are by the monotonic clock.
///
/// - `job.shard` is the part of the job's entries that the run had, null where it had all: its `entries` are those of all shards
///   together, bad and filtered ones among them, and its `fingerprint` follows from them; both are there where all were read.
///   `job.digest` tells whether two reports are of the same job and rules.
/// - `signal` is the name of what interrupted the run; `breakage` a sentence on why it could not finish.
/// - `outstanding` are entries of a queue that workers had not finished when the wait for them ended.
/// - `fail_on` are the rules: a limit is a count, `{"fraction": 0.01}`, or null where the rule is off. `verdict` names those that were
///   broken, and `standings` how many failures counted, and how many were let off.
/// - `failure_groups` are failures by kind and status with their first examples, the largest group first.
/// - `bounded_by` says what held the run up longest and what to do; `bound_shares` for how much of the run each part did, the largest
///   first. What is left of it nobody held up: it began, or ended.
/// - `timeline` has what was done in each step of the run; `requests` what repeats the request of an entry, by variant and edge.
public struct JSONReport: ReportForm {
  static let schema = "prewarm.report/1"

  public init() {}

  /// Appends the report and a line feed.
  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    var json = JSONWriter(output: OutputBuffer(capacity: 65_536))
    var report = report
    json.object(.lines) { report.code(&$0) }
    json.output.withUnsafeBytes { output.append($0) }
    output.appendLiteral("\n")
  }

  /// Returns the report that a text holds.
  static func read(_ json: JSONValue) throws(JSONError) -> FinishedReport {
    guard json.isObject, let schema = try json.string("schema") else {
      throw json.problem("is no report of prewarm: it names no schema")
    }
    guard schema == Self.schema else {
      throw json.problem("is of the schema '\(schema.quotable)', and this version reads \(Self.schema)")
    }
    let report = try FinishedReport(json: json)
    if let value = try json.value("exit_status") {
      guard let number = Int32(exactly: try value.count()), let status = ExitStatus(rawValue: number) else {
        throw value.problem("is no exit status of prewarm")
      }
      guard status == report.exitStatus else { throw value.problem("does not follow from the rest of the report") }
    }
    try checkSums(of: report)
    return report
  }
}

extension FinishedReport: JSONSection {
  init() {
    let job = JobIdentity(name: "", file: nil)
    self.init(version: "", job: job, startedAt: nil, end: RunEnd(finishedAt: nil, duration: .zero), totals: Totals())
  }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    json.derived("schema", JSONReport.schema)
    try json.field("prewarm", &version)
    try json.field("job", &job)
    try json.field("started_at", &startedAt)
    try end.codeRun(&json)
    json.derived("exit_status", UInt64(exitStatus.rawValue))
    try json.field("fail_on", &failOn)
    try json.group("verdict", &verdict)
    var standings: FailureStandings? = standings
    try json.field("standings", &standings)
    try json.field("totals", &totals, isRequired: true)
    // Without standings, all failures count.
    self.standings = standings ?? FailureStandings(counting: totals.bad)
    json.derived("hit_ratio", JSONNumber(totals.hitRatio, decimals: 4))
    json.derived("failures_by_kind", failures { $0.kind?.name })
    json.derived("failures_by_status", failures { $0.status.map { String($0) } })
    var bytes = TrafficBytes(traffic: traffic)
    try json.group("bytes", &bytes)
    try json.field("duplicates", &duplicates)
    json.derived("throughput", JSONMap(throughput))
    try json.field("latency_ms", &bytes.traffic.latency, as: { LatencyFields($0, of: .run) }, from: \.histogram)
    var attempts = TrafficAttempts(traffic: bytes.traffic)
    try json.group("attempts", &attempts)
    traffic = attempts.traffic
    try json.field("formats", &formats) { formats in
      JSONMap(formats.map { ($0.format, $0.count) })
    } from: { map in
      map.members.map { FormatCount(format: $0.key, count: $0.value) }
    }
    try json.field("timeline", &timeline)
    try json.field("cache", &end.cache)
    try json.field("blacklist", &end.blacklist)
    try json.list("manifests", &manifests, .lines)
    try json.list("hosts", &hosts, .lines)
    try json.field("hosts_omitted", &hostsOmitted)
    try json.list("failure_groups", &failureGroups, .lines)
    try json.list("failures", &failures, .lines)
    json.derived("failures_omitted", failuresOmitted)
    try json.list("placeholders", &placeholders, .lines)
    try json.list("requests", &requests, .lines)
    // A line is there to be copied, and a report may come from anyone.
    if Fields.isReading { requests.removeAll { !$0.curl.hasOurOptionsOnly } }
    try json.list("warnings", &warnings)
    try end.codeResources(&json)
  }

  /// What failed in this run, by what tells it apart.
  private func failures(by name: (FailureGroup) -> String?) -> JSONMap<String, UInt64> {
    var counts: [String: UInt64] = [:]
    for group in failureGroups where group.failed > 0 {
      if let name = name(group) { counts[name, default: 0] += group.failed }
    }
    return JSONMap(counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) })
  }

  private var throughput: [(String, JSONNumber)] {
    [
      ("urls_per_second", JSONNumber(urlsPerSecond, decimals: 1)),
      ("bytes_per_second", JSONNumber(bytesPerSecond, decimals: 1)),
    ]
  }
}
