import ImagePrimitives

/// The report in GitHub-flavoured Markdown, for comments on pull requests and for summaries of steps.
///
/// The verdict, outcomes, failures by kind with hosts and first examples, the hosts with most failures, placeholders, warnings and the
/// cache, in this order. Every list is bounded and every text cut, each with a count or an ellipsis; the JSON report has them whole.
public struct MarkdownReport: ReportForm {
  /// What texts from outside are cut at, in bytes.
  static let textLimit = 300

  /// What the report must not exceed, in bytes; 1,000,000 by default, below the 1 MiB that GitHub takes of a step. Sections that do not
  /// fit are left out from the first on, and so is the whole where not even the verdict fits.
  public var maximumBytes: Int

  /// A writer.
  public init(maximumBytes: Int = 1_000_000) { self.maximumBytes = maximumBytes }

  /// Appends the report.
  public func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    let note = "\n… the rest is left out, since it would be too long\n"
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
    { $1.appendMarkdownVerdict($0) }, { $1.appendMarkdownOutcomes($0) }, { $1.appendMarkdownFailures($0) },
    { $1.appendMarkdownExamples($0) }, { $1.appendMarkdownHosts($0) }, { $1.appendMarkdownPlaceholders($0) },
    { $1.appendMarkdownWarnings($0) }, { $1.appendMarkdownStores($0) },
  ]
}

extension OutputBuffer {
  fileprivate mutating func appendMarkdownVerdict(_ report: FinishedReport) {
    appendLiteral("## ")
    appendCode(report.job.title)
    appendLiteral("\n\n")
    let name = "\(escapedForTerminal(report.job.title)): "
    let sentence = String(decoding: report.headline.text.utf8.dropFirst(name.utf8.count), as: UTF8.self)
    if report.end.breakage == nil, report.verdict == report.failOn.verdict(of: report) {
      appendLiteral("**")
      appendMarkdown(sentence)
      appendLiteral("**\n")
    } else {
      // It is in the words of others, too, as is a verdict that was read or joined.
      appendCode(sentence, limit: 2000)
      appendLiteral("\n")
    }
  }

  fileprivate mutating func appendMarkdownOutcomes(_ report: FinishedReport) {
    let totals = report.totals
    guard totals.urls > 0 else { return }
    appendLiteral("\n| Outcome | URLs | Share |\n|:--|--:|--:|\n")
    for outcome in Outcome.allCases where totals[outcome] > 0 {
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
