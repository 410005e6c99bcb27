import ImagePrimitives

/// What stands around the cases of entries.
extension OutputBuffer {
  /// Appends all that stands before them.
  mutating func appendJUnitStart(_ report: FinishedReport, leftOut: JUnitWriter.LeftOut) {
    let rules = report.verdictCases
    let failedRules = UInt64(rules.count { $0.reason != nil })
    appendLiteral("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites")
    appendXML(attribute: "name", report.job.title)
    appendJUnitCounts(
      tests: report.totals.urls + UInt64(rules.count),
      failures: report.standings.counting + failedRules,
      skipped: report.skippedCases,
      report
    )
    appendLiteral(">\n  <testsuite")
    appendXML(attribute: "name", "\(report.job.title): verdict")
    appendJUnitCounts(tests: UInt64(rules.count), failures: failedRules, skipped: 0, report)
    appendLiteral(">\n")
    for rule in rules { appendJUnit(rule) }
    appendLiteral("  </testsuite>\n  <testsuite")
    appendXML(attribute: "name", report.job.title)
    appendJUnitCounts(
      tests: report.totals.urls,
      failures: report.standings.counting,
      skipped: report.skippedCases,
      report
    )
    appendLiteral(">\n")
  }

  /// Appends all that stands after them.
  mutating func appendJUnitEnd(_ report: FinishedReport, leftOut: JUnitWriter.LeftOut, listsSuccesses: Bool) {
    if leftOut.failures + leftOut.others > 0 {
      let failures = leftOut.failures > 0 ? counted(leftOut.failures, "further failure") : nil
      let others = leftOut.others > 0 ? counted(leftOut.others, "further case") : nil
      let cases = [failures, others].compactMap(\.self).joined(separator: " and ")
      let sentence = "\(cases) not listed, since this file stays below 30 MB"
      appendJUnit(VerdictCase(className: "(cut)", name: "what is not listed", reason: sentence, isFailure: leftOut.failures > 0))
    }
    if !listsSuccesses {
      let listed = report.totals.bad - min(report.totals.bad, leftOut.failures + leftOut.others)
      appendLiteral("    <system-out>")
      append("\(grouped(report.totals.urls - report.totals.bad)) of \(counted(report.totals.urls, "URL")) did not fail; ")
      append("\(counted(listed, "case")) listed\n")
      appendLiteral("</system-out>\n")
    }
    appendLiteral("  </testsuite>\n</testsuites>\n")
  }

  private mutating func appendJUnitCounts(tests: UInt64, failures: UInt64, skipped: UInt64, _ report: FinishedReport) {
    appendXML(attribute: "tests", tests)
    appendXML(attribute: "failures", failures)
    appendXML(attribute: "errors", 0)
    appendXML(attribute: "skipped", skipped)
    appendXML(attribute: "time", seconds: report.end.duration.inSeconds)
    if let moment = report.startedAt { appendXML(attribute: "timestamp", moment.iso8601Seconds) }
  }

  private mutating func appendJUnit(_ item: VerdictCase) {
    appendLiteral("    <testcase")
    appendXML(attribute: "classname", item.className)
    appendXML(attribute: "name", item.name)
    appendLiteral(" time=\"0.0\"")
    guard let reason = item.reason else { return appendLiteral("/>\n") }
    let element: StaticString = item.isFailure ? "failure" : "skipped"
    appendLiteral(">\n      <")
    appendLiteral(element)
    appendXML(attribute: "type", item.name)
    appendXML(attribute: "message", reason)
    appendLiteral(">")
    appendXML(reason, limit: JUnitCases.textLimit)
    appendLiteral("</")
    appendLiteral(element)
    appendLiteral(">\n    </testcase>\n")
  }
}

/// A case that is of no entry.
private struct VerdictCase {
  var className: String
  var name: String
  /// Why it did not pass; nil where it did.
  var reason: String?
  var isFailure = true
}

extension FinishedReport {
  /// Entries of which nothing new is known, and failures that do not count.
  fileprivate var skippedCases: UInt64 { totals.skipped + totals.cancelled + standings.known }

  /// The run itself, then the rules.
  fileprivate var verdictCases: [VerdictCase] {
    let stop = end.interruption.map { "interrupted by \($0.signalName)" } ?? end.breakage
    let run = VerdictCase(className: "run", name: "runs to its end", reason: stop)
    return [run]
      + judgedRules.map { rule in
        let reason = rule.reasons.isEmpty ? nil : rule.reasons.joined(separator: "; ")
        return VerdictCase(className: "fail-on", name: rule.name, reason: reason)
      }
  }
}
