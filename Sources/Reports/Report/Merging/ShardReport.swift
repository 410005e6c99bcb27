import ImagePrimitives

extension FinishedReport {
  /// One report of a job whose shards were run each by itself: what one run of all entries would have reported, but for what is
  /// named below. nil if none of the files is the report of a shard.
  ///
  /// - Counts, bytes, requests and histograms are added up exactly; manifests, hosts and groups of failures are joined; see
  ///   ``init(merging:)``. Since no URL is in two shards, those of a placeholder are added up, too. Where shards are cut by
  ///   URL, the count is a lower bound: a shard that met it at fewer than ten URLs doesn't list it.
  /// - It begins with the first shard. The shards ran side by side: the duration is that of the longest.
  /// - It is judged by the job's own rules over the joined counts. The verdicts of the shards don't matter.
  /// - It names no shard, so that it compares with the report of a run of all entries.
  /// - Left out are the cache and the blacklist, as shards may have one together or each its own; duplicates, and the timeline.
  ///
  /// Unless every shard is there once and went to its end, or to the job's own deadline, and all have read the same lists, the report
  /// has a breakage that says which did not, and so exit status 1. Of what is there twice the first counts; what is of another job,
  /// or names no shard, is left out.
  public init?(mergingShards parts: [ReportPart]) {
    guard let gathering = ShardGathering(parts) else { return nil }
    let reports = gathering.reports
    self.init(merging: reports)
    let durations = reports.map(\.end.duration)
    end.duration = durations.contains(.zero) ? .zero : durations.max() ?? .zero
    end.interruption = nil
    end.breakage = gathering.breakage
    placeholders = Placeholder.merged(reports.flatMap(\.placeholders), adding: +)
    verdict = verdict(evicted: reports.compactMap(\.end.cache).sum(\.evictedFromThisRun))
    end.cache = nil
    end.blacklist = nil
  }

  /// By the shards' common rules, where trimming removed so many of the images that they had stored.
  private func verdict(evicted: UInt64) -> RunVerdict {
    var judged = self
    judged.end.cache = CacheSummary(directory: "", namespace: "", entries: 0, bodyBytes: 0, diskBytes: 0)
    judged.end.cache?.evictedFromThisRun = evicted
    return failOn.verdict(of: judged)
  }
}

/// A file that is to be merged with others.
public struct ReportPart: Sendable {
  /// What is in it.
  public enum Content: Sendable {
    /// A JSON report.
    case report(FinishedReport)
    /// Rows, which do not tell their job.
    case rows
    /// Nothing that can be read, and why.
    case unreadable(ReportReadingError)
  }

  /// The path as it was given; `-` is standard input.
  public var path: String
  /// What is in it.
  public var content: Content

  /// A file and what is in it.
  public init(path: String, content: Content) {
    self.path = path
    self.content = content
  }

  /// What sentences call it.
  var name: String { path == "-" ? "standard input" : path }

  var report: FinishedReport? { if case .report(let report) = content { report } else { nil } }
}

/// The reports of a job's shards, and what keeps them from being the whole job.
struct ShardGathering {
  /// What the reports of one job's shards have in common.
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

  /// How many sentences a breakage has at most.
  private static let toldLimit = 10

  private let kin: Kin
  /// By the number of the shard.
  private var taken: [Int: (name: String, report: FinishedReport)] = [:]
  private var problems: [String] = []

  /// Gathers those that have most in common, the earlier where there are as many of two kinds; nil if no report names a shard.
  init?(_ parts: [ReportPart]) {
    var counts: [Kin: Int] = [:]
    let kins = parts.compactMap { Kin($0.report) }
    for kin in kins { counts[kin, default: 0] += 1 }
    guard let most = counts.values.max(), let kin = kins.first(where: { counts[$0] == most }) else { return nil }
    self.kin = kin
    for part in parts { add(part) }
    addMissing()
    if let difference = ShardLists(taken.mapValues(\.report)).difference { problems.append(difference) }
  }

  /// In the order of the shards.
  var reports: [FinishedReport] { taken.sorted { $0.key < $1.key }.map(\.value.report) }

  /// Why the reports are not the whole job; nil if they are.
  var breakage: String? {
    guard !problems.isEmpty else { return nil }
    let more = problems.count - Self.toldLimit
    return problems.prefix(Self.toldLimit).joined(separator: "; ") + (more > 0 ? "; and \(more) more of the kind" : "")
  }

  private mutating func add(_ part: ReportPart) {
    switch part.content {
    case .unreadable(let error): problems.append("\(error)")
    case .rows: problems.append("\(part.name) has rows, which tell no shard; name the JSON report of that run")
    case .report(let report): add(report, part.name)
    }
  }

  private mutating func add(_ report: FinishedReport, _ name: String) {
    guard let other = Kin(report), let shard = report.job.shard else {
      problems.append("\(name) is of a run of all entries, and of no shard")
      return
    }
    guard other == kin else {
      problems.append("\(name) \(difference(of: other, shard))")
      return
    }
    if let first = taken[shard.index] {
      let isOne = first.name == name
      problems.append(isOne ? "\(name) is named twice" : "\(shard.phrase) is there twice, as \(first.name) and as \(name)")
      return
    }
    taken[shard.index] = (name, report)
    if let problem = report.end.problem { problems.append("\(shard.phrase) \(problem) (\(name))") }
  }

  private func difference(of other: Kin, _ shard: ReportedShard) -> String {
    if other.name != kin.name { return "is of the job '\(other.name)', the others of '\(kin.name)'" }
    if other.count != kin.count { return "is \(shard.phrase), and the others are of \(kin.count)" }
    if other.rule != kin.rule { return "is cut by \(other.rule), and the others by \(kin.rule)" }
    return "is of another version of the job: its lists or rules differ from the others' (job.digest)"
  }

  private mutating func addMissing() {
    let missing = (1...kin.count).filter { taken[$0] == nil }
    guard let first = missing.first else { return }
    guard missing.count > 1 else {
      problems.append("shard \(first) of \(kin.count) is missing")
      return
    }
    problems.append("shards \(numbers(of: missing)) of \(kin.count) are missing")
  }
}

extension RunEnd {
  /// What kept the run from its end, as it follows the run's name; nil if nothing did, or the job's own deadline, which has
  /// its rule.
  fileprivate var problem: String? {
    if let interruption { return "was interrupted by \(interruption.signalName)" }
    if let breakage { return "could not finish: \(breakage)" }
    return areManifestsRead || isPastDeadline ? nil : "did not read its manifests to their end"
  }
}

/// What each shard has read of the entries of all of them: the same, unless a list changed meanwhile, or one has an old copy of it.
///
/// Each shard leaves entries to the others by its own list, so that an entry may be lost if lists differ.
struct ShardLists {
  /// The most lists that a sentence names.
  private static let toldLimit = 10

  /// Those that have read the same, by their numbers; the most of them first.
  private let groups: [(list: ReportedList, shards: [Int])]

  /// The lists of shards by their number; what did not note its list is passed over.
  init(_ reports: [Int: FinishedReport]) {
    var shards: [ReportedList: [Int]] = [:]
    for (index, report) in reports.sorted(by: { $0.key < $1.key }) {
      if let list = report.job.shard?.list { shards[list, default: []].append(index) }
    }
    groups = shards.map { ($0.key, $0.value) }
      .sorted { ($1.shards.count, $0.shards[0]) < ($0.shards.count, $1.shards[0]) }
  }

  /// One sentence on the lists that shards have read; nil if all have read the same.
  var difference: String? {
    guard groups.count > 1 else { return nil }
    let (list, shards) = groups[0]
    let verb = shards.count == 1 ? "has" : "have"
    let first = "\(names(of: shards)) \(verb) read \(grouped(list.entries)) \(list.entries == 1 ? "entry" : "entries")"
    var counts: Set = [list.entries]
    var others = groups.dropFirst().prefix(Self.toldLimit - 1).map { list, shards in
      let isCountNew = counts.insert(list.entries).inserted
      return "\(names(of: shards)) \(grouped(list.entries))\(isCountNew ? "" : list.entries == 1 ? " other one" : " other ones")"
    }
    let more = groups.count - 1 - others.count
    if more > 0 { others.append("the rest \(more) further lists") }
    let last = others.removeLast()
    return "\(([first] + others).joined(separator: ", ")), and \(last): their lists were not the same"
  }

  private func names(of shards: [Int]) -> String {
    shards.count == 1 ? "shard \(shards[0])" : "shards \(numbers(of: shards))"
  }
}

/// Numbers of shards in a sentence, ten of them at most.
func numbers(of shards: [Int]) -> String {
  let told = shards.prefix(10)
  let more = shards.count - told.count
  return told.map { "\($0)" }.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
}
