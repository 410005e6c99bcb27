import ImagePrimitives

extension TextPage {
  private static let exampleLimit = 2

  private struct Row {
    var url: String
    var place: String
    /// The line that makes the request again; nil where it is not to be shown.
    var curl: String?
  }

  /// The examples of all groups, each below its title.
  mutating func writeExamples(_ report: FinishedReport) {
    line()
    line("Examples")
    for group in report.failureGroups.prefix(Self.groupLimit) {
      let title = "  \(group.title)"
      let reason = group.status == nil ? group.reason?.cut(to: max(16, width - columns(of: title) - 3)) : nil
      line(title + (reason.map { "   " + styled($0, .detail) } ?? ""))
      writeExamples(group, report)
    }
  }

  /// URL and place side by side where both fit; a longer URL has its place below it. Those that count come first.
  mutating func writeExamples(_ group: FailureGroup, _ report: FinishedReport) {
    let examples = group.examples.filter { $0.standing == .counts } + group.examples.filter { $0.standing != .counts }
    let rows = examples.prefix(isVerbose ? examples.count : Self.exampleLimit).map { row($0, report) }
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
      if let curl = row.curl { line("      " + styled(curl, .detail)) }
    }
    let more = group.count - UInt64(rows.count)
    if more > 0 { line(styled("    … \(grouped(more)) more", .detail)) }
  }

  private func row(_ example: FailureRecord, _ report: FinishedReport) -> Row {
    var place = escapedForTerminal(example.place)
    switch example.standing {
    case .counts: break
    case .known: place += " (known)"
    case .inGrace: place += " (in grace)"
    }
    let variant = example.variant.title.map { " (\(escapedForTerminal($0)))" } ?? ""
    let curl = isVerbose ? report.curlLine(of: example).map(escapedForTerminal) : nil
    return Row(url: escapedForTerminal(example.url).cut(to: 3 * width) + variant, place: place, curl: curl)
  }
}
