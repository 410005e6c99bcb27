import ImagePrimitives

extension HTMLPage {
  private static let failureLimit = 1000
  private static let failureBytes = 1_100_000

  /// The recorded failures as one table.
  mutating func writeFailureTable(_ report: FinishedReport) {
    guard !report.failures.isEmpty else { return }
    let examples = FailureExamples(report)
    section("all-failures", "Every failure") { page in
      var shown = 0
      page.table("Failures", ["Kind", "URL", "Place", "What happened", "#Attempts"], style: "failures") { page in
        shown = page.rows(report.failures, limit: Self.failureLimit, bytes: Self.failureBytes) { page, record in
          page.writeRow(record, examples)
        }
      }
      let left = report.totals.bad - min(report.totals.bad, UInt64(shown))
      page.omission(left, "more failure", " not listed here; a report of the form jsonl has every one")
    }
  }

  private mutating func writeRow(_ record: FailureRecord, _ examples: FailureExamples) {
    element("tr") { page in
      page.element("td", ["class": "kind"], FailureGroup(of: record).title)
      page.element("td") { page in
        page.url(record.url)
        if let line = examples.curlLine(of: record) {
          page.element("details", ["class": "curl"]) { page in
            page.element("summary", "curl")
            page.shellLine(line)
          }
        }
      }
      page.element("td", ["class": "place"]) { $0.text(record.place, limit: 200) }
      page.element("td") { page in
        page.element("span") { $0.text(record.failure?.message ?? "", limit: 400) }
        let facts = record.facts.joined(separator: ", ")
        if !facts.isEmpty { page.element("small") { $0.text(facts, limit: 300) } }
      }
      page.number(UInt64(record.attempts))
    }
  }
}

extension FailureGroup {
  /// The group that a record is of, for its title.
  fileprivate init(of record: FailureRecord) {
    let kind = record.failure?.kind
    self.init(kind: kind, status: kind == .httpStatus ? record.failure?.status : nil)
  }
}
