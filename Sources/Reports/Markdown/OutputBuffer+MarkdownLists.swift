import ImagePrimitives

/// The lists of a Markdown report: each has a limit, and tells how many it leaves out.
extension OutputBuffer {
  private static let groupLimit = 30
  private static let groupHostLimit = 3
  private static let exampleLimit = 10
  private static let hostLimit = 10
  private static let placeholderLimit = 20
  private static let warningLimit = 20

  /// A row a kind and status, the most frequent first.
  mutating func appendMarkdownFailures(_ report: FinishedReport) {
    guard !report.failureGroups.isEmpty else { return }
    appendLiteral("\n### Failures\n\n| Failure | URLs | Hosts |\n|:--|--:|:--|\n")
    for group in report.failureGroups.prefix(Self.groupLimit) {
      append("| \(group.title) | \(grouped(group.count)) | ")
      for (index, host) in group.hosts.prefix(Self.groupHostLimit).enumerated() {
        if index > 0 { appendLiteral(", ") }
        appendCode(host.host)
        append(" \(grouped(host.count))")
      }
      let elsewhere = group.elsewhere + group.hosts.dropFirst(Self.groupHostLimit).reduce(0) { $0 + $1.count }
      if elsewhere > 0 { append("\(group.hosts.isEmpty ? "" : ", ")elsewhere \(grouped(elsewhere))") }
      appendLiteral(" |\n")
    }
    let others = report.failureGroups.dropFirst(Self.groupLimit)
    if !others.isEmpty {
      append("| … \(grouped(UInt64(others.count))) more | \(grouped(others.reduce(0) { $0 + $1.count })) | |\n")
    }
    if let standings = report.standings.phrase { append("\n\(standings)\n") }
  }

  /// The first failures of each kind, folded up.
  mutating func appendMarkdownExamples(_ report: FinishedReport) {
    for group in report.failureGroups.prefix(Self.groupLimit) where !group.examples.isEmpty {
      // Between tags, Markdown is read again after a blank line only; a title is of our own words.
      append("\n<details><summary>\(group.title): \(counted(group.count, "URL"))</summary>\n\n")
      for example in group.examples.prefix(Self.exampleLimit) {
        appendLiteral("- ")
        appendCode(example.url)
        if let variant = example.variant.title {
          appendLiteral(" as ")
          appendCode(variant)
        }
        appendLiteral(" in ")
        appendCode(example.place)
        if let message = example.failure?.message, !message.isEmpty {
          appendLiteral(": ")
          appendCode(message)
        }
        appendLiteral("\n")
      }
      let more = group.count - min(group.count, UInt64(min(group.examples.count, Self.exampleLimit)))
      if more > 0 { append("- … \(grouped(more)) more\n") }
      appendLiteral("\n</details>\n")
    }
  }

  /// Those with most failures first, then those with most entries.
  mutating func appendMarkdownHosts(_ report: FinishedReport) {
    guard !report.hosts.isEmpty else { return }
    let hosts = report.hostsByFailures
    let hits = report.totals.revalidated > 0 ? "Hits and 304" : "Hits"
    append("\n### Hosts\n\n| Host | URLs | \(hits) | New | Bad | Median | 99 % |\n|:--|--:|--:|--:|--:|--:|--:|\n")
    for host in hosts.prefix(Self.hostLimit) {
      appendLiteral("| ")
      appendCode(host.host)
      let totals = host.totals
      for count in [totals.urls, totals.hits + totals.revalidated, totals.downloaded + totals.checked, totals.bad] {
        append(" | \(grouped(count))")
      }
      for fraction in [0.5, 0.99] { append(" | \(host.latency.percentile(fraction).map(latency) ?? "–")") }
      appendLiteral(" |\n")
    }
    let others = UInt64(max(0, hosts.count - Self.hostLimit)) + report.hostsOmitted
    if others > 0 { append("\n… \(counted(others, "more host"))\n") }
  }

  /// Images that stand for many URLs of a host.
  mutating func appendMarkdownPlaceholders(_ report: FinishedReport) {
    guard !report.placeholders.isEmpty else { return }
    appendLiteral("\n### Placeholders\n\n| Host | URLs | The one image for them | First |\n|:--|--:|:--|:--|\n")
    for placeholder in report.placeholders.prefix(Self.placeholderLimit) {
      appendLiteral("| ")
      appendCode(placeholder.host)
      append(" | \(grouped(placeholder.urls)) | \(placeholder.imagePhrase) | ")
      appendCode(placeholder.firstURL)
      appendLiteral(" |\n")
    }
    appendMarkdownRest(report.placeholders.count - Self.placeholderLimit)
  }

  /// Sentences on the run and on entries.
  mutating func appendMarkdownWarnings(_ report: FinishedReport) {
    guard !report.warnings.isEmpty else { return }
    appendLiteral("\n### Warnings\n\n")
    for warning in report.warnings.prefix(Self.warningLimit) {
      appendLiteral("- ")
      appendCode(warning)
      appendLiteral("\n")
    }
    appendMarkdownRest(report.warnings.count - Self.warningLimit)
  }

  private mutating func appendMarkdownRest(_ count: Int) {
    if count > 0 { append("\n… \(grouped(UInt64(count))) more\n") }
  }
}
