public import Base

/// How a job is divided into shards, `prewarm.plan/1`: the file `plan.json`.
public struct ShardPlan: Sendable {
  /// A shard, whose number is its place from 1: those that take longest come first.
  public struct Part: Sendable, Hashable {
    public var entries: UInt64 = 0
    /// Rows of its report: one for each entry, variant and edge.
    public var rows: UInt64 = 0
    /// 0 if entries are divided by URL.
    public var hosts: UInt64 = 0

    public init(entries: UInt64, rows: UInt64, hosts: UInt64) { (self.entries, self.rows, self.hosts) = (entries, rows, hosts) }
  }

  public struct List: Sendable, Hashable {
    public var name = ""
    /// The absolute path; nil if it isn't a file.
    public var file: String?

    public init(name: String, file: String?) { (self.name, self.file) = (name, file) }
  }

  /// A report of the job, which a merge writes.
  public struct Report: Sendable, Hashable {
    public var format = ReportFormat.text
    /// Absolute; `-` is standard output.
    public var path = "-"

    public init(format: ReportFormat, path: String) { (self.format, self.path) = (format, path) }
  }

  static let schema = "prewarm.plan/1"

  /// The version of prewarm that wrote it.
  public var version = ""
  public var job = JobIdentity(name: "", file: nil)
  public var jobHash = Checksum(high: 0, low: 0)
  /// The absolute path of the job file's folder, where its relative paths start.
  public var folder = ""
  public var createdAt = Timestamp(milliseconds: 0)
  /// The key that divides entries: `url` or `host`.
  public var rule = ""
  /// How many shards run at once; rates are divided by it.
  public var workers = 1
  public var list = ReportedList(entries: 0, fingerprint: 0)
  public var lists: [List] = []
  public var reports: [Report] = []
  public var shards: [Part] = []
  /// About the lists, one sentence each.
  public var warnings: [String] = []

  public init() {}

  public init(path: String) throws(ReportReadingError) {
    self = try InputFile(path: path).json(tooLarge: "is too large for a plan") { json throws(JSONProblem) in
      guard json.isObject else { throw JSONProblem("isn't a plan of prewarm") }
      return try ShardPlan(json: json)
    }
  }

  /// Writes the plan to `path`, whole or not at all.
  public func write(to path: String) throws(ReportError) {
    let file = try ReportFile(path: path)
    try file.write(jsonTree.report)
    try file.commit()
  }

  /// The shard with that number, as its report names it.
  public func reported(_ number: Int) -> ReportedShard { ReportedShard(index: number, count: shards.count, by: rule, list: list) }

  /// Why a report isn't that of the shard with that number, as it follows the report's name; nil if it is.
  public func difference(of report: FinishedReport, from number: Int) -> String? {
    if report.job.name != job.name { return "is from the job '\(report.job.name)', not from '\(job.name)'" }
    guard report.job.digest == job.digest, report.job.shard == reported(number) else { return "is from another plan" }
    if let problem = report.end.problem { return problem }
    let (rows, expected) = (report.totals.urls + report.repeats.urls, shards[number - 1].rows)
    guard rows != expected, rows > expected || !report.end.isPastDeadline else { return nil }
    return "has \(grouped(rows)) of \(counted(expected, "row"))"
  }
}

extension ShardPlan: JSONSection {
  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    var schema = Self.schema
    try json.field("schema", &schema, isRequired: true)
    try json.check(schema == Self.schema, "has the schema '\(schema.quotable)'; this version reads \(Self.schema)")
    try json.fields(&self, ("prewarm", \.version), ("created_at", \.createdAt))
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
    try json.rows("lists", &lists)
    try json.rows("reports", &reports)
    try json.rows("shards", &shards)
    try json.check((1...65_536).contains(shards.count), "has an impossible number of shards")
    try json.field("warnings", &warnings)
  }
}

extension ShardPlan.Part: JSONSection {
  init() { self.init(entries: 0, rows: 0, hosts: 0) }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("entries", &entries, isRequired: true)
    try json.field("rows", &rows, isRequired: true)
    try json.field("hosts", &hosts)
  }
}

extension ShardPlan.List: JSONSection {
  init() { self.init(name: "", file: nil) }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.fields(&self, ("name", \.name), ("file", \.file))
  }
}

extension ShardPlan.Report: JSONSection {
  init() { self.init(format: .text, path: "-") }

  mutating func code(_ json: inout JSONFields) throws(JSONProblem) {
    try json.field("format", &format, as: \.rawValue) { ReportFormat(rawValue: $0) ?? .text }
    try json.field("path", &path)
  }
}
