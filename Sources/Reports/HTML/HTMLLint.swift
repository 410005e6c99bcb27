import Base

extension HTMLPage {
  private static let worstLimit = 20
  private static let examplesWithoutSaving = 2

  /// The rules with findings, and the findings that save most bytes, with their pictures.
  mutating func writeLint(_ report: FinishedReport) {
    guard !report.lint.isEmpty else { return }
    section("lint", "Delivery", in: "Delivery") { page in
      page.element("ul", ["class": "findings"]) { page in for summary in report.lint { page.writeRule(summary) } }
      page.writeWorst(report)
    }
  }

  private mutating func writeRule(_ summary: LintSummary) {
    element("li") { page in
      let isBad = summary.severity == .fail && summary.count > 0
      page.element("p") { page in
        page.element("b", ["class": isBad ? "bad" : nil], summary.rule.name)
        page.text(" \(summary.phrase)")
        page.element("small", " \(summary.rule.reason)")
      }
      page.writeHosts(of: summary)
    }
  }

  /// A line per host, and its first URL.
  private mutating func writeHosts(of summary: LintSummary) {
    guard !summary.hosts.isEmpty else { return }
    _ = list("ul", summary.hosts, limit: LintSummary.exampleLimit, bytes: 40_000) { page, host in
      page.element("span", ["class": "host"]) { $0.text(host.host, limit: 120) }
      page.text(" ")
      page.text(host.phrase(summary.rule), limit: 400)
      page.element("p", ["class": "facts"]) { page in
        page.text("first ")
        page.url(host.firstURL)
      }
    }
    let more = summary.count - min(summary.count, summary.hosts.reduce(0) { $0 + $1.count })
    omission(more, "more URL", " on other hosts")
  }

  private mutating func writeWorst(_ report: FinishedReport) {
    // Beside those that save bytes, the first few of each rule.
    let all = report.lint.filter(\.hosts.isEmpty).flatMap { summary in
      summary.examples.enumerated().filter { $0.element.savedBytes > 0 || $0.offset < Self.examplesWithoutSaving }
        .map { (rule: summary.rule, example: $0.element) }
    }
    let worst = all.sorted { $1.example.savedBytes < $0.example.savedBytes }.prefix(Self.worstLimit)
    guard !worst.isEmpty else { return }
    let pictures = Dictionary(
      report.thumbnails.filter(\.hasPicture).map { ($0.url, $0) },
      uniquingKeysWith: { first, _ in first }
    )
    element("h3", "Worth fixing first")
    _ = list("ul", style: "placeholders", worst, limit: Self.worstLimit, bytes: 200_000) { page, item in
      page.pictureOrNone(pictures[item.example.url], description: item.rule.name)
      page.element("div") { page in
        page.element("p") { page in
          page.element("b", item.rule.name)
          if item.example.savedBytes > 0 { page.text(" saves \(byteCount(Double(item.example.savedBytes)))") }
        }
        page.element("p", ["class": "message"]) { $0.text(item.example.message, limit: 400) }
        page.url(item.example.url)
        page.element("p", ["class": "facts"]) { page in
          page.place(item.example.manifest, line: item.example.line)
        }
      }
    }
  }
}
