package import Base

/// How a job is divided into shards, `prewarm.plan/1`: the file `plan.json`.
package struct ShardPlan: Sendable {
  /// A shard, whose number is its place from 1: those that take longest come first.
  package struct Part: Sendable, Hashable {
    package var entries: UInt64 = 0
    /// Rows of its report: one for each entry, variant and edge.
    package var rows: UInt64 = 0
    /// 0 if entries are divided by URL.
    package var hosts: UInt64 = 0

    package init(entries: UInt64, rows: UInt64, hosts: UInt64) { (self.entries, self.rows, self.hosts) = (entries, rows, hosts) }
  }

  /// A list of the job.
  package struct List: Sendable, Hashable {
    /// The name in reports.
    package var name = ""
    /// The absolute path; nil if it isn't a file.
    package var file: String?

    package init(name: String, file: String?) { (self.name, self.file) = (name, file) }
  }

  /// A report of the job, which a merge writes.
  package struct Report: Sendable, Hashable {
    package var format = ReportFormat.text
    /// Absolute; `-` is standard output.
    package var path = "-"

    package init(format: ReportFormat, path: String) { (self.format, self.path) = (format, path) }
  }

  static let schema = "prewarm.plan/1"

  /// The version of prewarm that wrote it.
  package var version = ""
  package var job = JobIdentity(name: "", file: nil)
  /// A hash of the job file.
  package var jobHash = Checksum(high: 0, low: 0)
  /// The absolute path of the job file's folder, where its relative paths start.
  package var folder = ""
  package var createdAt = Timestamp(milliseconds: 0)
  /// The key that divides entries: `url` or `host`.
  package var rule = ""
  /// How many shards run at once; rates are divided by it.
  package var workers = 1
  /// All entries.
  package var list = ReportedList(entries: 0, fingerprint: 0)
  package var lists: [List] = []
  package var reports: [Report] = []
  package var shards: [Part] = []
  /// About the lists, one sentence each.
  package var warnings: [String] = []

  package init() {}

  /// Reads the plan at `path`.
  package init(path: String) throws(ReportReadingError) {
    let file = try InputFile(path: path)
    while try file.fill() {
      if file.count > ReportInput.maximumReportBytes { throw ReportReadingError(path: path, message: "is too large for a plan") }
    }
    do throws(JSONError) {
      self = try file.withBytes { bytes throws(JSONError) in
        let document = try JSONDocument(bytes)
        guard document.root.isObject else { throw JSONError("isn't a plan of prewarm") }
        return try ShardPlan(json: document.root)
      }
    } catch {
      throw ReportReadingError(path: path, line: error.line, message: error.message)
    }
  }

  /// Writes the plan to `path`, whole or not at all.
  package func write(to path: String) throws(ReportError) {
    var json = JSONWriter(output: OutputBuffer(capacity: 65_536))
    var plan = self
    json.object(.lines) { plan.code(&$0) }
    let file = try ReportFile(path: path)
    try json.output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try file.commit()
  }

  /// The shard with that number, as its report names it.
  package func reported(_ number: Int) -> ReportedShard {
    ReportedShard(index: number, count: shards.count, by: rule, list: list)
  }

  /// Why a report isn't that of the shard with that number, as it follows the report's name; nil if it is.
  package func difference(of report: FinishedReport, from number: Int) -> String? {
    if report.job.name != job.name { return "is from the job '\(report.job.name)', not from '\(job.name)'" }
    guard report.job.digest == job.digest, report.job.shard == reported(number) else { return "is from another plan" }
    if let problem = report.end.problem { return problem }
    let (rows, expected) = (report.totals.urls + report.repeats.urls, shards[number - 1].rows)
    guard rows != expected, rows > expected || !report.end.isPastDeadline else { return nil }
    return "has \(grouped(rows)) of \(counted(expected, "row"))"
  }
}

extension ShardPlan: JSONSection {
  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    var schema = Self.schema
    try json.field("schema", &schema, isRequired: true)
    try json.check(schema == Self.schema, "has the schema '\(schema.quotable)'; this version reads \(Self.schema)")
    try json.field("prewarm", &version)
    try json.field("created_at", &createdAt)
    try json.field("job", &job, isRequired: true)
    try json.field("job_hash", &jobHash, isRequired: true)
    try json.field("folder", &folder)
    try json.field("by", &rule, isRequired: true)
    var workers = UInt64(clamping: workers)
    try json.field("workers", &workers, isRequired: true)
    try json.check((1...100_000).contains(workers), "has an impossible number of workers")
    self.workers = Int(workers)
    try json.field("entries", &list.entries, isRequired: true)
    try json.field("fingerprint", &list.fingerprint, isRequired: true, as: Fingerprint.init, from: \.number)
    json.derived("order", "as numbered: those that take longest start first")
    try json.list("lists", &lists, .lines)
    try json.list("reports", &reports, .lines)
    try json.list("shards", &shards, .lines)
    try json.check((1...65_536).contains(shards.count), "has an impossible number of shards")
    try json.list("warnings", &warnings)
  }
}

extension ShardPlan.Part: JSONSection {
  init() { self.init(entries: 0, rows: 0, hosts: 0) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("entries", &entries, isRequired: true)
    try json.field("rows", &rows, isRequired: true)
    try json.field("hosts", &hosts)
  }
}

extension ShardPlan.List: JSONSection {
  init() { self.init(name: "", file: nil) }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("name", &name)
    try json.field("file", &file)
  }
}

extension ShardPlan.Report: JSONSection {
  init() { self.init(format: .text, path: "-") }

  mutating func code<Fields: JSONFields & ~Copyable>(_ json: inout Fields) throws(Fields.Failure) {
    try json.field("format", &format, as: \.rawValue) { ReportFormat(rawValue: $0) ?? .text }
    try json.field("path", &path)
  }
}
