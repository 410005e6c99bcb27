import Glibc
import ImageCaching
import ImageDownloading
package import ImageManaging
import Base
package import Lists
package import Reports

/// A folder with a plan: `plan.json`, the job as `job.yaml`, the entries of each shard in `entries/1.tsv.gz` and so on, and in `done` the
/// rows and the report of each finished shard, `1.jsonl` and `1.json`.
///
/// A machine that runs one shard needs the first two and the file of its entries only.
package struct ShardFolder: Sendable {
  package let path: String
  package let plan: ShardPlan

  package init(_ path: String) throws(ReportReadingError) {
    self.path = path
    plan = try ShardPlan(path: "\(path)/plan.json")
  }

  /// The report of a shard, whose presence means that it is done.
  package func reportPath(_ number: Int) -> String { "\(path)/done/\(number).json" }
  package func rowsPath(_ number: Int) -> String { "\(path)/done/\(number).jsonl" }
  var jobPath: String { "\(path)/job.yaml" }
  private func entriesPath(_ number: Int) -> String { "\(path)/entries/\(number).tsv.gz" }

  /// The report of a shard; nil if it isn't done.
  package func report(_ number: Int) throws(ReportReadingError) -> FinishedReport? {
    guard access(reportPath(number), F_OK) == 0 || errno != ENOENT else { return nil }
    return try ReportInput(path: reportPath(number)).report(words: .reading)
  }

  /// Whether a shard has a report of this plan.
  package func isDone(_ number: Int) -> Bool {
    do throws(ReportReadingError) {
      return try report(number).map { plan.difference(of: $0, from: number) == nil } ?? false
    } catch {
      return false
    }
  }

  /// The job of a shard: its entries, with rates for as many shards at once as the plan says, and reports that ``isDone(_:)`` finds.
  package func job(_ number: ShardNumber, overrides: [JobOverride], environment: [String: String]) throws(JobFileErrors) -> Job {
    let text = try JobFile.read(jobPath)
    guard text.withRawBytes({ checksum(of: $0) }) == plan.jobHash else {
      throw JobFileErrors(jobPath, "it was changed since it was planned; plan again")
    }
    guard try read(text, overrides: [], environment: environment).digest == plan.job.digest else {
      throw JobFileErrors(jobPath, "its variables have other values than when it was planned; set the same ones, or plan again")
    }
    var job = try read(text, overrides: overrides, environment: environment)
    guard job.digest == plan.job.digest else {
      let names = overrides.map(\.label).joined(separator: ", ")
      let message = "\(names): this changes the lists or the verdict of a planned job; change the job and plan again"
      throw JobFileErrors(jobPath, message)
    }
    job = job.sharded(number, by: Shard.Rule(rawValue: plan.rule) ?? .host, atOnce: plan.workers)
    job.file = plan.job.file
    job.plannedEntries = Job.PlannedEntries(
      path: entriesPath(number.index),
      lists: plan.lists,
      count: Int(clamping: plan.shards[number.index - 1].entries),
      all: plan.list,
      plannedAt: plan.createdAt
    )
    if let baseline = job.baseline {
      let copy = JobPath(Self.name(ofBaseline: baseline), in: path)
      if access(copy.absolute, F_OK) == 0 { job.baseline = copy }
    }
    job.reports = [(ReportFormat.jsonl, rowsPath(number.index)), (.json, reportPath(number.index))].map { format, path in
      Job.ReportTarget(format: format, destination: .file(JobPath(path, in: currentFolder())))
    }
    return job
  }

  private func read(_ text: [UInt8], overrides: [JobOverride], environment: [String: String]) throws(JobFileErrors) -> Job {
    // Workers lack its secrets: they report to the plan.
    let overrides = [JobOverride(defaultOf: "notify")] + overrides
    return try JobFile.parse(text, path: jobPath, folder: plan.folder, overrides: overrides, environment: environment)
  }

  fileprivate static func name(ofBaseline path: JobPath) -> String {
    path.written.hasSuffix(".jsonl") ? "baseline.jsonl" : "baseline.json"
  }
}

package struct ShardPlanner {
  /// A usual time of a request, since that of these is unknown; it decides only about the order of shards.
  private static let usualSeconds = 0.05
  private static let batchEntries = 4096

  package let job: Job
  private let text: [UInt8]
  private let rule: Shard.Rule
  private let workers: Int

  /// Reads the job file at `path`.
  ///
  /// - Parameter workers: how many shards run at once.
  package init(jobAt path: String, by rule: Shard.Rule, workers: Int, environment: [String: String]) throws(JobFileErrors) {
    text = try JobFile.read(path)
    job = try JobFile.parse(text, path: path, environment: environment)
    (self.rule, self.workers) = (rule, workers)
  }

  /// Reads all lists, which `manager` fetches, and writes the plan, which comes last, to a new folder. Returns the plan, and
  /// sentences on what could be divided better; nil if `isStopped`, which is asked between batches.
  package func write(
    _ size: ShardDivision.Size,
    to folder: String,
    version: String,
    manager: ImageManager,
    isStopped: () -> Bool
  ) throws(JobError) -> (plan: ShardPlan, advice: [String])? {
    try makeFolder(folder)
    let now = TimeSource.system.wall()
    let lists = try JobLists(job, spoolDirectory: folder, makesRequests: true, now: now)
    manager.downloader.setJobLimits(job.downloadLimits)
    do throws(ListError) {
      let division = try ShardDivision(by: rule, spoolDirectory: folder)
      let isWhole = try lists.fetching(with: manager.downloader) { () throws(ListError) -> Bool in
        var batch = EntryBatch()
        while try lists.source.next(&batch, maximum: Self.batchEntries) {
          try division.add(batch, lists: lists.source.listNames)
          batch.removeAll()
          if isStopped() { return false }
        }
        return true
      }
      guard isWhole else { return nil }
      let parts = try division.write(size, to: "\(folder)/entries", duration: seconds)
      return (try finish(parts, division.list, lists, to: folder, version: version, at: now), advice(about: parts))
    } catch {
      throw .plan(job.namingOptions(in: error))
    }
  }

  private func finish(
    _ parts: [ShardDivision.Part],
    _ list: ListFingerprint,
    _ lists: JobLists,
    to folder: String,
    version: String,
    at now: Timestamp
  ) throws(ListError) -> ShardPlan {
    var plan = ShardPlan()
    (plan.version, plan.createdAt, plan.rule, plan.workers) = (version, now, rule.rawValue, workers)
    plan.job = job.identity
    plan.jobHash = text.withRawBytes { checksum(of: $0) }
    plan.folder = job.absoluteFile.flatMap { file in file.lastIndex(of: "/").map { String(file[..<$0]) } } ?? currentFolder()
    plan.list = ReportedList(entries: list.entries, fingerprint: list.sum)
    plan.lists = lists.source.listNames.indices.map { index in
      ShardPlan.List(
        name: lists.source.listNames[index],
        file: lists.source.file(ofManifest: index, jobFile: job.absoluteFile)
      )
    }
    let ways = max(1, job.requestVariants.count)
    plan.reports = job.reports.map { target in
      ShardPlan.Report(format: target.format, path: target.destination == .standardOutput ? "-" : target.destination.path)
    }
    plan.shards = parts.map { part in
      ShardPlan.Part(
        entries: UInt64(part.entries),
        rows: UInt64(part.entries - part.good + part.good * ways),
        hosts: UInt64(part.hosts)
      )
    }
    plan.warnings = lists.warnings
    do throws(ReportError) {
      try write(text, to: "\(folder)/job.yaml")
      // An earlier report may be missing.
      if let baseline = job.baseline, let report = contents(of: baseline.absolute) {
        try write(report, to: "\(folder)/\(ShardFolder.name(ofBaseline: baseline))")
      }
      try plan.write(to: "\(folder)/plan.json")
    } catch {
      throw ListError(manifest: folder, message: "cannot write the plan: \(error)")
    }
    return plan
  }

  private func makeFolder(_ folder: String) throws(JobError) {
    if access("\(folder)/plan.json", F_OK) == 0 {
      let message = "the folder has a plan already; run it, or write the new one to another folder"
      throw .list(ListError(manifest: folder, message: message))
    }
    for path in [folder, "\(folder)/entries"] where mkdir(path, 0o777) != 0 && errno != EEXIST {
      throw .plan(ListError(manifest: folder, message: "cannot make the folder: \(errorSentence())"))
    }
  }

  private func write(_ bytes: [UInt8], to path: String) throws(ReportError) {
    let file = try ReportFile(path: path)
    try bytes.withRawBytes { bytes throws(ReportError) in try file.write(bytes) }
    try file.commit()
  }

  // MARK: Estimates

  /// How long a shard takes: its largest host, or all of it.
  private func seconds(_ part: ShardDivision.Part) -> Double {
    let limits = job.prefetch.limits
    let host = max(Self.usualSeconds / Double(limits.perHost), limits.perHostRate.map { 1 / $0 } ?? 0)
    let all = max(Self.usualSeconds / Double(limits.concurrency), limits.rate.map { Double(workers) / $0 } ?? 0)
    return max(Double(part.largest.entries) * host, Double(part.good) * all)
  }

  private func advice(about parts: [ShardDivision.Part]) -> [String] {
    guard rule == .host else { return [] }
    let limits = job.prefetch.limits
    let entries = parts.reduce(0) { $0 + $1.good }
    let share = (entries + parts.count - 1) / parts.count
    let large = parts.filter { $0.largest.entries > share }.sorted { $1.largest.entries < $0.largest.entries }
    var advice = large.prefix(5).map { part in
      let pace = limits.perHostRate.map { rate in
        "its shard takes at least \(elapsed(.seconds(Double(part.largest.entries) / rate))) (per-host-rate)"
      }
      let count = "\(grouped(UInt64(part.largest.entries))) of \(counted(UInt64(entries), "URL"))"
      return "host \(part.largest.host) has \(count), more than a shard's \(grouped(UInt64(share))); "
        + (pace ?? "one shard requests them, at most \(limits.perHost) at once (per-host)")
    }
    if large.count > 5 { advice.append("\(grouped(UInt64(large.count - 5))) further hosts are larger than a shard") }
    let hosts = Double(parts.reduce(0) { $0 + $1.hosts }) / Double(parts.count)
    if entries > 0, hosts * Double(limits.perHost) < Double(limits.concurrency) {
      let running = max(1, Int(hosts * Double(limits.perHost)))
      advice.append(
        "a shard has about \(counted(UInt64(max(1, hosts.rounded())), "host")), so about \(running) requests run at once (per-host \(limits.perHost)), not "
          + "\(limits.concurrency) (concurrency); use fewer shards"
      )
    }
    return advice
  }
}
