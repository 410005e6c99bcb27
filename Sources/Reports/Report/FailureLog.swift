import Base

/// The failed and blacklisted entries: groups with their hosts and first examples, and the complete first entries.
struct FailureLog {
  /// The limit of URLs and messages of examples in bytes, beyond the first of each group, since hosts may respond with every
  /// possible status.
  static let exampleBytes = 16 << 20
  /// How many hosts each group counts, in the order of their failures; the others count as elsewhere.
  static let hostLimit = 1024

  private struct Group {
    let key: FailureGroup.Key
    var summary: FailureGroup
    var hosts: [Int: UInt64] = [:]
    /// What the messages so far have in common; nil if nothing.
    var pattern: MessagePattern?

    mutating func count(_ outcome: LoadOutcome, host: Int?) {
      if outcome == .failed { summary.failed += 1 } else { summary.blacklisted += 1 }
      guard let host else { return }
      if hosts[host] != nil || hosts.count < FailureLog.hostLimit {
        hosts[host, default: 0] += 1
      } else {
        summary.elsewhere += 1
      }
    }
  }

  /// The failure before, since failures with one message mostly follow each other.
  private struct Last {
    var kind: FailureKind?
    var status: Int?
    var message: String
    var group: Int
  }

  var listedLimit = FailureRecord.listedLimit
  private var new: [FailureRecord] = []
  private var known: [FailureRecord] = []
  private var recordBytesLeft = FailureRecord.listedBytes
  private(set) var standings = FailureStandings()
  private var groups: [Group] = []
  private var indices: [FailureGroup.Key: Int] = [:]
  /// How many groups a kind has, by the key for its other messages.
  private var groupCounts: [FailureGroup.Key: Int] = [:]
  private var exampleBytesLeft = FailureLog.exampleBytes
  /// Further locations of failing images, by ``ReportedEntry/imageKey``, of as many images as a report lists at most.
  private var locations: [UInt64: [String]] = [:]
  private var last: Last?
  private var lastGroup: Int?
  /// The URL of the last failure, in memory that is reused, since there may be millions of failures.
  private var lastURL: [UInt8] = []

  /// The entries that are kept; those that count come before known ones.
  var records: [FailureRecord] { new + known }

  /// Counts a failed or blacklisted entry; `host` is its index in the host table, nil if the table doesn't have it.
  mutating func record(
    _ result: EntryResult,
    of entry: ReportedEntry,
    host: Int?,
    manifest: String,
    variant: RequestVariant,
    standing: FailureStanding,
    _ history: EntryHistory?
  ) {
    let group = group(of: result, entry)
    // Those that count replace known ones.
    let isNew = standing == .counts && standings.excused > 0
    let isExample = groups[group].summary.examples.hasRoom(FailureGroup.exampleLimit, isNew: isNew)
    let isRecorded = recordBytesLeft > 0 && (new.count + known.count < listedLimit || standing == .counts && !known.isEmpty)
    if isExample || isRecorded {
      let record = FailureRecord(
        url: entry.shownURL,
        manifest: manifest,
        line: entry.line,
        priority: entry.priority,
        variant: variant,
        outcome: result.outcome,
        failure: result.failureWithRedirect,
        attempts: result.attempts,
        remoteCache: result.remoteCache,
        isBlacklisted: result.outcome == .blacklisted || result.isBlacklisted,
        standing: standing,
        id: entry.note?.id,
        element: entry.note?.origin?.element,
        attribute: entry.note?.origin?.attribute,
        pages: entry.note?.pages ?? 0,
        badSince: history?.badSince,
        badRuns: history.map { UInt64($0.badRuns) + 1 } ?? 0,
        imageKey: entry.imageKey
      )
      if isRecorded { keep(record) }
      if isExample {
        groups[group].summary.examples.removeKnown(ifOver: FailureGroup.exampleLimit)
        groups[group].summary.examples.add(record, within: &exampleBytesLeft)
      }
    }
    groups[group].count(result.outcome, host: host)
    if result.outcome == .failed {
      lastGroup = group
      lastURL.removeAll(keepingCapacity: true)
      lastURL.append(contentsOf: entry.url)
    }
    if standing == .counts { groups[group].summary.counting += 1 }
    standings.count(standing, kind: groups[group].key.kind)
  }

  /// Adds the location of an entry whose image has failed before.
  mutating func recordRepeat(of entry: ReportedEntry, manifest: String) {
    let image = entry.imageKey
    guard locations[image] != nil || locations.count < max(listedLimit, 10_000) else { return }
    guard locations[image, default: []].count < FailureRecord.locationLimit else { return }
    locations[image, default: []].append(place(manifest.shortened(to: 160), entry.line))
  }

  var listed: [FailureRecord] { records.map(located) }

  private func located(_ record: FailureRecord) -> FailureRecord {
    var record = record
    record.otherLocations = locations[record.imageKey] ?? []
    record.imageKey = 0
    return record
  }

  private mutating func keep(_ record: FailureRecord) {
    if new.count + known.count >= listedLimit { known.removeLast() }
    // A user who asks for all failures gets all.
    if listedLimit <= FailureRecord.listedLimit { recordBytesLeft -= record.exampleBytes }
    if record.standing != .counts { known.append(record) } else { new.append(record) }
  }

  /// Returns the index of a failure's group, which is added if it is missing.
  private mutating func group(of result: EntryResult, _ entry: ReportedEntry) -> Int {
    let (kind, status, text) = (result.failure?.kind, result.failure?.status, result.failure?.message ?? "")
    if let last, last.kind == kind, last.status == status, last.message == text, result.finalURL == nil { return last.group }
    let failure = result.failureWithRedirect
    // As readers of the records see it.
    let name = entry.shownURL.hostAndPort
    var key = FailureGroup.Key(failure, host: name)
    if indices[key] == nil, groupCounts[key.ofOthers, default: 0] >= FailureGroup.messageLimit { key = key.ofOthers }
    let pattern = MessagePattern(failure?.message ?? "", host: name)
    let group = indices[key] ?? groups.count
    if group < groups.count {
      groups[group].pattern.keepCommonParts(with: pattern)
    } else {
      indices[key] = group
      groups.append(Group(key: key, summary: FailureGroup(kind: key.kind, status: key.status), pattern: pattern))
      groupCounts[key.ofOthers, default: 0] += 1
    }
    if result.finalURL == nil { last = Last(kind: kind, status: status, message: text, group: group) }
    return group
  }

  /// The last entry that failed in this run, such as `http-status 404 https://img.example.com/old.jpg`; nil if there is none.
  var lastFailure: String? { lastGroup.map { "\(groups[$0].key.title) \(String(decoding: lastURL, as: UTF8.self))" } }

  /// The most frequent reason why a host can't be reached; nil if there is none.
  var unreachable: FailureReason? {
    let reasons = groups.compactMap { group in
      group.summary.examples.first?.failure?.unreachableReason.map { (reason: $0, count: group.summary.count) }
    }
    return reasons.max { $0.count < $1.count }?.reason
  }

  /// The groups, the largest first, with the names of their hosts.
  func summaries(hosts: HostTally) -> [FailureGroup] {
    groups.map { group in
      var summary = group.summary
      summary.examples = summary.examples.map(located)
      summary.message = group.pattern.map(\.text).flatMap { $0.isEmpty ? nil : $0 }
      summary.list(group.hosts.map { HostCount(host: hosts.name($0.key), count: $0.value) })
      return summary
    }.sorted { $0.isBefore($1) }
  }
}

extension EntryResult {
  /// The failure, whose message names the URL that redirects led to, with grouped digits.
  var failureWithRedirect: ImageFailure? {
    var failure = failure
    if let message = failure?.message { failure?.message = groupingDigits(in: message) }
    if let finalURL { failure?.message += ", after a redirect to \(finalURL)" }
    return failure
  }
}

extension [FailureRecord] {
  /// Whether there are fewer than `limit`, or a failure that isn't known can replace a known one.
  fileprivate func hasRoom(_ limit: Int, isNew: Bool) -> Bool {
    count < limit || isNew && limit > 0 && contains { $0.standing != .counts }
  }

  /// Makes room for one more by removing the last known one.
  fileprivate mutating func removeKnown(ifOver limit: Int) {
    guard count >= limit, let index = lastIndex(where: { $0.standing != .counts }) else { return }
    remove(at: index)
  }

  /// Adds the first example always, and further ones while they fit into `bytesLeft`.
  fileprivate mutating func add(_ record: FailureRecord, within bytesLeft: inout Int) {
    if !isEmpty {
      guard record.exampleBytes <= bytesLeft else { return }
      bytesLeft -= record.exampleBytes
    }
    append(record)
  }
}

extension FailureRecord {
  fileprivate var exampleBytes: Int { url.utf8.count + (failure?.message.utf8.count ?? 0) }
}
