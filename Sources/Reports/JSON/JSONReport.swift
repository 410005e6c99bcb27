import Base

/// The JSON report, `prewarm.report/1`: its keys in a fixed order, a line for each of them and for each element of the long lists.
///
/// It contains all of a ``FinishedReport`` except the thumbnails, so that every other form can be rendered from it.
///
/// Unknown values are null. `hit_ratio` is the share of hits among all entries, 0 without entries. `failures_by_kind` and
/// `failures_by_status` count entries that failed in this run, without those that were blacklisted before. `bytes` and `attempts` count
/// a shared transfer once. `formats` counts downloaded and checked images. Durations and rates are by the monotonic clock.
///
/// - `job.shard` is the run's part of the job's entries, null if it had all: its `entries` are those of all shards together, invalid
///   and filtered ones included, and its `fingerprint` follows from them; both are present if the run read all of them.
///   `job.digest` is equal in reports of the same job with the same rules.
/// - `signal` is the name of the signal that interrupted the run; `breakage` is a sentence on why it couldn't finish.
/// - `totals` counts an image once, however many lists name it, and so do all counts but those of `manifests`; `repeated` counts the
///   further entries with the same image and the same result. `also_in` of a failure has their locations.
/// - `outstanding` counts entries of shards that a merge of a plan lacks.
/// - `fail_on` has the rules: a limit is a count, `{"fraction": 0.01}`, or null if the rule is off. `verdict` has a sentence for each
///   broken rule, and `standings` says how many failures counted, and how many were known.
/// - `baseline` compares the run with an earlier one: how many of its failures are still bad, fixed or not seen, and the first fixed
///   entries.
/// - `failure_groups` are failures by kind, status and message with their first examples, the largest group first; in a `message`, an ellipsis
///   stands for parts that differ.
/// - `trend`, if an earlier JSON report is known, has the last runs, this one at the end. `history` has each entry that was bad in one of
///   them: since when it is bad, and its `runs`, the last one at the end (`x` bad, `.` good).
/// - `bounded_by` is the main bottleneck and its remedy; `bound_shares` says for how much of the run each part was the bottleneck, the
///   largest first. The rest of the run had none.
/// - `outcomes` has the share of each outcome in `bytes.downloaded` and `latency_ms`, and how many of its entries `shared` the request of
///   another entry.
/// - `lint`, if a run judges the delivery, has the findings of each rule, those that save most bytes first: their number, the bytes that a
///   view of each would save, and how many cached images weren't judged, since their response is unknown.
/// - `timeline` has counts for each step of the run; `requests` has the command that repeats an entry's request, by variant and edge.
public struct JSONReport: ReportForm {
  static let schema = "prewarm.report/1"

  public init() {}

  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    output.append(report.jsonTree.report)
    output.appendLiteral("\n")
  }

  /// Returns the members of the JSON report with these names.
  package static func members(of report: FinishedReport, _ names: Set<String>) -> [JSONTree.Member] {
    guard case .object(let members) = report.jsonTree else { return [] }
    return members.filter { names.contains($0.name) }
  }

  static func read(_ json: JSONValue) throws(JSONProblem) -> FinishedReport {
    guard json.isObject, let schema = try json.string("schema") else {
      throw json.problem("isn't a prewarm report: it has no schema")
    }
    guard schema == Self.schema else {
      throw json.problem("has the schema '\(schema.quotable)'; this version reads \(Self.schema)")
    }
    let report = try FinishedReport(json: json)
    if let value = try json.value("exit_status") {
      guard let number = Int32(exactly: try value.count()), let status = ExitStatus(rawValue: number) else {
        throw value.problem("isn't an exit status of prewarm")
      }
      guard status == report.exitStatus else { throw value.problem("doesn't follow from the rest of the report") }
    }
    try checkSums(of: report)
    return report
  }
}

extension FinishedReport: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    json.derived("schema", JSONReport.schema)
    try json.fields(&self, ("prewarm", \.version), ("job", \.job), ("started_at", \.startedAt))
    try end.codeRun(&json)
    json.derived("exit_status", UInt64(exitStatus.rawValue))
    try json.field("fail_on", &failOn)
    try json.group("verdict") { json throws(JSONProblem) in try json.field("reasons", &verdict.reasons) }
    var standings: FailureStandings? = standings
    try json.field("standings", &standings)
    try json.field("baseline", &baseline)
    try json.field("totals", &totals, isRequired: true)
    var repeated: OutcomeTotals? = repeats.urls > 0 ? repeats : nil
    try json.field("repeated", &repeated, isOmitted: true)
    repeats = repeated ?? OutcomeTotals()
    // Without standings, all failures count.
    self.standings = standings ?? FailureStandings(counting: totals.bad)
    json.derived("hit_ratio", JSONNumber(totals.hitRatio, decimals: 4))
    json.derived("failures_by_kind", failures { $0.kind?.name })
    json.derived("failures_by_status", failures { $0.status.map { String($0) } })
    try json.group("bytes") { json throws(JSONProblem) in try traffic.codeBytes(&json) }
    try json.field("duplicates", &images.duplicates)
    json.derived("throughput", JSONMap(throughput))
    try json.group("latency_ms") { json throws(JSONProblem) in try traffic.latency.code(&json, isWhole: true) }
    try json.group("attempts") { json throws(JSONProblem) in try traffic.codeAttempts(&json) }
    try json.field("outcomes", &traffic.outcomes) { outcomes in
      JSONMap(outcomes.known.map { ($0.outcome, $0.traffic) })
    } from: { map in
      var outcomes = TrafficByOutcome()
      for member in map.members { outcomes[member.key] = member.value }
      return outcomes
    }
    try json.field("formats", &formats) { formats in
      JSONMap(formats.map { ($0.format, $0.count) })
    } from: { map in
      map.members.map { FormatCount(format: $0.key, count: $0.value) }
    }
    try json.field("timeline", &timeline)
    try json.field("cache", &end.cache)
    try json.field("blacklist", &end.blacklist)
    try json.rows("manifests", &manifests)
    try json.rows("hosts", &hosts)
    try json.field("hosts_omitted", &hostsOmitted)
    try json.rows("failure_groups", &failureGroups)
    // With `--failures all`, a report may list more failures than a JSON report should.
    var listed = json.isReading ? [] : Array(failures.prefix(FailureRecord.listedLimit))
    try json.rows("failures", &listed)
    if json.isReading { failures = listed }
    json.derived("failures_omitted", totals.bad - Swift.min(totals.bad, UInt64(listed.count)))
    try json.rows("placeholders", &images.placeholders)
    try json.rows("lint", &lint, isOmitted: true)
    try json.rows("trend", &trend, isOmitted: true)
    try json.rows("history", &lastRuns.history, isOmitted: true)
    try json.rows("requests", &requests)
    // Users copy such lines, and a report may come from anyone.
    if json.isReading { requests.removeAll { !$0.curl.hasOurOptionsOnly } }
    try json.field("warnings", &warnings)
    try end.codeResources(&json)
  }

  private func failures(by name: (FailureGroup) -> String?) -> JSONMap<String, UInt64> {
    var counts: [String: UInt64] = [:]
    for group in failureGroups where group.failed > 0 {
      if let name = name(group) { counts[name, default: 0] += group.failed }
    }
    return JSONMap(counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) })
  }

  private var throughput: [(String, JSONNumber)] {
    [("urls_per_second", JSONNumber(urlsPerSecond, decimals: 1)), ("bytes_per_second", JSONNumber(bytesPerSecond, decimals: 1))]
  }
}

/// The sums that must agree in a report, so that forms may add and subtract without overflow.
extension JSONReport {
  static func checkSums(of report: FinishedReport) throws(JSONProblem) {
    let (totals, standings, bytes) = (report.totals, report.standings, report.traffic.receivedBytes)
    let (outcomes, hosts, trend) = (report.traffic.outcomes.known, report.hosts, report.trend)
    try check(UInt64(report.failures.count) <= totals.bad, "lists more failures than its totals count")
    try check(standings.counting + standings.excused == totals.bad, "has standings that don't add up to failed and blacklisted")
    if let baseline = report.baseline {
      try check([baseline.stillBad, baseline.fixed], atMost: baseline.failures, "has too few failures in its baseline")
      try check(UInt64(baseline.fixedEntries.count) <= baseline.fixed, "lists more fixed entries than it counts")
    }
    let manifestURLs = report.manifests.map(\.totals.urls)
    try check(manifestURLs, atMost: totals.urls + report.repeats.urls, "has manifests with more entries than its totals count")
    try check(hosts.map(\.totals.urls), atMost: totals.urls, "has hosts with more entries than its totals count")
    try check(outcomes.map(\.traffic.receivedBytes), atMost: bytes, "has outcomes with more bytes than it downloaded")
    for (outcome, traffic) in outcomes {
      try check(traffic.shared <= totals[outcome], "has more shared entries than entries of their outcome")
    }
    try check(hosts.map(\.receivedBytes), atMost: bytes, "has hosts with more bytes than it downloaded")
    for host in hosts {
      let counts = host.remoteCaches.flatMap { [$0.hits, $0.misses, $0.unknown] }
      try check(counts, atMost: host.totals.urls, "has a host with more entries in remote caches than it has in total")
    }
    try check(Set(hosts.map(\.host)).count == hosts.count, "names a host twice")
    try check(report.failureGroups.map(\.count), atMost: totals.bad, "has groups with more failures than its totals count")
    for group in report.failureGroups {
      try check(group.counting <= group.count, "has a group with more counting failures than failures")
      try check(UInt64(group.examples.count) <= group.count, "has a group with more examples than failures")
      let listed = group.hosts.map(\.count) + [group.elsewhere]
      try check(listed, atMost: group.count, "has a group with more failures by host than in total")
    }
    try check(trend.count <= TrendPoint.limit, "has a trend of more than \(TrendPoint.limit) runs")
    let isTrendPossible = trend.allSatisfy { $0.bad <= $0.urls && $0.new <= $0.bad }
    try check(isTrendPossible, "has a run in its trend with more failures than entries")
    guard let timeline = report.timeline else { return }
    try check(timeline.steps.count <= Timeline.maximumSteps, "has a timeline of more than \(Timeline.maximumSteps) steps")
    try check(!timeline.steps.isEmpty, "has a timeline without steps")
    // Shorter steps would have rates that overflow.
    try check(timeline.step >= .milliseconds(1), "has a timeline of steps shorter than a millisecond")
    let areStepsPossible = timeline.steps.allSatisfy { $0.bad <= $0.urls }
    try check(areStepsPossible, "has a step of its timeline with more failures than entries")
  }

  private static func check(_ holds: Bool, _ message: String) throws(JSONProblem) {
    if !holds { throw JSONProblem(message) }
  }

  /// Whether a sum is at most `limit`, which one of its parts alone may exceed.
  private static func check(_ parts: [UInt64], atMost limit: UInt64, _ message: String) throws(JSONProblem) {
    var rest = limit
    for part in parts {
      try check(part <= rest, message)
      rest -= part
    }
  }
}
