import Base

extension TextPage {
  /// The limit of listed groups, since each HTTP status is a group of its own.
  static let groupLimit = 40
  private static let hostLimit = 3

  /// Writes failed and blacklisted entries by kind and status, with hosts and first URLs.
  mutating func writeFailures(_ report: FinishedReport) {
    let isQuiet = detail == .failures
    var groups = report.failureGroups.prefix(failureLimit == .max ? .max : Self.groupLimit)
    if isQuiet { groups.removeAll { $0.counting == 0 } }
    guard !groups.isEmpty else { return }
    line()
    line("Failures")
    let widths = GroupWidths(groups)
    let lists = ListedFailures(report, of: Array(groups), isNewOnly: isQuiet, limit: failureLimit)
    for (index, group) in groups.enumerated() {
      let records = lists.records(index)
      write(group, report, widths)
      write(records, of: group, report)
      if !records.isEmpty, records.count < (isQuiet ? group.counting : group.count) { line(styled("    …", .detail)) }
    }
    let expected = isQuiet ? report.standings.counting : report.totals.bad
    let more = expected - min(lists.count, expected)
    if more > 0 {
      let advice = lists.isCut ? ": \(report.words.failuresAdvice)" : ", which this report doesn't list"
      line(styled("  … \(grouped(more)) more\(advice)", .detail))
    }
    let known = report.standings.known
    if isQuiet, known > 0 { line(styled("  … \(grouped(known)) known \(known == 1 ? "isn't" : "aren't") listed", .detail)) }
    guard report.totals.blacklisted > 0 else { return }
    line(styled("  to request blacklisted URLs again: \(report.words.retryAdvice)", .detail))
  }

  /// The widths of the columns of groups.
  private struct GroupWidths {
    var title: Int
    var count: Int

    init(_ groups: some Collection<FailureGroup>) {
      title = max(16, groups.map { columns(of: $0.title) }.max() ?? 0)
      count = max(5, groups.map { grouped($0.count).count }.max() ?? 0)
    }
  }

  /// Writes title, count and hosts, and the common reason of all failures, on the same line if it fits.
  private mutating func write(_ group: FailureGroup, _ report: FinishedReport, _ widths: GroupWidths) {
    let count = grouped(group.count).rightAligned(to: widths.count)
    let start = "  \(group.title.padded(to: widths.title)) "
    let known = report.knownPhrase(of: group).map { "   (\($0))" } ?? ""
    let hosts = hostList(group, room: max(16, width - columns(of: start + known) - widths.count - 3))
    let reason = group.reason
    var rest = "   " + hosts + styled(known, .detail)
    var isReasonShown = reason == nil
    if let reason, columns(of: start + count + "   " + hosts + known + reason) + 3 <= width {
      rest += "   " + styled(reason, .detail)
      isReasonShown = true
    }
    line(start + styled(count, group.counting > 0 ? .failure : .detail) + rest)
    if let reason, !isReasonShown { line("    " + styled(fitted(reason, to: width - 4), .detail)) }
  }

  /// As many hosts as fit, and the number of failures elsewhere; a single name that is too long is cut on a terminal.
  private func hostList(_ group: FailureGroup, room: Int) -> String {
    var count = min(Self.hostLimit, group.hosts.count)
    func list() -> String { group.hostPhrase(limit: count, escapedForTerminal) }
    while count > 1, columns(of: list()) > room { count -= 1 }
    return fitted(list(), to: room)
  }
}

/// The failures that a text report lists of each group.
///
/// Groups get equal parts of the limit, and share the rest of smaller groups. Failures that count in the verdict come first.
private struct ListedFailures {
  private var known: [[FailureRecord]]
  private var shares: [Int]

  init(_ report: FinishedReport, of groups: [FailureGroup], isNewOnly: Bool, limit: Int) {
    known = report.knownFailures(of: groups)
    if isNewOnly { known = known.map { $0.filter { $0.standing == .counts } } }
    shares = known.map { _ in 0 }
    var left = limit
    var open = known.indices.filter { !known[$0].isEmpty }
    while left > 0, !open.isEmpty {
      let share = max(1, left / open.count)
      for index in open {
        let taken = min(share, known[index].count - shares[index], left)
        shares[index] += taken
        left -= taken
      }
      open.removeAll { shares[$0] == known[$0].count }
    }
  }

  func records(_ group: Int) -> ArraySlice<FailureRecord> { known[group].prefix(shares[group]) }

  /// How many are listed.
  var count: UInt64 { UInt64(shares.reduce(0, +)) }

  /// Whether more are known than are listed.
  var isCut: Bool { zip(known, shares).contains { $0.count > $1 } }
}

extension FinishedReport {
  /// The failures that the report knows of each group; those that count in the verdict come first.
  func knownFailures(of groups: [FailureGroup]) -> [[FailureRecord]] {
    var listed: [FailureGroup.Key: [FailureRecord]] = [:]
    let keys = Set(failureGroups.map(\.key))
    for record in failures {
      let key = FailureGroup.Key(record.failure, host: record.url.hostAndPort)
      listed[keys.contains(key) ? key : key.ofOthers, default: []].append(record)
    }
    return groups.map { group in
      // Both begin with the first of the group; if other groups filled the list, there are more examples.
      let records = listed[group.key] ?? []
      return (records.count > group.examples.count ? records : group.examples).countingFirst
    }
  }

  /// How many failures of a group don't count, such as `2 new, 50 known`; nil if all count, and no baseline says that they are new.
  func knownPhrase(of group: FailureGroup) -> String? {
    if group.count <= group.counting { return baseline == nil ? nil : "new" }
    let known = group.count - group.counting
    return group.counting == 0 ? "all known" : "\(grouped(group.counting)) new, \(grouped(known)) known"
  }

  /// `new` or `known`; nil if there is no baseline, and for a failure that counts.
  func standingPhrase(of record: FailureRecord) -> String? { record.standing.phrase ?? (baseline == nil ? nil : "new") }
}

extension FailureGroup {
  /// The message of all, which is more specific than the kind; nil if they have none in common, and for the status of a response.
  fileprivate var reason: String? { message.flatMap { kind != .httpStatus || failed == 0 ? "(\(escapedForTerminal($0)))" : nil } }
}

extension FailureRecord {
  /// Its message, if that says more than its group's; nil for the status of a response.
  fileprivate func reason(in group: FailureGroup) -> String? {
    guard let failure, failure.kind != .httpStatus || outcome == .blacklisted, !failure.message.isEmpty else { return nil }
    return failure.message == group.message ? nil : "(\(escapedForTerminal(failure.message)))"
  }
}

extension TextPage {
  private struct Row {
    var url: String
    var place: String
    /// Its own reason; nil if the group's line has it.
    var reason: String?
    /// The line that repeats the request; nil if it isn't shown.
    var curl: String?
  }

  /// Writes URL and location on one line if both fit, or the location below the URL.
  fileprivate mutating func write(_ records: ArraySlice<FailureRecord>, of group: FailureGroup, _ report: FinishedReport) {
    let rows = records.map { row($0, of: group, report) }
    let placeWidth = rows.map { columns(of: $0.place) }.max() ?? 0
    let room = width - placeWidth - 6
    let urlWidth = max(min(54, room), rows.map { columns(of: $0.url) }.filter { $0 <= room }.max() ?? 0)
    for row in rows {
      if columns(of: row.url) <= urlWidth, 4 + urlWidth + 2 + columns(of: row.place) <= width {
        line("    \(row.url.padded(to: urlWidth))  \(styled(row.place, .detail))")
      } else if 4 + columns(of: row.url) + 2 + columns(of: row.place) <= width {
        line("    \(row.url)  \(styled(row.place, .detail))")
      } else {
        line("    \(row.url)")
        line("      \(styled(fitted(row.place, to: width - 6), .detail))")
      }
      if let reason = row.reason { line("      " + styled(fitted(reason, to: width - 6), .detail)) }
      if let curl = row.curl { line("      " + styled(curl, .detail)) }
    }
  }

  private func row(_ record: FailureRecord, of group: FailureGroup, _ report: FinishedReport) -> Row {
    let origin = record.origin.map { " \(escapedForTerminal($0))" } ?? ""
    let place = escapedForTerminal(record.location) + origin + (report.standingPhrase(of: record).map { " (\($0))" } ?? "")
    let variant = record.variant.title.map { " (\(escapedForTerminal($0)))" } ?? ""
    let curl = detail == .all ? report.curlLine(of: record).map(escapedForTerminal) : nil
    let url = fitted(escapedForTerminal(record.url), to: 3 * width) + variant
    return Row(url: url, place: place, reason: record.reason(in: group), curl: curl)
  }
}
