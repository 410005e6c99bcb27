import ImagePrimitives

extension HTMLPage {
  private static let groupLimit = 60
  private static let groupBytes = 250_000
  private static let exampleBytes = 80_000

  /// Failed and blacklisted entries by kind: a line each, which opens on hosts and first examples.
  mutating func writeFailures(_ report: FinishedReport) {
    let groups = report.failureGroups
    guard !groups.isEmpty else { return }
    let examples = FailureExamples(report)
    let largest = groups.map(\.count).max() ?? 1
    element("section", ["id": "failures"]) { page in
      page.element("div", ["class": "head"]) { page in
        page.element("h2", "Failures by kind")
        page.writeWorstHost(report)
      }
      if let standings = report.standings.phrase { page.element("p", ["class": "note"], standings) }
      let shown = page.rows(groups, limit: Self.groupLimit, bytes: Self.groupBytes) { page, group in
        page.writeGroup(group, largest: largest, examples)
      }
      let others = groups.dropFirst(shown)
      let count = others.reduce(0) { $0 + $1.count }
      page.omission(UInt64(others.count), "more kind", " with \(counted(count, "URL"))")
    }
  }

  private mutating func writeWorstHost(_ report: FinishedReport) {
    guard let worst = report.worstHost else { return }
    element("p", ["class": "worst"]) { page in
      page.text("worst host ")
      page.element("b", ["class": "host"]) { $0.text(worst.host, limit: 120) }
      page.text(": \(grouped(worst.bad)) bad")
      if let urls = worst.urls { page.text(" of \(grouped(urls)) (\(percent(worst.bad, of: urls)))") }
    }
  }

  private mutating func writeGroup(_ group: FailureGroup, largest: UInt64, _ examples: FailureExamples) {
    element("details", ["class": "kind"]) { page in
      page.element("summary") { page in
        page.element("span", ["class": "title"], group.title)
        page.element("b", grouped(group.count))
        page.element("svg", ["viewBox": "0 0 100 8", "preserveAspectRatio": "none", "aria-hidden": "true"]) { page in
          page.bar(nil, x: 0, y: 0, width: max(Double(group.count) / Double(largest) * 100, 1), height: 8)
        }
        page.element("span", ["class": "hosts"]) { $0.writeHosts(of: group) }
      }
      var shown = 0
      page.element("ol") { page in
        shown = page.rows(group.examples, limit: 10, bytes: Self.exampleBytes) { page, example in
          page.element("li") { $0.writeExample(example, examples) }
        }
      }
      let more = group.count - min(group.count, UInt64(shown))
      page.omission(more, "more", plural: "more")
    }
  }

  private mutating func writeHosts(of group: FailureGroup) {
    for (index, host) in group.hosts.enumerated() {
      if index > 0 { text(", ") }
      element("bdi") { $0.text(host.host, limit: 120) }
      text(" \(grouped(host.count))")
    }
    if group.elsewhere > 0 { text("\(group.hosts.isEmpty ? "" : ", ")elsewhere \(grouped(group.elsewhere))") }
  }

  private mutating func writeExample(_ record: FailureRecord, _ examples: FailureExamples) {
    if let thumbnail = examples.thumbnail(of: record) { picture(thumbnail, description: "what came instead") }
    element("div") { page in
      page.url(record.url)
      page.element("p", ["class": "facts"]) { page in
        page.element("span", ["class": "place"]) { $0.text(record.place, limit: 200) }
        let attempts = record.attempts > 0 ? [counted(UInt64(record.attempts), "attempt")] : []
        for fact in attempts + record.facts { page.text(" · \(fact.shortened(to: 200))") }
      }
      if let message = record.failure?.message, !message.isEmpty {
        page.element("p", ["class": "message"]) { $0.text(message, limit: 400) }
      }
      if let line = examples.curlLine(of: record) { page.shellLine(line) }
    }
  }
}
