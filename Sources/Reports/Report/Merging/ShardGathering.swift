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

  /// Gathers those that have most in common, the earlier where there are as many of two kinds; nil where no report names a shard.
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

  /// Why the reports are not the whole job; nil where they are.
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
  /// What kept the run from its end, as it follows the run's name; nil where nothing did, or the job's own deadline, which has
  /// its rule.
  fileprivate var problem: String? {
    if let interruption { return "was interrupted by \(interruption.signalName)" }
    if let breakage { return "could not finish: \(breakage)" }
    return areManifestsRead || isPastDeadline ? nil : "did not read its manifests to their end"
  }
}
