import Base

/// The report in GitHub-flavoured Markdown, for comments on pull requests and step summaries.
///
/// It has the verdict, outcomes, failures by kind with hosts and first examples, the hosts with most failures, placeholders, warnings and
/// the cache, in this order. Every list and every text has a limit, and shows what it omits by a count or an ellipsis.
struct MarkdownReport: ReportForm {
  /// The limit of texts from outside, in bytes.
  static let textLimit = 300

  /// The limit of the report in bytes; 1,000,000 by default, below GitHub's limit of 1 MiB per step. The first section that doesn't fit
  /// and all later ones are omitted; the report is empty if not even the verdict fits.
  var maximumBytes = 1_000_000

  func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    let note = "\n… the rest is omitted: the report is too long\n"
    let start = output.count
    for (index, section) in Self.sections.enumerated() {
      var page = OutputBuffer()
      section(report, &page)
      let isLast = index == Self.sections.endIndex - 1
      let room = maximumBytes - (output.count - start) - (isLast ? 0 : note.utf8.count)
      guard page.count <= room else {
        if index > 0 { output.append(note) }
        return
      }
      page.withUnsafeBytes { output.append($0) }
    }
  }

  private static let sections: [@Sendable (FinishedReport, inout OutputBuffer) -> Void] = [
    { $1.appendMarkdownVerdict($0) }, { $1.appendMarkdownDifference($0) }, { $1.appendMarkdownOutcomes($0) },
    { $1.appendMarkdownFailures($0) }, { $1.appendMarkdownExamples($0) }, { $1.appendMarkdownHosts($0) },
    { $1.appendMarkdownPlaceholders($0) }, { $1.appendMarkdownLint($0) }, { $1.appendMarkdownWarnings($0) },
    { $1.appendMarkdownStores($0) },
  ]
}

extension OutputBuffer {
  fileprivate mutating func appendMarkdownVerdict(_ report: FinishedReport) {
    appendLiteral("## ")
    appendCode(report.job.title)
    appendLiteral("\n\n")
    let sentence = report.headline.sentence
    if report.end.breakage == nil, report.verdict == report.failOn.verdict(of: report) {
      appendLiteral("**")
      appendMarkdown(sentence)
      appendLiteral("**\n")
    } else {
      // A breakage, or a verdict from a file, may contain text from outside.
      appendCode(sentence, limit: 2000)
      appendLiteral("\n")
    }
    guard !report.job.description.isEmpty else { return }
    appendLiteral("\n")
    appendCode(report.job.description, limit: 600)
    appendLiteral("\n")
  }

  fileprivate mutating func appendMarkdownOutcomes(_ report: FinishedReport) {
    let totals = report.totals
    guard totals.urls > 0 else { return }
    appendLiteral("\n| Outcome | URLs | Share |\n|:--|--:|--:|\n")
    for outcome in LoadOutcome.allCases where totals[outcome] > 0 {
      append("| \(outcome.name) | \(grouped(totals[outcome])) | \(percent(totals[outcome], of: totals.urls)) |\n")
    }
    append("| **all** | **\(grouped(totals.urls))** | |\n")
  }

  fileprivate mutating func appendMarkdownStores(_ report: FinishedReport) {
    var lines: [String] = []
    if let cache = report.end.cache { lines.append("Cache: \(cache.clauses.joined(separator: "; "))") }
    if let blacklist = report.end.blacklist { lines.append("Blacklist: \(blacklist.phrase)") }
    let traffic = report.traffic
    if traffic.attempts > 0 {
      let parts = [
        "Requests: \(grouped(traffic.attempts))", "\(byteCount(Double(traffic.receivedBytes))) received", traffic.latency.summary,
      ]
      lines.append(parts.compactMap(\.self).joined(separator: ", "))
    }
    guard !lines.isEmpty else { return }
    appendLiteral("\n### Cache and requests\n\n")
    for line in lines { append("- \(line)\n") }
  }
}

/// The lists of a Markdown report: each has a limit, and counts the omitted rows.
extension OutputBuffer {
  private static let groupLimit = 60
  private static let groupHostLimit = 3
  private static let exampleLimit = 10
  private static let hostLimit = 10
  private static let placeholderLimit = 20
  private static let warningLimit = 20

  /// One row per kind and status, the most frequent first.
  mutating func appendMarkdownFailures(_ report: FinishedReport) {
    guard !report.failureGroups.isEmpty else { return }
    appendLiteral("\n### Failures\n\n| Failure | URLs | Hosts |\n|:--|--:|:--|\n")
    for group in report.failureGroups.prefix(Self.groupLimit) {
      let known = report.knownPhrase(of: group).map { group.counting > 0 ? " (**\($0)**)" : " (\($0))" } ?? ""
      append("| \(group.title)")
      if let message = group.message, group.kind != .httpStatus {
        appendLiteral(": ")
        appendCode(message)
      }
      append(" | \(grouped(group.count))\(known) | ")
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
    let places = report.placeSentences { text in
      var code = OutputBuffer()
      code.appendCode(text)
      return code.text
    }
    if !places.isEmpty { appendLiteral("\n") }
    for place in places { append("- \(place)\n") }
  }

  /// How the failures differ from those of the baseline.
  mutating func appendMarkdownDifference(_ report: FinishedReport) {
    guard let baseline = report.baseline, let difference = report.differencePhrase else { return }
    appendLiteral("\nBaseline: ")
    appendCode(difference)
    appendLiteral("\n")
    if let trend = report.trendPhrase { append("\nTrend: \(trend)\n") }
    let (shown, more) = baseline.fixedEntries()
    guard !shown.isEmpty else { return }
    appendLiteral("\nFixed:\n\n")
    for entry in shown {
      appendLiteral("- ")
      appendCode(entry.title)
      appendLiteral("\n")
    }
    appendMarkdownRest(Int(clamping: more))
  }

  /// The first failures of each kind, collapsed.
  mutating func appendMarkdownExamples(_ report: FinishedReport) {
    for group in report.failureGroups.prefix(Self.groupLimit) where !group.examples.isEmpty {
      // Between tags, Markdown begins again after a blank line only; titles contain no text from outside.
      append("\n<details><summary>\(group.title): \(counted(group.count, "URL"))</summary>\n\n")
      if let message = group.message, group.kind != .httpStatus {
        appendCode(message)
        appendLiteral("\n\n")
      }
      let examples = group.examples.filter { $0.standing == .counts } + group.examples.filter { $0.standing != .counts }
      for example in examples.prefix(Self.exampleLimit) {
        appendLiteral("- ")
        if report.baseline != nil, example.standing == .counts { appendLiteral("**NEW** ") }
        appendCode(example.url, link: example.url)
        if let variant = example.variant.title {
          appendLiteral(" as ")
          appendCode(variant)
        }
        appendLiteral(" in ")
        appendCode(example.location, link: example.manifest)
        if let message = example.failure?.message, !message.isEmpty, message != group.message || group.kind == .httpStatus {
          appendLiteral(": ")
          appendCode(message)
        }
        if let standing = example.standing.phrase { append(" (\(standing))") }
        appendLiteral("\n")
      }
      let more = group.count - min(group.count, UInt64(min(group.examples.count, Self.exampleLimit)))
      if more > 0 { append("- … \(grouped(more)) more\n") }
      appendLiteral("\n</details>\n")
    }
  }

  /// The hosts with most failures first, then those with most entries.
  mutating func appendMarkdownHosts(_ report: FinishedReport) {
    guard !report.hosts.isEmpty else { return }
    let hosts = report.hostsByFailures
    let hits = report.totals.revalidated > 0 ? "Hits and 304" : "Hits"
    append("\n### Hosts\n\n| Host | URLs | \(hits) | Fetched | Bad | Median | p99 |\n|:--|--:|--:|--:|--:|--:|--:|\n")
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

  mutating func appendMarkdownPlaceholders(_ report: FinishedReport) {
    guard !report.placeholders.isEmpty else { return }
    appendLiteral("\n### Placeholders\n\n| Host | URLs | Shared image | First URL |\n|:--|--:|:--|:--|\n")
    for placeholder in report.placeholders.prefix(Self.placeholderLimit) {
      appendLiteral("| ")
      appendCode(placeholder.host)
      append(" | \(grouped(placeholder.urls)) | \(placeholder.imagePhrase) | ")
      appendCode(placeholder.firstURL)
      appendLiteral(" |\n")
    }
    appendMarkdownRest(report.placeholders.count - Self.placeholderLimit)
  }

  mutating func appendMarkdownLint(_ report: FinishedReport) {
    guard !report.lint.isEmpty else { return }
    appendLiteral("\n### Lint\n\n| Rule | Found | First URL |\n|:--|:--|:--|\n")
    for summary in report.lint {
      append("| \(summary.rule.name) | \(summary.phrase) | ")
      if let example = summary.examples.first { appendCode(example.url) }
      appendLiteral(" |\n")
    }
    let hosts = report.lint.flatMap { summary in summary.hosts.prefix(Self.hostLimit).map { (summary.rule, $0) } }
    if !hosts.isEmpty { appendLiteral("\n") }
    for (rule, host) in hosts {
      append("- \(rule.name) on ")
      appendCode(host.host)
      appendLiteral(": ")
      appendCode(host.phrase(rule))
      appendLiteral(", first ")
      appendCode(host.firstURL, link: host.firstURL)
      appendLiteral("\n")
    }
  }

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

/// Text from outside in GitHub-flavoured Markdown.
///
/// It appears in code spans only, in which GitHub finds no links, mentions, issue references, emoji or HTML. Backslash escapes don't
/// prevent those that GitHub looks for after Markdown (GFM, sections 6.3 and 6.9).
extension OutputBuffer {
  /// Appends a code span that shows `text`; usable in a table cell.
  ///
  /// A pipe would end a cell even in code, so it appears as `\u{7C}`; empty text appears as `""`.
  mutating func appendCode(_ text: String, limit: Int = MarkdownReport.textLimit) {
    var span = OutputBuffer(capacity: min(text.utf8.count + 16, limit + 64))
    span.appendVisible(text.isEmpty ? "\"\"" : text, limit: limit) { $0 == UInt8(ascii: "|") ? "\\u{7C}" : nil }
    span.withUnsafeBytes { bytes in
      // The delimiter is a run of backticks that doesn't occur in the span.
      let fence = String(repeating: "`", count: longestRun(of: UInt8(ascii: "`"), in: bytes) + 1)
      // Markdown strips a space at both ends; a backtick or a space at an end of the text needs one.
      let edges = [UInt8(ascii: "`"), UInt8(ascii: " ")]
      let isPadded = edges.contains(bytes.first ?? 0) || edges.contains(bytes.last ?? 0)
      append(fence)
      if isPadded { append(UInt8(ascii: " ")) }
      append(bytes)
      if isPadded { append(UInt8(ascii: " ")) }
      append(fence)
    }
  }

  /// Appends a code span that is a link if following `link` requests exactly that URL.
  mutating func appendCode(_ text: String, link: String) {
    // These would end the link's target (GFM, section 6.6), or a cell.
    guard link.isSafeLink, !link.contains(where: { "<>|".contains($0) }) else { return appendCode(text) }
    appendLiteral("[")
    appendCode(text)
    append("](<\(link.replacing("&", with: "&amp;"))>)")
  }

  /// Appends a sentence of prewarm with its punctuation escaped.
  mutating func appendMarkdown(_ sentence: String) {
    for byte in sentence.utf8 {
      if "\\`*_[]<>#|~&@".utf8.contains(byte) { append(UInt8(ascii: "\\")) }
      append(byte)
    }
  }
}

private func longestRun(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int {
  var longest = 0
  var current = 0
  for candidate in bytes {
    current = candidate == byte ? current + 1 : 0
    longest = max(longest, current)
  }
  return longest
}
