import ImagePrimitives

extension TextPage {
  private static let groupLimit = 10
  private static let hostLimit = 3
  private static let exampleLimit = 2

  /// Failed and blacklisted entries, grouped by kind and status, with hosts and examples.
  mutating func writeFailures(_ report: FinishedReport) {
    let groups = report.failureGroups
    guard !groups.isEmpty else { return }
    line()
    line("Failures")
    let shown = groups.prefix(Self.groupLimit)
    let titleWidth = max(18, shown.map { columns(of: $0.title) }.max() ?? 0)
    let countWidth = max(6, shown.map { grouped($0.count).count }.max() ?? 0)
    for group in shown { write(group, titleWidth: titleWidth, countWidth: countWidth) }
    let others = groups.dropFirst(Self.groupLimit)
    if !others.isEmpty {
      let count = others.reduce(0) { $0 + $1.count }
      line(styled("  … \(counted(UInt64(others.count), "more kind")) with \(counted(count, "URL"))", .detail))
    }
  }

  private mutating func write(_ group: FailureGroup, titleWidth: Int, countWidth: Int) {
    let count = grouped(group.count).rightAligned(to: countWidth)
    let start = "  \(group.title.padded(to: titleWidth)) "
    let hosts = hostList(group).cut(to: max(16, width - columns(of: start) - countWidth - 3))
    let reason = group.status == nil ? reason(group) : nil
    var rest = "   " + hosts
    var isReasonShown = reason == nil
    if let reason, columns(of: start + count + rest + reason) + 3 <= width {
      rest += "   " + styled(reason, .detail)
      isReasonShown = true
    }
    line(start + styled(count, .failure) + rest)
    if let reason, !isReasonShown { line("    " + styled(reason.cut(to: width - 4), .detail)) }
    writeExamples(group)
  }

  private func hostList(_ group: FailureGroup) -> String {
    let shown = group.hosts.prefix(Self.hostLimit)
    let elsewhere = group.elsewhere + group.hosts.dropFirst(Self.hostLimit).reduce(0) { $0 + $1.count }
    var parts = shown.map { "\(escapedForTerminal($0.host)) \(grouped($0.count))" }
    if elsewhere > 0 { parts.append("elsewhere \(grouped(elsewhere))") }
    return parts.joined(separator: ", ")
  }

  /// The first example's own sentence, which says more than the kind.
  private func reason(_ group: FailureGroup) -> String? {
    guard let message = group.examples.first?.failure?.message, !message.isEmpty else { return nil }
    return "(\(escapedForTerminal(message)))"
  }

  /// URL and place side by side where both fit; a longer URL has its place below it.
  private mutating func writeExamples(_ group: FailureGroup) {
    let rows = group.examples.prefix(Self.exampleLimit).map { example in
      let place = escapedForTerminal(example.manifest) + (example.line > 0 ? ":\(example.line)" : "")
      let variant = example.variant.title.map { " (\(escapedForTerminal($0)))" } ?? ""
      return (url: escapedForTerminal(example.url).cut(to: 3 * width) + variant, place: place)
    }
    let placeWidth = rows.map { columns(of: $0.place) }.max() ?? 0
    let urlWidth = max(54, rows.map { columns(of: $0.url) }.filter { $0 + placeWidth + 6 <= width }.max() ?? 0)
    for row in rows {
      if columns(of: row.url) <= urlWidth, 4 + urlWidth + 2 + columns(of: row.place) <= width {
        line("    \(row.url.padded(to: urlWidth))  \(styled(row.place, .detail))")
      } else if 4 + columns(of: row.url) + 2 + columns(of: row.place) <= width {
        line("    \(row.url)  \(styled(row.place, .detail))")
      } else {
        line("    \(row.url)")
        line("      \(styled(row.place.cut(to: width - 6), .detail))")
      }
    }
    let more = group.count - UInt64(rows.count)
    if more > 0 { line(styled("    … \(grouped(more)) more", .detail)) }
  }
}
