import ImagePrimitives

extension TextPage {
  /// Groups beyond so many are counted only: each status of HTTP is a group of its own.
  static let groupLimit = 40
  private static let hostLimit = 3

  /// Failed and blacklisted entries by kind and status, each with its hosts and its first URLs.
  mutating func writeFailures(_ report: FinishedReport) {
    let groups = report.failureGroups.prefix(failureLimit == .max ? .max : Self.groupLimit)
    guard !groups.isEmpty else { return }
    line()
    line("Failures")
    let widths = GroupWidths(groups)
    let lists = ListedFailures(report, groups: groups.count, limit: failureLimit)
    for (index, group) in groups.enumerated() {
      let records = lists.records(index)
      write(group, records, report, widths)
      write(records, report)
      if !records.isEmpty, records.count < group.count { line(styled("    …", .detail)) }
    }
    let more = report.totals.bad - min(lists.count, report.totals.bad)
    guard more > 0 else { return }
    let advice = lists.isCut ? ": \(report.words.failuresAdvice)" : ", which this report does not list"
    line(styled("  … \(grouped(more)) more\(advice)", .detail))
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

  /// Title, count and hosts, and the reason that all `records` have, behind them or on a line of its own.
  private mutating func write(
    _ group: FailureGroup,
    _ records: ArraySlice<FailureRecord>,
    _ report: FinishedReport,
    _ widths: GroupWidths
  ) {
    let count = grouped(group.count).rightAligned(to: widths.count)
    let start = "  \(group.title.padded(to: widths.title)) "
    let known = report.knownPhrase(of: group).map { "   (\($0))" } ?? ""
    let hosts = hostList(group, room: max(16, width - columns(of: start + known) - widths.count - 3))
    let reason = records.sharedReason
    var rest = "   " + hosts + styled(known, .detail)
    var isReasonShown = reason == nil
    if let reason, columns(of: start + count + "   " + hosts + known + reason) + 3 <= width {
      rest += "   " + styled(reason, .detail)
      isReasonShown = true
    }
    line(start + styled(count, group.counting > 0 ? .failure : .detail) + rest)
    if let reason, !isReasonShown { line("    " + styled(fitted(reason, to: width - 4), .detail)) }
  }

  /// As many hosts as there is room for, and how many failures are elsewhere; a name that is too long alone is cut on a terminal.
  private func hostList(_ group: FailureGroup, room: Int) -> String {
    var count = min(Self.hostLimit, group.hosts.count)
    while count > 1, columns(of: hostList(group, count: count)) > room { count -= 1 }
    return fitted(hostList(group, count: count), to: room)
  }

  private func hostList(_ group: FailureGroup, count: Int) -> String {
    let elsewhere = group.elsewhere + group.hosts.dropFirst(count).reduce(0) { $0 + $1.count }
    var parts = group.hosts.prefix(count).map { "\(escapedForTerminal($0.host)) \(grouped($0.count))" }
    if elsewhere > 0 { parts.append("elsewhere \(grouped(elsewhere))") }
    return parts.joined(separator: ", ")
  }
}

/// Which failures a text report lists of each group.
///
/// Groups get even parts of the limit, and what one leaves, the others get. Those that count in the verdict come first.
private struct ListedFailures {
  private var known: [[FailureRecord]]
  private var shares: [Int]

  init(_ report: FinishedReport, groups count: Int, limit: Int) {
    var listed: [FailureGroup.Key: [FailureRecord]] = [:]
    for record in report.failures { listed[FailureGroup.Key(record.failure), default: []].append(record) }
    known = report.failureGroups.prefix(count).map { group in
      // Both begin with the first of the group; a group that others left no room in the list has more examples.
      let records = listed[group.key] ?? []
      let all = records.count > group.examples.count ? records : group.examples
      return all.filter { $0.standing == .counts } + all.filter { $0.standing != .counts }
    }
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
  /// How many of a group do not count, such as `50 known`; nil if all do.
  func knownPhrase(of group: FailureGroup) -> String? {
    guard group.count > group.counting else { return nil }
    return group.counting == 0 ? "all known" : "\(grouped(group.count - group.counting)) known"
  }
}

extension FailureRecord {
  /// Its own sentence, which says more than the kind; nil if it has none, and for a status, which says as much.
  var reason: String? {
    guard let failure, failure.kind != .httpStatus, !failure.message.isEmpty else { return nil }
    return "(\(escapedForTerminal(failure.message)))"
  }
}

extension ArraySlice<FailureRecord> {
  /// The sentence that all of them have; nil if they differ.
  var sharedReason: String? {
    guard let reason = first?.reason, allSatisfy({ $0.failure?.message == first?.failure?.message }) else { return nil }
    return reason
  }
}

extension TextPage {
  private struct Row {
    var url: String
    var place: String
    /// Its own sentence; nil if the title has it.
    var reason: String?
    /// The line that makes the request again; nil if it is not to be shown.
    var curl: String?
  }

  /// URL and place side by side where both fit; a longer URL has its place below it.
  fileprivate mutating func write(_ records: ArraySlice<FailureRecord>, _ report: FinishedReport) {
    let isReasonShared = records.sharedReason != nil
    let rows = records.map { row($0, report, isReasonShared: isReasonShared) }
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

  private func row(_ record: FailureRecord, _ report: FinishedReport, isReasonShared: Bool) -> Row {
    let place = escapedForTerminal(record.location) + (record.standing.phrase.map { " (\($0))" } ?? "")
    let variant = record.variant.title.map { " (\(escapedForTerminal($0)))" } ?? ""
    let curl = detail == .all ? report.curlLine(of: record).map(escapedForTerminal) : nil
    let url = fitted(escapedForTerminal(record.url), to: 3 * width) + variant
    return Row(url: url, place: place, reason: isReasonShared ? nil : record.reason, curl: curl)
  }
}
