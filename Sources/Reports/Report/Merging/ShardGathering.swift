import Base

extension FinishedReport {
  /// Merges the reports of a job's shards into the report of one run of all entries, with the exceptions below. Nil if none of the
  /// files is the report of a shard.
  ///
  /// - Counts, bytes, requests and histograms are added exactly; manifests, hosts and groups of failures are merged; see
  ///   ``init(merging:)``. Since no URL is in two shards, the URLs of a placeholder are added, too. If entries are divided by URL, that
  ///   count is a lower bound: a shard that received it for fewer than ten URLs doesn't list it.
  /// - It starts with the first shard. Shards run at the same time, so the duration is the longest one.
  /// - The job's rules judge the merged counts. The verdicts of the shards don't matter.
  /// - It names no shard, so that it is comparable with the report of a run of all entries.
  /// - It omits the cache and the blacklist, since shards may share them or not, duplicates, and the timeline.
  ///
  /// The report has a breakage, and so exit status 1, unless each shard is present once and finished or reached the job's deadline, and all
  /// have read the same lists. The first of two reports of a shard counts; reports of other jobs or without a shard are omitted.
  public init?(mergingShards parts: [ReportPart]) {
    guard let gathering = ShardGathering(parts) else { return nil }
    var merged = MergedParts()
    for report in gathering.reports { merged.add(report) }
    self.init(merging: merged, ofShards: gathering.breakage)
  }

  /// Merges the reports of a plan's shards, as ``init(mergingShards:)`` does; entries of missing shards are ``RunEnd/outstanding``.
  ///
  /// - Parameter read: returns the report of the shard with that number, nil if there is none. They aren't in memory together.
  public init(merging plan: ShardPlan, _ read: (Int) throws(ReportReadingError) -> FinishedReport?) {
    var (merged, missing, problems, outstanding) = (MergedParts(), [Int](), [String](), UInt64(0))
    for (index, part) in plan.shards.enumerated() {
      do throws(ReportReadingError) {
        if let report = try read(index + 1) {
          guard let difference = plan.difference(of: report, from: index + 1) else {
            merged.add(report)
            continue
          }
          problems.append("the report of shard \(index + 1) \(difference)")
        } else {
          missing.append(index + 1)
        }
      } catch { problems.append("\(error)") }
      outstanding += part.rows
    }
    if !missing.isEmpty { problems.insert(missingSentence(missing, of: plan.shards.count), at: 0) }
    self.init(merging: merged, ofShards: listed(problems))
    if merged.reports.isEmpty {
      (job.name, job.file, job.digest, version) = (plan.job.name, plan.job.file, plan.job.digest, plan.version)
    }
    end.outstanding = outstanding
    warnings = plan.warnings + warnings
  }

  private init(merging parts: MergedParts, ofShards breakage: String?) {
    let reports = parts.reports
    self.init(merging: parts)
    let durations = reports.map(\.end.duration)
    end.duration = durations.contains(.zero) ? .zero : durations.max() ?? .zero
    end.interruption = nil
    end.breakage = breakage
    images.placeholders = Placeholder.merged(parts.sum.placeholders, adding: +)
    verdict = verdict(evicted: reports.compactMap(\.end.cache).sum(\.evictedFromThisRun))
    end.cache = nil
    end.blacklist = nil
  }

  /// Judges by the shards' common rules; `evicted` images that the shards had stored were trimmed.
  private func verdict(evicted: UInt64) -> RunVerdict {
    var judged = self
    judged.end.cache = CacheSummary(directory: "", namespace: "", entries: 0, bodyBytes: 0, diskBytes: 0)
    judged.end.cache?.evictedFromThisRun = evicted
    return failOn.verdict(of: judged)
  }
}

public struct ReportPart: Sendable {
  public var path: String
  /// A JSON report, or a report of rows; or why it is unreadable.
  package var content: Result<FinishedReport, ReportReadingError>

  package init(path: String, content: Result<FinishedReport, ReportReadingError>) { (self.path, self.content) = (path, content) }

  /// Its name in sentences.
  var name: String { path == "-" ? "standard input" : path }
  var report: FinishedReport? { if case .success(let report) = content { report } else { nil } }
}

/// The reports of a job's shards, and the reasons why they aren't the complete job.
struct ShardGathering {
  /// The common properties of the reports of one job's shards.
  private struct Kin: Hashable {
    var name: String
    var digest: String?
    var count: Int
    var rule: String

    init?(_ report: FinishedReport?) {
      guard let job = report?.job, let shard = job.shard else { return nil }
      (name, digest, count, rule) = (job.name, job.digest, shard.count, shard.rule)
    }
  }

  private let kin: Kin
  /// By the number of the shard.
  private var taken: [Int: (name: String, report: FinishedReport)] = [:]
  private var problems: [String] = []

  /// Collects the largest set of reports with common properties, the earlier of equal ones; nil if no report names a shard.
  init?(_ parts: [ReportPart]) {
    var counts: [Kin: Int] = [:]
    let kins = parts.compactMap { Kin($0.report) }
    for kin in kins { counts[kin, default: 0] += 1 }
    guard let most = counts.values.max(), let kin = kins.first(where: { counts[$0] == most }) else { return nil }
    self.kin = kin
    for part in parts { add(part) }
    let missing = (1...kin.count).filter { taken[$0] == nil }
    if !missing.isEmpty { problems.append(missingSentence(missing, of: kin.count)) }
    if let difference = ShardLists(taken.mapValues(\.report)).difference { problems.append(difference) }
  }

  var reports: [FinishedReport] { taken.sorted { $0.key < $1.key }.map(\.value.report) }

  /// Why the reports aren't the complete job; nil if they are.
  var breakage: String? { listed(problems) }

  private mutating func add(_ part: ReportPart) {
    let (name, report): (String, FinishedReport)
    switch part.content {
    case .failure(let error): return problems.append("\(error)")
    case .success(let content): (name, report) = (part.name, content)
    }
    guard let other = Kin(report), let shard = report.job.shard else {
      return problems.append("\(name) is from a run of all entries, not from a shard")
    }
    guard other == kin else { return problems.append("\(name) \(difference(of: other, shard))") }
    if let first = taken[shard.index] {
      let isOne = first.name == name
      return problems.append(isOne ? "\(name) is named twice" : "\(shard.phrase) is present twice, as \(first.name) and \(name)")
    }
    taken[shard.index] = (name, report)
    if let problem = report.end.problem { problems.append("\(shard.phrase) \(problem) (\(name))") }
  }

  private func difference(of other: Kin, _ shard: ReportedShard) -> String {
    if other.name != kin.name { return "is from the job '\(other.name)', the others from '\(kin.name)'" }
    if other.count != kin.count { return "is \(shard.phrase), but the others are shards of \(kin.count)" }
    if other.rule != kin.rule { return "is divided by \(other.rule), the others by \(kin.rule)" }
    return "is from another version of the job: its lists or rules differ (job.digest)"
  }
}

/// The first problems in one sentence; nil if there is none.
private func listed(_ problems: [String]) -> String? {
  let limit = 10, more = problems.count - limit
  if problems.isEmpty { return nil }
  return problems.prefix(limit).joined(separator: "; ") + (more > 0 ? "; and \(grouped(UInt64(more))) more" : "")
}

private func missingSentence(_ missing: [Int], of count: Int) -> String {
  missing.count == 1 ? "shard \(missing[0]) of \(count) is missing" : "shards \(numbers(of: missing)) of \(count) are missing"
}

extension RunEnd {
  /// Why the run didn't finish, as it follows the run's name; nil if it finished or reached the job's deadline, which has a rule of
  /// its own.
  var problem: String? {
    if let interruption { return "was interrupted by \(interruption.signalName)" }
    if let breakage { return "couldn't finish: \(breakage)" }
    return areManifestsRead || isPastDeadline ? nil : "didn't read its lists to the end"
  }
}

/// The lists as each shard read them: the same, unless a list changed meanwhile, or a shard has an old copy of it. Each shard
/// leaves entries to the others by its own list, so entries may be lost if lists differ.
struct ShardLists {
  private static let listedLimit = 10

  /// The numbers of the shards that have read the same list, the largest set first.
  private let groups: [(list: ReportedList, shards: [Int])]

  /// Groups shards by their lists; shards whose list is unknown are omitted.
  init(_ reports: [Int: FinishedReport]) {
    var shards: [ReportedList: [Int]] = [:]
    for (index, report) in reports.sorted(by: { $0.key < $1.key }) {
      if let list = report.job.shard?.list { shards[list, default: []].append(index) }
    }
    groups = shards.map { ($0.key, $0.value) }
      .sorted { ($1.shards.count, $0.shards[0]) < ($0.shards.count, $1.shards[0]) }
  }

  /// A sentence about the lists that the shards have read; nil if all have read the same.
  var difference: String? {
    guard groups.count > 1 else { return nil }
    let (list, shards) = groups[0]
    let verb = shards.count == 1 ? "has" : "have"
    let first = "\(names(of: shards)) \(verb) read \(grouped(list.entries)) \(list.entries == 1 ? "entry" : "entries")"
    var counts: Set = [list.entries]
    var others = groups.dropFirst().prefix(Self.listedLimit - 1).map { list, shards in
      let isCountNew = counts.insert(list.entries).inserted
      return "\(names(of: shards)) \(grouped(list.entries))\(isCountNew ? "" : list.entries == 1 ? " other one" : " other ones")"
    }
    let more = groups.count - 1 - others.count
    if more > 0 { others.append("the rest \(more) other lists") }
    let last = others.removeLast()
    return "\(([first] + others).joined(separator: ", ")), and \(last): the lists differ"
  }

  private func names(of shards: [Int]) -> String { shards.count == 1 ? "shard \(shards[0])" : "shards \(numbers(of: shards))" }
}

/// Numbers of shards in a sentence, at most ten of them.
package func numbers(of shards: [Int]) -> String {
  let listed = shards.prefix(10)
  let more = shards.count - listed.count
  return listed.map { "\($0)" }.joined(separator: ", ") + (more > 0 ? " and \(grouped(UInt64(more))) more" : "")
}
