import ImagePrimitives

extension TextPage {
  /// Groups beyond so many are counted only: each status of HTTP is a group of its own.
  static let groupLimit = 40
  private static let hostLimit = 3

  /// Whether failures take an overview, so that all kinds stand on the first screen, and examples below it.
  static func needsOverview(_ report: FinishedReport) -> Bool { report.failureGroups.count > 4 }

  /// Failed and blacklisted entries, grouped by kind and status, with hosts and examples.
  mutating func writeFailures(_ report: FinishedReport) {
    let groups = report.failureGroups
    guard !groups.isEmpty else { return }
    line()
    line("Failures")
    let widths = GroupWidths(groups)
    for group in groups {
      write(group, report, widths)
      writeExamples(group, report)
    }
  }

  /// A line for each kind, below one that names the host with most failures.
  mutating func writeOverview(_ report: FinishedReport) {
    let shown = Array(report.failureGroups.prefix(Self.groupLimit))
    let widths = GroupWidths(shown)
    line()
    let count = grouped(report.totals.bad).rightAligned(to: widths.count)
    let start = "Failures".padded(to: widths.title + 2) + " "
    let room = width - columns(of: start) - widths.count - 3
    line(start + styled(count, .failure) + "   " + (worstHost(report).map { $0.cut(to: room) } ?? ""))
    for group in shown { write(group, report, widths, isAlone: true) }
    let others = report.failureGroups.dropFirst(Self.groupLimit)
    if !others.isEmpty {
      let count = others.reduce(0) { $0 + $1.count }
      line(styled("  … \(counted(UInt64(others.count), "more kind")) with \(counted(count, "URL"))", .detail))
    }
  }

  /// `worst: img.example.com, 612 of 8,120 URLs`; nil if no entry with a host failed.
  private func worstHost(_ report: FinishedReport) -> String? {
    guard let worst = report.worstHost else { return nil }
    let share = worst.urls.map { "\(grouped(worst.bad)) of \(counted($0, "URL"))" } ?? "\(grouped(worst.bad)) bad"
    return "worst: \(escapedForTerminal(worst.host)), \(share)"
  }

  /// The widths of the columns of groups.
  private struct GroupWidths {
    var title: Int
    var count: Int

    init(_ groups: [FailureGroup]) {
      title = max(18, groups.map { columns(of: $0.title) }.max() ?? 0)
      count = max(6, groups.map { grouped($0.count).count }.max() ?? 0)
    }
  }

  /// Title, count and hosts; the reason behind them, or on a line of its own unless the group `isAlone` on its line.
  private mutating func write(_ group: FailureGroup, _ report: FinishedReport, _ widths: GroupWidths, isAlone: Bool = false) {
    let count = grouped(group.count).rightAligned(to: widths.count)
    let start = "  \(group.title.padded(to: widths.title)) "
    let letOff = report.letOffPhrase(of: group).map { "   (\($0))" } ?? ""
    let hosts = hostList(group, room: max(16, width - columns(of: start + letOff) - widths.count - 3))
    let reason = isAlone ? nil : examples(of: group, report).sharedReason
    var rest = "   " + hosts + styled(letOff, .detail)
    var isReasonShown = reason == nil
    if let reason, columns(of: start + count + "   " + hosts + letOff + reason) + 3 <= width {
      rest += "   " + styled(reason, .detail)
      isReasonShown = true
    }
    line(start + styled(count, group.counting > 0 ? .failure : .detail) + rest)
    if let reason, !isReasonShown { line("    " + styled(reason.cut(to: width - 4), .detail)) }
  }

  /// As many hosts as there is room for, and how many failures are elsewhere; a name that is too long alone is cut.
  private func hostList(_ group: FailureGroup, room: Int) -> String {
    var count = min(Self.hostLimit, group.hosts.count)
    while count > 1, columns(of: hostList(group, count: count)) > room { count -= 1 }
    return hostList(group, count: count).cut(to: room)
  }

  private func hostList(_ group: FailureGroup, count: Int) -> String {
    let elsewhere = group.elsewhere + group.hosts.dropFirst(count).reduce(0) { $0 + $1.count }
    var parts = group.hosts.prefix(count).map { "\(escapedForTerminal($0.host)) \(grouped($0.count))" }
    if elsewhere > 0 { parts.append("elsewhere \(grouped(elsewhere))") }
    return parts.joined(separator: ", ")
  }
}

extension FinishedReport {
  /// How many of a group do not count, such as `50 known`; nil if all do.
  func letOffPhrase(of group: FailureGroup) -> String? {
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

extension [FailureRecord] {
  /// The sentence that all of them have; nil if they differ.
  var sharedReason: String? {
    guard let reason = first?.reason, allSatisfy({ $0.failure?.message == first?.failure?.message }) else { return nil }
    return reason
  }
}

extension TextPage {
  private static let exampleLimit = 2

  private struct Row {
    var url: String
    var place: String
    /// Its own sentence; nil if the title has it.
    var reason: String?
    /// The line that makes the request again; nil if it is not to be shown.
    var curl: String?
  }

  /// The examples of all groups, each below its title.
  mutating func writeExamples(_ report: FinishedReport) {
    line()
    line("Examples")
    for group in report.failureGroups.prefix(isVerbose ? .max : Self.groupLimit) {
      let title = "  \(group.title)"
      let reason = examples(of: group, report).sharedReason?.cut(to: max(16, width - columns(of: title) - 3))
      line(title + (reason.map { "   " + styled($0, .detail) } ?? ""))
      writeExamples(group, report)
    }
  }

  /// What is known of a group entry by entry: its examples, or, in a verbose report, all that are listed.
  func examples(of group: FailureGroup, _ report: FinishedReport) -> [FailureRecord] {
    guard isVerbose else { return group.examples }
    let listed = report.failures.filter {
      $0.failure?.kind == group.kind && (group.status == nil || $0.failure?.status == group.status)
    }
    // Both begin with the first of the group; a group that others left no room in the list has more examples.
    return listed.count > group.examples.count ? listed : group.examples
  }

  /// URL and place side by side where both fit; a longer URL has its place below it. Those that count come first.
  mutating func writeExamples(_ group: FailureGroup, _ report: FinishedReport) {
    let known = examples(of: group, report)
    let examples = known.filter { $0.standing == .counts } + known.filter { $0.standing != .counts }
    let isReasonShared = known.sharedReason != nil
    let rows = examples.prefix(isVerbose ? .max : Self.exampleLimit).map { row($0, report, isReasonShared: isReasonShared) }
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
        line("      \(styled(row.place.cut(to: width - 6), .detail))")
      }
      if let reason = row.reason { line("      " + styled(reason.cut(to: width - 6), .detail)) }
      if let curl = row.curl { line("      " + styled(curl, .detail)) }
    }
    let more = group.count - min(group.count, UInt64(rows.count))
    if more > 0 { line(styled("    … \(grouped(more)) more", .detail)) }
  }

  private func row(_ example: FailureRecord, _ report: FinishedReport, isReasonShared: Bool) -> Row {
    let place = escapedForTerminal(example.location) + (example.standing.phrase.map { " (\($0))" } ?? "")
    let variant = example.variant.title.map { " (\(escapedForTerminal($0)))" } ?? ""
    let curl = isVerbose ? report.curlLine(of: example).map(escapedForTerminal) : nil
    let url = escapedForTerminal(example.url).cut(to: 3 * width) + variant
    return Row(url: url, place: place, reason: isReasonShared ? nil : example.reason, curl: curl)
  }
}
