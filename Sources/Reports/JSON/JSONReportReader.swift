import ImagePrimitives

/// Reads a JSON report, `prewarm.report/1`, back into what it was made of.
///
/// The schema and the totals have to be there. All else may be missing, as in reports of older versions; keys that are not known are
/// passed over, as in reports of newer ones.
enum JSONReportReader {
  static let schema = "prewarm.report/1"

  static func report(_ json: JSONValue) throws(JSONProblem) -> FinishedReport {
    try checkSchema(json)
    let totals = try totals(json.required("totals"))
    var report = FinishedReport(
      version: try json.string("prewarm") ?? "",
      job: try job(json.value("job")),
      startedAt: try json.value("started_at")?.timestamp(),
      end: try end(json),
      totals: totals
    )
    report.verdict.reasons = try strings(json.value("verdict")?.elements("reasons") ?? [])
    report.failOn = try failOn(json.value("fail_on"))
    report.traffic = try traffic(json)
    report.formats = try formats(json.value("formats"))
    report.manifests = try read(json, "manifests", manifest)
    report.hosts = try read(json, "hosts", host)
    report.hostsOmitted = try json.count("hosts_omitted")
    report.failures = try read(json, "failures", failure)
    report.failureGroups = try failureGroups(json, report)
    report.warnings = try strings(json.elements("warnings"))
    report.standings = try standings(json.value("standings"), totals: totals)
    report.requests = try requests(json)
    report.timeline = try json.value("timeline").map(timeline)
    report.duplicates = try json.value("duplicates").map(duplicates)
    report.placeholders = try read(json, "placeholders", placeholder)
    try checkExitStatus(of: &report, json)
    try checkSums(of: report)
    return report
  }

  /// Reads the elements of an array.
  static func read<Element>(
    _ json: JSONValue,
    _ key: StaticString,
    _ body: (JSONValue) throws(JSONProblem) -> Element
  ) throws(JSONProblem) -> [Element] {
    var elements: [Element] = []
    for value in try json.elements(key) { elements.append(try body(value)) }
    return elements
  }

  static func strings(_ values: [JSONValue]) throws(JSONProblem) -> [String] {
    var strings: [String] = []
    for value in values { strings.append(try value.string()) }
    return strings
  }

  private static func checkSchema(_ json: JSONValue) throws(JSONProblem) {
    guard json.isObject, let schema = try json.string("schema") else {
      throw json.problem("is no report of prewarm: it names no schema")
    }
    guard schema == Self.schema else {
      throw json.problem("is of the schema '\(schema.quotable)', and this version reads \(Self.schema)")
    }
  }

  private static func job(_ json: JSONValue?) throws(JSONProblem) -> JobIdentity {
    JobIdentity(
      name: try json?.string("name") ?? "",
      file: try json?.string("file"),
      shard: try json?.value("shard").map(shard),
      digest: try json?.string("digest")
    )
  }

  private static func shard(_ json: JSONValue) throws(JSONProblem) -> ReportedShard {
    let (index, count) = (try json.count("index"), try json.count("count"))
    guard count <= 1 << 16, index >= 1, index <= count else { throw json.problem("is shard \(index) of \(count), as none is") }
    let (rule, list) = (try json.required("by").string(), try list(json))
    return ReportedShard(index: Int(index), count: Int(count), by: rule, list: list)
  }

  /// What a shard has read; nil in reports of older versions, and where it did not read all.
  private static func list(_ json: JSONValue) throws(JSONProblem) -> ReportedList? {
    guard let value = try json.value("fingerprint") else { return nil }
    let digits = try value.bytes()
    guard let fingerprint = UInt64(hexadecimal: digits[...]) else { throw value.problem("is no number of 16 hexadecimal digits") }
    return ReportedList(entries: try json.required("entries").count(), fingerprint: fingerprint)
  }

  private static func end(_ json: JSONValue) throws(JSONProblem) -> RunEnd {
    var end = RunEnd(finishedAt: try json.value("finished_at")?.timestamp(), duration: .zero)
    end.duration = try json.value("duration_seconds")?.seconds() ?? .zero
    if try json.boolean("interrupted") ?? false {
      end.interruption = try json.named("signal") { Interruption(signalName: $0) } ?? .interrupt
    }
    end.isPastDeadline = try json.boolean("deadline_passed") ?? false
    end.breakage = try json.string("breakage")
    end.areManifestsRead = try json.boolean("manifests_read") ?? true
    end.isEmpty = try json.boolean("empty") ?? false
    end.outstanding = try json.value("outstanding")?.count() ?? 0
    end.cache = try json.value("cache").map(cache)
    end.blacklist = try json.value("blacklist").map { json throws(JSONProblem) in
      BlacklistSummary(entries: try json.count("entries"), added: try json.count("added"), removed: try json.count("removed"))
    }
    end.boundedBy = try json.string("bounded_by")
    for (name, share) in try json.value("bound_shares")?.members() ?? [] {
      let fraction = try share.number()
      guard fraction <= 1 else { throw share.problem("is more than the whole run") }
      end.boundShares.append(BoundShare(name: name, fraction: fraction))
    }
    end.peakMemoryBytes = try json.value("peak_memory_bytes")?.count()
    return end
  }

  private static func cache(_ json: JSONValue) throws(JSONProblem) -> CacheSummary {
    var cache = CacheSummary(
      directory: try json.string("directory") ?? "",
      namespace: try json.string("namespace") ?? "",
      entries: try json.count("entries"),
      bodyBytes: try json.count("body_bytes"),
      diskBytes: try json.count("disk_bytes")
    )
    cache.maximumBytes = try json.value("max_bytes")?.count()
    cache.trimmedEntries = try json.count("trimmed_entries")
    cache.expiredEntries = try json.count("expired_entries")
    cache.evictedFromThisRun = try json.count("evicted_from_this_run")
    cache.freshUntil = try json.value("fresh_until")?.timestamp()
    return cache
  }

  /// The status follows from the rest. A report of an older version says no more of how it ended than the status itself.
  private static func checkExitStatus(of report: inout FinishedReport, _ json: JSONValue) throws(JSONProblem) {
    guard let value = try json.value("exit_status") else { return }
    guard let number = Int32(exactly: try value.count()), let status = ExitStatus(rawValue: number) else {
      throw value.problem("is no exit status of prewarm")
    }
    guard status != report.exitStatus else { return }
    switch status {
    case .interrupted: report.end.interruption = .interrupt
    case .terminated: report.end.interruption = .terminate
    case .couldNotFinish: report.end.breakage = report.end.breakage ?? "it could not finish"
    case .beyondLimits: report.verdict.reasons = ["beyond fail-on"]
    case .withinLimits, .misused: break
    }
  }
}

extension Interruption {
  fileprivate init?(signalName: String) {
    switch signalName {
    case Interruption.interrupt.signalName: self = .interrupt
    case Interruption.terminate.signalName: self = .terminate
    default: return nil
    }
  }
}

extension JSONValue {
  fileprivate func timestamp() throws(JSONProblem) -> Timestamp {
    guard let timestamp = Timestamp(iso8601: try bytes()) else { throw problem("is no moment such as 2026-11-21T09:00:00.000Z") }
    return timestamp
  }

  /// A duration in seconds, to the nanosecond.
  func seconds() throws(JSONProblem) -> Duration {
    // Beyond a century it is no run's.
    .nanoseconds(Int64((min(try number(), 4e9) * 1e9).rounded()))
  }
}
