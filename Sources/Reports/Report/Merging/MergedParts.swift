import Base

extension FinishedReport {
  /// Merges the reports of several runs, such as those of a week; see ``init(mergingShards:)`` for the shards of a job.
  ///
  /// - Counts, bytes, requests and histograms are added exactly; manifests with the same path and hosts with the same name are merged.
  ///   The 1,000 hosts with most entries and ten examples of each group are kept. The others count as omitted: a host once for each
  ///   report that omits it.
  /// - It starts with the first run and ends with the last. Its duration is the sum of theirs, so that rates are those of one run, even
  ///   if they ran at the same time. It is zero (unknown) if one of theirs is.
  /// - It is interrupted if one run was, incomplete if one was, and breaks every rule that one broke: the exit status is the worst.
  /// - The job's name is theirs, or `merged` if they differ. The cache is that of the last run, if all runs used the same cache.
  /// - Figures that can't be added are omitted: duplicates, since runs may share them, and the timeline. A placeholder has its
  ///   largest count.
  ///
  /// An empty list of reports is a programmer error and traps.
  public init(merging reports: [FinishedReport]) {
    trap(unless: !reports.isEmpty, "no report to merge")
    var parts = MergedParts()
    for report in reports { parts.add(report) }
    self.init(merging: parts)
  }

  init(merging parts: MergedParts) {
    var parts = parts
    parts.reduce(hosts: RunReport.reportedHostLimit, failures: .max)
    let reports = parts.reports
    self = parts.sum
    version = reports.map(\.version).distinct.joined(separator: ", ")
    job = JobIdentity(
      name: reports.common(\.job.name) ?? "merged",
      file: reports.common(\.job.file).flatMap { $0 },
      description: reports.common(\.job.description) ?? "",
      digest: reports.common(\.job.digest).flatMap { $0 }
    )
    words = reports.first?.words ?? .plain
    startedAt = reports.compactMap(\.startedAt).min()
    end = RunEnd(merging: reports.map(\.end))
    failOn = reports.common(\.failOn) ?? FailOn()
    warnings = reports.sentences { $0.warnings }
    formats = Dictionary(formats.map { ($0.format, $0.count) }, uniquingKeysWith: +)
      .map { FormatCount(format: $0, count: $1) }
      .sorted { $0.isBefore($1) }
    images.placeholders = Placeholder.merged(images.placeholders)
    requests = (reports.first?.requests ?? []).filter { request in reports.allSatisfy { $0.requests.contains(request) } }
    let breakages = reports.sentences { $0.end.breakage.map { [$0] } ?? [] }
    end.breakage = breakages.isEmpty ? nil : breakages.joined(separator: "; ")
    verdict = joinedVerdict(of: reports)
  }

  /// Judges the sums by the rules if all runs have the same; if they break none, or rules differ, returns the verdicts of the runs.
  private func joinedVerdict(of reports: [FinishedReport]) -> RunVerdict {
    let judged = reports.common(\.failOn).map { $0.verdict(of: self) }
    if let judged, judged.exitStatus != .withinLimits { return judged }
    return RunVerdict(reasons: reports.sentences { $0.verdict.reasons })
  }
}

/// Reports to merge: their long lists are merged as they come, so that memory hardly grows with the number of reports.
struct MergedParts {
  /// Merging costs time for all elements, and memory is limited: some megabytes.
  private static let limit = 16_384

  /// Without the long lists.
  private(set) var reports: [FinishedReport] = []
  /// Their counts, and their lists one after another.
  private(set) var sum = FinishedReport()

  mutating func add(_ report: FinishedReport) {
    sum.totals.add(report.totals)
    sum.repeats.add(report.repeats)
    sum.traffic.add(report.traffic)
    sum.standings.add(report.standings)
    let room = EntryHistory.listedLimit - min(sum.lastRuns.history.count, EntryHistory.listedLimit)
    sum.lastRuns.history += report.lastRuns.history.prefix(room)
    sum.formats += report.formats
    sum.manifests += report.manifests
    sum.hosts += report.hosts
    sum.hostsOmitted += report.hostsOmitted
    sum.failureGroups += report.failureGroups
    sum.failures += report.failures
    sum.lint += report.lint
    sum.images.placeholders += report.placeholders
    var rest = report
    (rest.manifests, rest.hosts, rest.failureGroups, rest.failures) = ([], [], [], [])
    (rest.lint, rest.images, rest.trend, rest.timeline) = ([], ReportedImages(), [], nil)
    reports.append(rest)
    let counts = [sum.manifests.count, sum.hosts.count, sum.failureGroups.count, sum.failures.count]
    if counts.max()! > 2 * Self.limit { reduce(hosts: Self.limit, failures: FailureRecord.listedLimit) }
  }

  /// Merges equal elements, and keeps the hosts with most entries and the first failures.
  mutating func reduce(hosts hostLimit: Int, failures failureLimit: Int) {
    sum.manifests = ManifestSummary.merged(sum.manifests)
    let all = HostSummary.merged(sum.hosts)
    sum.hosts = Array(all.prefix(hostLimit))
    sum.hostsOmitted += UInt64(all.count - sum.hosts.count)
    sum.failureGroups = FailureGroup.merged(sum.failureGroups)
    sum.lint = LintSummary.merged(sum.lint)
    guard sum.failures.count > failureLimit else { return }
    sum.failures = Array(sum.failures.countingFirst.prefix(failureLimit))
  }
}

extension RunEnd {
  /// The end of several runs as if they were one.
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
    bottleneck = ends.common(\.bottleneck).flatMap { $0 }
    bottlenecks = BottleneckShare.merged(ends)
    peakMemoryBytes = ends.compactMap(\.peakMemoryBytes).max()
    mappedMemoryBytes = ends.compactMap(\.mappedMemoryBytes).max()
    mergeStores(ends.sorted { ($0.finishedAt ?? .distantPast) < ($1.finishedAt ?? .distantPast) })
  }

  /// The cache and the blacklist after the last run, if all runs used the same.
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
  /// The distinct sentences of all reports, with the job's name if the jobs differ.
  fileprivate func sentences(_ read: (FinishedReport) -> [String]) -> [String] {
    let differ = common(\.job.name) == nil
    return flatMap { report in read(report).map { differ ? "\(report.job.name): \($0)" : $0 } }.distinct
  }
}

extension Array {
  /// The common value of all elements; nil if they differ, or there are none.
  func common<Value: Equatable>(_ path: KeyPath<Element, Value>) -> Value? {
    guard let first = first?[keyPath: path], allSatisfy({ $0[keyPath: path] == first }) else { return nil }
    return first
  }

  func sum(_ path: KeyPath<Element, UInt64>) -> UInt64 { reduce(0) { $0 + $1[keyPath: path] } }
}

extension [String] {
  /// The distinct elements, in the order of their first occurrence.
  fileprivate var distinct: [String] {
    var seen: Set<String> = []
    return filter { seen.insert($0).inserted }
  }
}

extension BottleneckShare {
  /// The shares of several runs as if they were one run, weighted by duration; empty if a duration or the shares of a run are unknown.
  static func merged(_ ends: [RunEnd]) -> [BottleneckShare] {
    guard ends.allSatisfy({ !$0.bottlenecks.isEmpty && $0.duration > .zero }) else { return [] }
    let whole = ends.reduce(0) { $0 + $1.duration.inSeconds }
    var fractions: [String: Double] = [:]
    for end in ends {
      for share in end.bottlenecks { fractions[share.name, default: 0] += share.fraction * end.duration.inSeconds / whole }
    }
    return fractions.map { BottleneckShare(name: $0, fraction: min(1, $1)) }
      .sorted { ($1.fraction, $0.name) < ($0.fraction, $1.name) }
  }
}

extension Traffic {
  mutating func add(_ other: Traffic) {
    for path in [
      \Traffic.receivedBytes, \.cachedBytes, \.originalBytes, \.storedBytes, \.attempts, \.retries, \.transientFailures,
      \.recovered,
    ] {
      self[keyPath: path] += other[keyPath: path]
    }
    waitedNanoseconds &+= other.waitedNanoseconds
    latency.merge(other.latency)
    for (outcome, other) in other.outcomes.known {
      outcomes.update(outcome) { traffic in
        traffic.receivedBytes += other.receivedBytes
        traffic.latency.merge(other.latency)
        traffic.shared += other.shared
      }
    }
  }
}

extension FailureStandings {
  mutating func add(_ other: FailureStandings) {
    counting += other.counting
    known += other.known
    inGrace += other.inGrace
    warned += other.warned
    countingByKind.merge(other.countingByKind, uniquingKeysWith: +)
  }
}

extension Array {
  /// Merges the elements with the same key, in the order of their first occurrence.
  func joined<Key: Hashable>(by key: (Element) -> Key, _ add: (inout Element, Element) -> Void) -> [Element] {
    var places: [Key: Int] = [:]
    var result: [Element] = []
    for element in self {
      if let place = places[key(element)] {
        add(&result[place], element)
      } else {
        places[key(element)] = result.count
        result.append(element)
      }
    }
    return result
  }
}

extension ManifestSummary {
  static func merged(_ manifests: [ManifestSummary]) -> [ManifestSummary] {
    manifests.joined(by: \.path) { manifest, other in
      manifest.totals.add(other.totals)
      if manifest.file != other.file { manifest.file = nil }
    }
  }
}

extension HostSummary {
  /// Merges hosts; those with most entries come first, then by name, as in the report of one run.
  static func merged(_ hosts: [HostSummary]) -> [HostSummary] {
    hosts.joined(by: \.host) { host, other in
      host.totals.add(other.totals)
      host.receivedBytes += other.receivedBytes
      host.latency.merge(other.latency)
      host.remoteCaches = (host.remoteCaches + other.remoteCaches).joined(by: \.edge) { $0.add($1) }
    }.sorted { $0.isBefore($1) }
  }
}

extension FailureGroup {
  /// Merges groups, the largest first, as in the report of one run. A host that only some reports name counts as elsewhere in the others.
  static func merged(_ groups: [FailureGroup]) -> [FailureGroup] {
    groups.joined(by: \.key) { group, other in
      group.message = common(group, other)
      group.add(other)
      group.elsewhere += other.elsewhere
      group.hosts = (group.hosts + other.hosts).joined(by: \.host) { $0.count += $1.count }
      group.examples = Array((group.examples + other.examples).countingFirst.prefix(exampleLimit))
    }.map { group in
      var group = group
      group.list(group.hosts)
      return group
    }.sorted { $0.isBefore($1) }
  }

  private static func common(_ group: FailureGroup, _ other: FailureGroup) -> String? {
    guard let message = group.message, let otherMessage = other.message else { return nil }
    if message == otherMessage { return message }
    var pattern: MessagePattern? = MessagePattern(message, host: group.onlyHost)
    pattern.keepCommonParts(with: MessagePattern(otherMessage, host: other.onlyHost))
    return pattern?.text
  }
}

extension Placeholder {
  private struct Key: Hashable {
    var host: String
    var checksum: Checksum
  }

  /// Merges placeholders, the one with most URLs first. `adding` merges two counts: by default the larger one is kept, since runs may have
  /// requested the same URLs.
  static func merged(_ placeholders: [Placeholder], adding: (UInt64, UInt64) -> UInt64 = max) -> [Placeholder] {
    let joined = placeholders.joined(by: { Key(host: $0.host, checksum: $0.checksum) }) { placeholder, other in
      placeholder.urls = adding(placeholder.urls, other.urls)
    }
    return Array(joined.sorted { $0.isBefore($1) }.prefix(listedLimit))
  }
}
