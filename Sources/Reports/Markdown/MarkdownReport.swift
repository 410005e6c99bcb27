import Base

/// The report in GitHub-flavoured Markdown, for comments on pull requests and step summaries. It has the verdict, outcomes,
/// failures by kind with hosts and first examples, the hosts with most failures, placeholders, warnings and the cache, in this
/// order. Every list and every text has a limit, and shows what it omits by a count or an ellipsis.
struct MarkdownReport: ReportForm {
  /// The limit of the report in bytes; 1,000,000 by default, below GitHub's limit of 1 MiB per step. The first section that doesn't fit
  /// and all later ones are omitted; the report is empty if not even the verdict fits.
  var maximumBytes = 1_000_000

  func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    let note = "\n… the rest is omitted: the report is too long\n"
    let page = MarkdownPage(report: report)
    let sections: [KeyPath<MarkdownPage, String>] = [
      \.verdict, \.difference, \.outcomes, \.failures, \.examples, \.hosts, \.placeholders, \.lint, \.warnings, \.stores,
    ]
    let start = output.count
    for path in sections {
      let section = page[keyPath: path]
      let room = maximumBytes - (output.count - start) - (path == sections.last ? 0 : note.utf8.count)
      guard section.utf8.count <= room else {
        if path != sections.first { output.append(note) }
        return
      }
      output.append(section)
    }
  }
}

/// The sections; empty if there is nothing to say. Each list has a limit, and counts the omitted rows.
private struct MarkdownPage {
  private static let groupLimit = 60
  private static let groupHostLimit = 3
  private static let exampleLimit = 10
  private static let hostLimit = 10
  private static let placeholderLimit = 20
  private static let warningLimit = 20

  let report: FinishedReport

  var verdict: String {
    let sentence = report.headline.sentence
    // A breakage, or a verdict from a file, may contain text from outside.
    let isOurs = report.end.breakage == nil && report.verdict == report.failOn.verdict(of: report)
    let line = isOurs ? "**\(escaped(sentence))**" : code(sentence, limit: 2000)
    let about = report.job.description.isEmpty ? "" : "\n\(code(report.job.description, limit: 600))\n"
    return "## \(code(report.job.title))\n\n\(line)\n\(about)"
  }

  var difference: String {
    guard let baseline = report.baseline, let difference = report.differencePhrase else { return history }
    let (shown, more) = baseline.fixedEntries()
    return "\nBaseline: \(code(difference))\n\(history)\(list("Fixed", shown.map(\.title), more: Int(clamping: more)))"
  }

  private var history: String {
    let trend = report.isAllGood ? nil : report.trendPhrase
    let lists = report.historyLists.map { list($0.label, Array($0.titles.prefix(10)), more: max(0, $0.titles.count - 10)) }
    return (trend.map { "\nTrend: \($0)\n" } ?? "") + lists.joined()
  }

  private func list(_ label: String, _ titles: [String], more: Int) -> String {
    titles.isEmpty ? "" : "\n\(label):\n\n\(items(titles.map { code($0) }))\(omission(more))"
  }

  var outcomes: String {
    let totals = report.totals
    guard totals.urls > 0 else { return "" }
    let rows = LoadOutcome.allCases.filter { totals[$0] > 0 }.map { outcome in
      "| \(outcome.name) | \(grouped(totals[outcome])) | \(percent(totals[outcome], of: totals.urls)) |\n"
    }
    return "\n| Outcome | URLs | Share |\n|:--|--:|--:|\n\(rows.joined())| **all** | **\(grouped(totals.urls))** | |\n"
  }

  /// One row per kind and status, the most frequent first.
  var failures: String {
    let others = report.failureGroups.dropFirst(Self.groupLimit)
    let otherURLs = grouped(others.reduce(0) { $0 + $1.count })
    let rest = others.isEmpty ? "" : "| … \(grouped(UInt64(others.count))) more | \(otherURLs) | |\n"
    let places = report.placeSentences { code($0) }
    let rows = report.failureGroups.prefix(Self.groupLimit).map(row)
    return table("Failures", ["Failure", "#URLs", "Hosts"], rows, rest + (places.isEmpty ? "" : "\n") + items(places))
  }

  private func row(_ group: FailureGroup) -> [String] {
    let message = group.message.flatMap { group.kind == .httpStatus ? nil : ": \(code($0))" } ?? ""
    let known = report.knownPhrase(of: group).map { group.counting > 0 ? " (**\($0)**)" : " (\($0))" } ?? ""
    let hosts = group.hostPhrase(limit: Self.groupHostLimit) { code($0) }
    return [group.title + message, grouped(group.count) + known, hosts]
  }

  var examples: String {
    report.failureGroups.prefix(Self.groupLimit).filter { !$0.examples.isEmpty }.map { group in
      let message = group.message.flatMap { group.kind == .httpStatus ? nil : "\(code($0))\n\n" } ?? ""
      let shown = group.examples.countingFirst.prefix(Self.exampleLimit)
      let more = group.count - min(group.count, UInt64(shown.count))
      // Between tags, Markdown begins again after a blank line only; titles contain no text from outside.
      return """

        <details><summary>\(group.title): \(counted(group.count, "URL"))</summary>

        \(message)\(items(shown.map { example($0, of: group) }))\(more > 0 ? "- … \(grouped(more)) more\n" : "")
        </details>

        """
    }.joined()
  }

  private func example(_ record: FailureRecord, of group: FailureGroup) -> String {
    let new = report.baseline != nil && record.standing == .counts ? "**NEW** " : ""
    let variant = record.variant.title.map { " as \(code($0))" } ?? ""
    let message = record.failure?.message ?? ""
    let isOwn = !message.isEmpty && (message != group.message || group.kind == .httpStatus)
    let standing = record.standing.phrase.map { " (\($0))" } ?? ""
    let place = code(record.location, link: record.manifest)
    return "\(new)\(code(record.url, link: record.url))\(variant) in \(place)\(isOwn ? ": \(code(message))" : "")\(standing)"
  }

  /// The hosts with most failures first, then those with most entries.
  var hosts: String {
    let rows = report.hostsByFailures.prefix(Self.hostLimit).map { [code($0.host)] + $0.counts.map(grouped) + $0.times }
    let others = UInt64(report.hosts.count - rows.count) + report.hostsOmitted
    let hits = report.totals.revalidated > 0 ? "#Hits and 304" : "#Hits"
    let titles = ["Host", "#URLs", hits, "#Fetched", "#Bad", "#Median", "#p99"]
    return table("Hosts", titles, rows, others > 0 ? "\n… \(counted(others, "more host"))\n" : "")
  }

  var placeholders: String {
    let rows = report.placeholders.prefix(Self.placeholderLimit).map {
      [code($0.host), grouped($0.urls), $0.imagePhrase, code($0.firstURL)]
    }
    let titles = ["Host", "#URLs", "Shared image", "First URL"]
    return table("Placeholders", titles, rows, omission(report.placeholders.count - rows.count))
  }

  var lint: String {
    let rows = report.lint.map { [$0.rule.name, $0.phrase, $0.examples.first.map { code($0.url) } ?? ""] }
    let hosts = report.lint.flatMap { summary in
      summary.hosts.prefix(Self.hostLimit).map { host in
        let first = code(host.firstURL, link: host.firstURL)
        return "\(summary.rule.name) on \(code(host.host)): \(code(host.phrase(summary.rule))), first \(first)"
      }
    }
    return table("Lint", ["Rule", "Found", "First URL"], rows, (hosts.isEmpty ? "" : "\n") + items(hosts))
  }

  /// A section with a table and what follows it, if it has rows; a title that starts with `#` is of a column of numbers.
  private func table(_ heading: String, _ titles: [String], _ rows: [[String]], _ rest: String) -> String {
    guard !rows.isEmpty else { return "" }
    func line(_ cells: [String]) -> String { "| \(cells.joined(separator: " | ")) |\n" }
    let rule = titles.map { $0.hasPrefix("#") ? "--:" : ":--" }.joined(separator: "|")
    let head = line(titles.map { String($0.trimmingPrefix("#")) })
    return "\n### \(heading)\n\n\(head)|\(rule)|\n\(rows.map(line).joined())\(rest)"
  }

  var warnings: String {
    guard !report.warnings.isEmpty else { return "" }
    let shown = report.warnings.prefix(Self.warningLimit)
    return "\n### Warnings\n\n\(items(shown.map { code($0) }))\(omission(report.warnings.count - shown.count))"
  }

  var stores: String {
    let traffic = report.traffic
    let requests = [
      "Requests: \(grouped(traffic.attempts))", "\(byteCount(Double(traffic.receivedBytes))) received", traffic.latency.summary,
    ]
    let lines = [
      report.end.cache.map { "Cache: \($0.clauses.joined(separator: "; "))" },
      report.end.blacklist.map { "Blacklist: \($0.phrase)" },
      traffic.attempts > 0 ? requests.compactMap(\.self).joined(separator: ", ") : nil,
    ].compactMap(\.self)
    return lines.isEmpty ? "" : "\n### Cache and requests\n\n\(items(lines))"
  }

  private func items(_ items: [String]) -> String { items.map { "- \($0)\n" }.joined() }
  private func omission(_ count: Int) -> String { count > 0 ? "\n… \(grouped(UInt64(count))) more\n" : "" }
}

/// Text from outside as a code span, usable in a table cell; a link if following `link` requests exactly that URL.
///
/// It appears in code spans only, in which GitHub finds no links, mentions, issue references, emoji or HTML. Backslash escapes don't
/// prevent those that GitHub looks for after Markdown (GFM, sections 6.3 and 6.9). A pipe would end a cell even in code, so it appears as
/// `\u{7C}`; empty text appears as `""`.
///
/// - Parameter limit: in bytes.
private func code(_ text: String, limit: Int = 300, link: String? = nil) -> String {
  var span = OutputBuffer(capacity: min(text.utf8.count + 16, limit + 64))
  span.appendVisible(text.isEmpty ? "\"\"" : text, limit: limit) { $0 == UInt8(ascii: "|") ? "\\u{7C}" : nil }
  let shown = span.text
  // The delimiter is a run of backticks that doesn't occur in the span.
  let longest = shown.utf8.split { $0 != UInt8(ascii: "`") }.map(\.count).max() ?? 0
  let fence = String(repeating: "`", count: longest + 1)
  // Markdown strips a space at both ends; a backtick or a space at an end of the text needs one.
  let isPadded = "` ".utf8.contains(shown.utf8.first ?? 0) || "` ".utf8.contains(shown.utf8.last ?? 0)
  let code = isPadded ? "\(fence) \(shown) \(fence)" : "\(fence)\(shown)\(fence)"
  // These would end the link's target (GFM, section 6.6), or a cell.
  guard let link, link.isSafeLink, !link.contains(where: { "<>|".contains($0) }) else { return code }
  return "[\(code)](<\(link.replacing("&", with: "&amp;"))>)"
}

/// A sentence of prewarm with its punctuation escaped.
private func escaped(_ sentence: String) -> String {
  String(sentence.flatMap { "\\`*_[]<>#|~&@".contains($0) ? ["\\", $0] : [$0] })
}
