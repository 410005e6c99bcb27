import Base

extension TextPage {
  /// Writes a line for each outcome that occurred: count, share, and details.
  mutating func writeOutcomes(_ report: FinishedReport) {
    let totals = report.totals
    guard totals.urls > 0 else { return }
    let rows: [(name: String, count: UInt64, detail: String, style: Style)] = [
      ("hit", totals.hits, hitDetail(totals), .plain),
      ("downloaded", totals.downloaded, report.costs(of: .downloaded), .plain),
      ("revalidated", totals.revalidated, report.costs(of: .revalidated), .plain),
      ("checked", totals.checked, report.costs(of: .checked), .plain),
      ("failed", totals.failed, failedDetail(report), .failure),
      ("blacklisted", totals.blacklisted, "not requested; \(report.words.blacklistAdvice)", .failure),
      ("skipped", totals.skipped, "filtered out, or not cached (cache.mode: only)", .plain),
      ("cancelled", totals.cancelled, report.end.cache == nil ? "not finished" : "not finished; run again to resume", .warning),
    ].filter { $0.count > 0 }
    let countWidth = max(5, rows.map { grouped($0.count).count }.max() ?? 0)
    line()
    for row in rows {
      let count = grouped(row.count).rightAligned(to: countWidth)
      let share = percent(row.count, of: totals.urls).rightAligned(to: 7)
      line("  \(row.name.padded(to: 11))  \(styled(count, row.style))  \(share)   \(styled(row.detail, .detail))")
    }
  }

  private func hitDetail(_ totals: OutcomeTotals) -> String {
    switch (totals.hitMemory, totals.hitDisk) {
    case (0, _): "from disk"
    case (_, 0): "from memory"
    default: "\(grouped(totals.hitMemory)) from memory, \(grouped(totals.hitDisk)) from disk"
    }
  }

  private func failedDetail(_ report: FinishedReport) -> String {
    let transient = report.traffic.transientFailures
    let parts = [transient > 0 ? "\(grouped(transient)) may be temporary" : nil, report.sharedPhrase(of: .failed)]
    return parts.compactMap(\.self).joined(separator: ", ")
  }
}

extension TextPage {
  private static let hostRowLimit = 10

  /// Writes the hosts with most failures, then those with most entries: their outcomes and latencies.
  mutating func writeHosts(_ report: FinishedReport) {
    guard !report.hosts.isEmpty else { return }
    let shown = report.hostsByFailures.prefix(Self.hostRowLimit)
    let titles = ["urls", report.totals.revalidated > 0 ? "hits+304" : "hits", "new", "bad", "median", "p99"]
    writeTable("Hosts", titles, least: 10, shown.map { ($0.host, $0.counts.map { $0 == 0 ? "–" : grouped($0) } + $0.times) })
    let others = UInt64(report.hosts.count - shown.count) + report.hostsOmitted
    if others > 0 { line(styled("  … \(counted(others, "more host"))", .detail)) }
  }

  /// Writes the lists or pages with failures, those with most first; nothing for a single list.
  mutating func writeLists(_ report: FinishedReport) {
    let bad = report.manifestsByFailures.filter { $0.totals.bad > 0 }
    guard report.manifests.count > 1, !bad.isEmpty else { return }
    let shown = bad.prefix(Self.hostRowLimit)
    let rows = shown.map { ($0.path, [$0.totals.urls, $0.totals.bad].map(grouped)) }
    writeTable("Lists with failures", ["urls", "bad"], least: 20, rows)
    if bad.count > shown.count { line(styled("  … \(counted(UInt64(bad.count - shown.count), "more list"))", .detail)) }
  }

  /// Writes names, at least `least` columns wide, and their figures below titles; those of bad entries are emphasised.
  private mutating func writeTable(_ title: String, _ titles: [String], least: Int, _ rows: [(name: String, cells: [String])]) {
    let widths = titles.indices.map { index in
      max(7, columns(of: titles[index]), rows.map { columns(of: $0.cells[index]) }.max() ?? 0)
    }
    let numbers = widths.reduce(0) { $0 + $1 + 2 }
    let names = rows.map { "  " + escapedForTerminal($0.name) }
    let nameWidth = min(max(names.map { columns(of: $0) }.max() ?? 0, least), max(20, width - numbers))
    func join(_ cells: [String], _ style: (Int) -> Style) -> String {
      cells.indices.map { "  " + styled(cells[$0].rightAligned(to: widths[$0]), style($0)) }.joined()
    }
    line()
    line(title.padded(to: nameWidth) + join(titles) { _ in .plain })
    for (name, row) in zip(names, rows) {
      let figures = join(row.cells) { titles[$0] == "bad" && row.cells[$0] != "–" ? .failure : .plain }
      line(fitted(name, to: nameWidth).padded(to: nameWidth) + figures)
    }
  }
}

extension TextPage {
  private static let remoteCacheRowLimit = 10

  /// Writes the hit ratios of remote caches by host and edge; nothing if the job doesn't check them.
  mutating func writeRemoteCaches(_ report: FinishedReport) {
    let rows = report.hosts.flatMap { host in
      host.remoteCaches.map { count in (name: ([host.host] + (count.edge.map { [$0] } ?? [])).joined(separator: ", "), count) }
    }
    guard !rows.isEmpty else { return }
    let shown = rows.prefix(Self.remoteCacheRowLimit).map { (name: "  " + escapedForTerminal($0.name), count: $0.1) }
    let nameWidth = min(max(18, shown.map { columns(of: $0.name) }.max() ?? 0), max(18, width - 46))
    line()
    line("Remote caches")
    for row in shown {
      let (count, name) = (row.count, fitted(row.name, to: nameWidth).padded(to: nameWidth))
      line(name + "  " + count.hitShare.rightAligned(to: 7) + "  " + styled(count.phrase, .detail))
    }
    more(rows.count - shown.count)
  }
}

extension TextPage {
  private static let placeholderLimit = 10

  /// Writes the placeholders: how many URLs returned each image, its properties, and the first URL.
  mutating func writePlaceholders(_ report: FinishedReport) {
    guard !report.placeholders.isEmpty else { return }
    let shown = report.placeholders.prefix(Self.placeholderLimit)
    let countWidth = max(5, shown.map { grouped($0.urls).count }.max() ?? 0)
    let images = shown.map(\.imagePhrase)
    let imageWidth = images.map { columns(of: $0) }.max() ?? 0
    line()
    line("Placeholders: one image for many URLs of a host")
    for (placeholder, image) in zip(shown, images) {
      let start = "  \(grouped(placeholder.urls).rightAligned(to: countWidth)) x  \(image.padded(to: imageWidth))  "
      let url = fitted(escapedForTerminal(placeholder.firstURL), to: 3 * width)
      if columns(of: start + url) <= width {
        line(start + url)
      } else {
        line(start + fitted(escapedForTerminal(placeholder.host), to: width - columns(of: start)))
        line("    \(url)")
      }
    }
    more(report.placeholders.count - shown.count)
  }

  /// Writes the findings about the delivery of good images, with the first URLs of each.
  mutating func writeLint(_ report: FinishedReport) {
    guard !report.lint.isEmpty else { return }
    line()
    line("Lint: how good images are delivered")
    let nameWidth = report.lint.map(\.rule.name.utf8.count).max() ?? 0
    for summary in report.lint {
      let style: Style = summary.severity == .fail && summary.count > 0 ? .failure : .plain
      line("  \(styled(summary.rule.name.padded(to: nameWidth), style))  \(summary.phrase)")
      if summary.count > 0 { line(styled("    \(fitted(summary.rule.reason, to: width - 4))", .detail)) }
      let limit = detail == .all ? Int.max : Self.lintExampleLimit
      if !summary.hosts.isEmpty {
        writeHosts(of: summary, limit: limit)
        continue
      }
      let shown = summary.examples.prefix(limit)
      for example in shown {
        line("    \(fitted(escapedForTerminal(example.url), to: 3 * width))")
        let saved = example.savedBytes > 0 ? ", saves \(byteCount(Double(example.savedBytes)))" : ""
        let place = example.location.isEmpty ? "" : " (\(escapedForTerminal(example.location)))"
        let text = "\(escapedForTerminal(example.message))\(saved)\(place)"
        line("      " + styled(fitted(text, to: width - 6), .detail))
      }
      more(Int(clamping: summary.count) - shown.count, "    ")
    }
  }

  private static var lintExampleLimit: Int { 3 }

  private mutating func writeHosts(of summary: LintSummary, limit: Int) {
    let shown = summary.hosts.prefix(limit)
    for host in shown {
      line("    \(escapedForTerminal(host.host))  \(escapedForTerminal(host.phrase(summary.rule)))")
      line("      " + styled("first \(fitted(escapedForTerminal(host.firstURL), to: 3 * width))", .detail))
    }
    more(Int(clamping: summary.count) - Int(clamping: shown.reduce(0) { $0 + $1.count }), "    ")
  }

  mutating func writeDuplicates(_ duplicates: Duplicates?) {
    guard let duplicates, duplicates.bodies > 0 else { return }
    let least = duplicates.isComplete ? "" : "at least "
    paragraph("Duplicates", ["\(least)\(counted(duplicates.bodies, "image")) from \(counted(duplicates.urls, "URL"))"])
  }
}

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
    let excused = report.standings.excused
    if isQuiet, excused > 0 {
      line(styled("  … \(grouped(excused)) \(report.standings.excuses) \(excused == 1 ? "isn't" : "aren't") listed", .detail))
    }
    guard report.totals.blacklisted > 0 else { return }
    line(styled("  to request blacklisted URLs again: \(report.words.retryAdvice)", .detail))
  }

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

/// The failures that a text report lists of each group. Groups get equal parts of the limit, and share the rest of smaller
/// groups. Failures that count in the verdict come first.
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
    let others = standings.excuses
    if group.counting == 0 { return "all \(others)" }
    let rest = "\(grouped(group.count - group.counting)) \(others)"
    return standings.known == 0 ? rest : "\(grouped(group.counting)) new, \(rest)"
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
