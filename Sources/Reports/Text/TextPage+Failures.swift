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

  /// `worst: img.example.com, 612 of 8,120 URLs`; nil where no entry with a host failed.
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
  /// How many of a group do not count, such as `50 known`; nil where all do.
  func letOffPhrase(of group: FailureGroup) -> String? {
    guard group.count > group.counting else { return nil }
    return group.counting == 0 ? "all known" : "\(grouped(group.count - group.counting)) known"
  }
}

extension FailureRecord {
  /// Its own sentence, which says more than the kind; nil where it has none, and for a status, which says as much.
  var reason: String? {
    guard let failure, failure.kind != .httpStatus, !failure.message.isEmpty else { return nil }
    return "(\(escapedForTerminal(failure.message)))"
  }
}

extension [FailureRecord] {
  /// The sentence that all of them have; nil where they differ.
  var sharedReason: String? {
    guard let reason = first?.reason, allSatisfy({ $0.failure?.message == first?.failure?.message }) else { return nil }
    return reason
  }
}
