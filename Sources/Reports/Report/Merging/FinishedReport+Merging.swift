import ImagePrimitives

extension FinishedReport {
  /// One report of several runs, such as those of a week; see ``init(mergingShards:)`` for those of a job's shards.
  ///
  /// - Counts, bytes, requests and histograms are added up exactly; manifests of the same path and hosts of the same name are joined.
  ///   The 1,000 hosts with most entries, the first 1,000 failures and ten examples of each group are kept, the others told as omitted:
  ///   a host that several of them omit as often.
  /// - It begins with the first of them and ends with the last. The duration is the sum of theirs, so that rates are those of a run,
  ///   whether they ran at once or one after another; it is unknown, zero, where one of theirs is.
  /// - It was interrupted where one was, lacks what one lacks, and breaks every rule that one broke: the exit status is the worst.
  /// - The job's name is theirs, or `merged` where they differ. The cache is that of the last, where all had the same one.
  /// - What cannot be told of several runs is left out: duplicates, since runs may share them, and the timeline. Of a placeholder the
  ///   largest count is kept.
  ///
  /// No report at all is a programmer's error and traps.
  public init(merging reports: [FinishedReport]) {
    trap(unless: !reports.isEmpty, "no report to merge")
    let ends = reports.map(\.end)
    self.init(
      version: reports.map(\.version).distinct.joined(separator: ", "),
      job: JobIdentity(
        name: reports.common(\.job.name) ?? "merged",
        file: reports.common(\.job.file).flatMap { $0 },
        digest: reports.common(\.job.digest).flatMap { $0 }
      ),
      startedAt: reports.compactMap(\.startedAt).min(),
      end: RunEnd(merging: ends),
      totals: reports.reduce(into: Totals()) { $0.add($1.totals) }
    )
    traffic = reports.reduce(into: Traffic()) { $0.add($1.traffic) }
    failOn = reports.common(\.failOn) ?? FailOn()
    warnings = reports.sentences { $0.warnings }
    standings = reports.reduce(into: FailureStandings()) { $0.add($1.standings) }
    formats = Dictionary(reports.flatMap(\.formats).map { ($0.format, $0.count) }, uniquingKeysWith: +)
      .map { FormatCount(format: $0, count: $1) }
      .sorted { $0.isBefore($1) }
    manifests = ManifestSummary.merged(reports.flatMap(\.manifests))
    let allHosts = HostSummary.merged(reports.flatMap(\.hosts))
    hosts = Array(allHosts.prefix(RunReport.reportedHostLimit))
    hostsOmitted = reports.reduce(UInt64(allHosts.count - hosts.count)) { $0 + $1.hostsOmitted }
    failureGroups = FailureGroup.merged(reports.flatMap(\.failureGroups))
    failures = Array(reports.lazy.flatMap(\.failures).prefix(FailureRecord.listedLimit))
    placeholders = Placeholder.merged(reports.flatMap(\.placeholders))
    requests = reports[0].requests.filter { request in reports.allSatisfy { $0.requests.contains(request) } }
    let breakages = reports.sentences { $0.end.breakage.map { [$0] } ?? [] }
    end.breakage = breakages.isEmpty ? nil : breakages.joined(separator: "; ")
    verdict = joinedVerdict(of: reports)
  }

  /// By the rules that all runs had, what they add up to; where nothing is broken by that, or rules differ, what each run was told.
  private func joinedVerdict(of reports: [FinishedReport]) -> RunVerdict {
    let judged = reports.common(\.failOn).map { $0.verdict(of: self) }
    if let judged, judged.exitStatus != .withinLimits { return judged }
    return RunVerdict(reasons: reports.sentences { $0.verdict.reasons })
  }
}

extension RunEnd {
  /// The end of several runs as of one.
  fileprivate init(merging ends: [RunEnd]) {
    let durations = ends.map(\.duration)
    self.init(
      finishedAt: ends.compactMap(\.finishedAt).max(),
      duration: durations.contains(.zero) ? .zero : durations.reduce(.zero, +)
    )
    interruption = ends.contains { $0.interruption == .terminate } ? .terminate : ends.compactMap(\.interruption).first
    isPastDeadline = ends.contains(where: \.isPastDeadline)
    areManifestsRead = ends.allSatisfy(\.areManifestsRead)
    isEmpty = ends.allSatisfy(\.isEmpty)
    outstanding = ends.sum(\.outstanding)
    boundedBy = ends.common(\.boundedBy).flatMap { $0 }
    boundShares = BoundShare.merged(ends)
    peakMemoryBytes = ends.compactMap(\.peakMemoryBytes).max()
    mergeStores(ends.sorted { ($0.finishedAt ?? .distantPast) < ($1.finishedAt ?? .distantPast) })
  }

  /// The cache and the blacklist as the last run left them, where all runs had the same.
  private mutating func mergeStores(_ ends: [RunEnd]) {
    let caches = ends.compactMap(\.cache)
    guard caches.count == ends.count, var cache = caches.last, caches.common(\.directory) != nil,
      caches.common(\.namespace) != nil
    else { return }
    cache.trimmedEntries = caches.sum(\.trimmedEntries)
    cache.expiredEntries = caches.sum(\.expiredEntries)
    cache.evictedFromThisRun = caches.sum(\.evictedFromThisRun)
    cache.freshUntil = caches.compactMap(\.freshUntil).min()
    self.cache = cache
    let lists = ends.compactMap(\.blacklist)
    guard lists.count == ends.count, let last = lists.last else { return }
    blacklist = BlacklistSummary(entries: last.entries, added: lists.sum(\.added), removed: lists.sum(\.removed))
  }
}

extension Timestamp {
  fileprivate static let distantPast = Timestamp(milliseconds: .min)
}

extension [FinishedReport] {
  /// Sentences of each, once, with the job's name where the jobs differ.
  fileprivate func sentences(_ read: (FinishedReport) -> [String]) -> [String] {
    let differ = common(\.job.name) == nil
    return flatMap { report in read(report).map { differ ? "\(report.job.name): \($0)" : $0 } }.distinct
  }
}

extension Array {
  /// What all elements have alike; nil where they differ, or where there are none.
  func common<Value: Equatable>(_ path: KeyPath<Element, Value>) -> Value? {
    guard let first = first?[keyPath: path], allSatisfy({ $0[keyPath: path] == first }) else { return nil }
    return first
  }

  func sum(_ path: KeyPath<Element, UInt64>) -> UInt64 { reduce(0) { $0 + $1[keyPath: path] } }
}

extension [String] {
  /// Each once, in the order of the first.
  fileprivate var distinct: [String] {
    var seen: Set<String> = []
    return filter { seen.insert($0).inserted }
  }
}
