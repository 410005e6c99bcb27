import ImagePrimitives

/// What is kept of failed and blacklisted entries: groups with their hosts and first examples, and the first entries whole.
struct FailureLog {
  /// Entries kept whole; the rest is counted only.
  static let recordLimit = FailureRecord.listedLimit
  /// Examples kept of each group.
  static let exampleLimit = FailureGroup.exampleLimit
  /// Bytes of URLs and messages that examples take beyond the first of each group, since hosts may answer with every
  /// status there is.
  static let exampleBytes = 16 << 20
  /// Hosts told apart in each group, those that failed first; the rest counts as elsewhere.
  static let hostLimit = 1024
  /// Hosts of each group that are handed on, those with most failures.
  static let reportedHostLimit = FailureGroup.hostLimit

  private struct Group {
    var summary: FailureGroup
    var hosts: [Int: UInt64] = [:]

    init(_ key: FailureGroup.Key) { summary = FailureGroup(kind: key.kind, status: key.status) }

    mutating func count(_ outcome: Outcome, host: Int?) {
      if outcome == .failed { summary.failed += 1 } else { summary.blacklisted += 1 }
      guard let host else { return }
      if hosts[host] != nil || hosts.count < FailureLog.hostLimit {
        hosts[host, default: 0] += 1
      } else {
        summary.elsewhere += 1
      }
    }
  }

  private(set) var records: [FailureRecord] = []
  private var groups: [FailureGroup.Key: Group] = [:]

  private(set) var standings = FailureStandings()

  /// What is left of ``exampleBytes``.
  private var exampleBytesLeft = FailureLog.exampleBytes

  /// Counts a failed or blacklisted entry; `host` is its index in the host table, nil where it has none there.
  mutating func record(
    _ result: EntryResult,
    of entry: ReportedEntry,
    host: Int?,
    manifest: String,
    variant: ReportedVariant,
    standing: FailureStanding
  ) {
    let failure = result.failure
    let key = FailureGroup.Key(kind: failure?.kind, status: failure?.kind == .httpStatus ? failure?.status : nil)
    let isExample = groups[key].map { $0.summary.examples.count < Self.exampleLimit } ?? true
    let isRecorded = records.count < Self.recordLimit
    if isExample || isRecorded {
      var record = FailureRecord(result, of: entry, manifest: manifest, variant: variant)
      record.standing = standing
      if isRecorded { records.append(record) }
      if isExample { groups[key, default: Group(key)].summary.examples.add(record, within: &exampleBytesLeft) }
    }
    groups[key]!.count(result.outcome, host: host)
    if standing == .counts { groups[key]!.summary.counting += 1 }
    standings.count(standing, kind: key.kind)
  }

  /// The groups, the largest first, with the names of their hosts.
  func summaries(hosts: HostTable) -> [FailureGroup] {
    let summaries = groups.values.map { group in
      var summary = group.summary
      let sorted = group.hosts
        .map { HostCount(host: hosts.name($0.key), count: $0.value) }
        .sorted { ($1.count, $0.host) < ($0.count, $1.host) }
      summary.hosts = Array(sorted.prefix(Self.reportedHostLimit))
      summary.elsewhere += sorted.dropFirst(Self.reportedHostLimit).reduce(0) { $0 + $1.count }
      return summary
    }
    return summaries.sorted { $0.isBefore($1) }
  }
}

extension [FailureRecord] {
  /// Adds the first one in any case, and further ones while `bytesLeft` are enough for them.
  fileprivate mutating func add(_ record: FailureRecord, within bytesLeft: inout Int) {
    if !isEmpty {
      let bytes = record.url.utf8.count + (record.failure?.message.utf8.count ?? 0)
      guard bytes <= bytesLeft else { return }
      bytesLeft -= bytes
    }
    append(record)
  }
}

extension FailureRecord {
  /// A copy of what is known of a failed or blacklisted entry.
  fileprivate init(_ result: EntryResult, of entry: ReportedEntry, manifest: String, variant: ReportedVariant) {
    self.init(
      url: String(decoding: entry.url, as: UTF8.self),
      manifest: manifest,
      line: entry.line,
      priority: entry.priority,
      outcome: result.outcome,
      failure: result.failure
    )
    self.variant = variant
    remoteCache = result.remoteCache
    attempts = result.attempts
    isBlacklisted = result.outcome == .blacklisted || result.details?.isBlacklisted == true
  }
}
