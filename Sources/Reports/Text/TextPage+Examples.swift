import ImagePrimitives

extension TextPage {
  private static let exampleLimit = 2

  private struct Row {
    var url: String
    var place: String
    /// Its own sentence; nil where that stands beside the title.
    var reason: String?
    /// The line that makes the request again; nil where it is not to be shown.
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
    let place = escapedForTerminal(example.place) + (example.standing.phrase.map { " (\($0))" } ?? "")
    let variant = example.variant.title.map { " (\(escapedForTerminal($0)))" } ?? ""
    let curl = isVerbose ? report.curlLine(of: example).map(escapedForTerminal) : nil
    let url = escapedForTerminal(example.url).cut(to: 3 * width) + variant
    return Row(url: url, place: place, reason: isReasonShared ? nil : example.reason, curl: curl)
  }
}
