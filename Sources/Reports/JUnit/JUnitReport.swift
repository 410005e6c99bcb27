import Base

/// A JUnit report as GitLab (`lib/gitlab/ci/parsers/test/junit.rb`) and Jenkins (`hudson.tasks.junit.CaseResult`) read it.
///
/// The suite has a case for each failed and blacklisted entry, and for all others if the report lists successes; otherwise one case
/// stands for the others, since Jenkins requires a case. Its counts are those of the run, listed or not. The verdict, the job's
/// description, the fixed URLs of a baseline and the run's warnings are properties and output of the suite. A case fails for each
/// reason of the exit status that isn't a failed entry: a run that didn't finish, and broken rules such as `fail-on.empty`. A failure
/// that doesn't count in the verdict is `skipped`, with its message.
///
/// Cases are spooled during the run, since the counts precede them in the file. The file stays below 30 MB, GitLab's limit: a last case
/// counts the omitted ones, and fails if one of them would. Successes take at most two thirds of the limit.
final class JUnitWriter: ReportWriter, ReportJournal {
  private let file: ReportFile
  /// The limit of cases in bytes.
  private let caseBytesLimit: Int
  private var cases: JUnitCases
  private var spool: ReportSpool
  private var pieces = RowPieces()
  private var left = LeftOut()

  /// Cases that the limit omits.
  struct LeftOut {
    /// How many of them would fail.
    var failures: UInt64 = 0
    var others: UInt64 = 0
  }

  /// Creates a report in `file`, which stays unchanged until ``finish(_:)``.
  ///
  /// - Parameter caseBytesLimit: limits the cases; the rest of the file has far less than 1 MB.
  init(
    file: ReportFile,
    listsSuccesses: Bool,
    workspace: String?,
    caseBytesLimit: Int = 29_000_000
  ) throws(ReportError) {
    self.file = file
    self.caseBytesLimit = caseBytesLimit
    cases = JUnitCases(capacity: RowPieces.bytes + 16_384, listsSuccesses: listsSuccesses, workspace: workspace)
    spool = try ReportSpool()
  }

  var journal: (any ReportJournal)? { self }

  func begin() {}

  func addManifest(_ path: String, file: String?) { cases.addManifest(path, file: file) }

  func addVariant(_ variant: RequestVariant) { cases.addVariant(variant) }

  func append(_ result: EntryResult, of entry: ReportedEntry, standing: FailureStanding) {
    // The counts have each image once.
    guard cases.lists(result.outcome), !entry.isRepeated, pieces.error == nil else { return }
    let isBad = result.outcome == .failed || result.outcome == .blacklisted
    guard spool.count + cases.buffer.count < (isBad ? caseBytesLimit : caseBytesLimit / 3 * 2) else {
      if isBad, standing == .counts { left.failures += 1 } else { left.others += 1 }
      return
    }
    cases.append(result, of: entry, standing: standing)
    if cases.buffer.count >= RowPieces.bytes { writeOut() }
  }

  func flush() throws(ReportError) {
    writeOut()
    try pieces.check()
  }

  private func writeOut() {
    pieces.write(&cases.buffer) { bytes throws(ReportError) in try spool.append(bytes) }
  }

  func finish(_ report: FinishedReport) throws(ReportError) {
    try flush()
    var output = OutputBuffer(capacity: 65_536)
    output.appendJUnitStart(report)
    try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try spool.read { bytes throws(ReportError) in try file.write(bytes) }
    output.removeAll()
    output.appendJUnitEnd(report, leftOut: left, listsSuccesses: cases.lists(.hitDisk))
    try output.withUnsafeBytes { bytes throws(ReportError) in try file.write(bytes) }
    try file.commit()
  }
}

/// The text around the cases of entries.
extension OutputBuffer {
  private static let warningLimit = 100

  mutating func appendJUnitStart(_ report: FinishedReport) {
    let reasons = report.otherReasons
    appendLiteral("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
    for (indent, element) in [("", "testsuites"), ("  ", "testsuite")] {
      append("\(indent)<\(element)")
      appendXML(attribute: "name", report.job.title)
      appendXML(attribute: "tests", report.totals.urls + UInt64(reasons.count))
      appendXML(attribute: "failures", report.standings.counting + UInt64(reasons.count))
      appendXML(attribute: "errors", 0)
      appendXML(attribute: "skipped", report.skippedCases)
      appendXML(attribute: "time", seconds: report.end.duration.inSeconds)
      if let moment = report.startedAt { appendXML(attribute: "timestamp", moment.iso8601Seconds) }
      appendLiteral(">\n")
    }
    appendLiteral("    <properties>")
    for (name, value) in [("verdict", report.headline.sentence), ("description", report.job.description)] where !value.isEmpty {
      append("<property name=\"\(name)\"")
      appendXML(attribute: "value", value)
      appendLiteral("/>")
    }
    appendLiteral("</properties>\n")
    for reason in reasons { appendJUnit(reason) }
  }

  mutating func appendJUnitEnd(_ report: FinishedReport, leftOut: JUnitWriter.LeftOut, listsSuccesses: Bool) {
    if leftOut.failures + leftOut.others > 0 {
      let failures = leftOut.failures > 0 ? counted(leftOut.failures, "more failure") : nil
      let others = leftOut.others > 0 ? counted(leftOut.others, "more case") : nil
      let cases = [failures, others].compactMap(\.self).joined(separator: " and ")
      let sentence = "\(cases) omitted: this file is limited to 30 MB"
      appendJUnit(OtherCase(className: "(cut)", name: "omitted cases", reason: sentence, isFailure: leftOut.failures > 0))
    }
    if !listsSuccesses || report.totals.urls == 0 {
      appendJUnit(OtherCase(className: "(not listed)", name: "URLs that didn't fail", reason: nil))
    }
    appendLiteral("    <system-out>")
    appendXML(report.headline.sentence, limit: JUnitCases.textLimit)
    appendLiteral("\n")
    if !listsSuccesses {
      let listed = report.totals.bad - min(report.totals.bad, leftOut.failures + leftOut.others)
      append("\(grouped(report.totals.urls - report.totals.bad)) of \(counted(report.totals.urls, "URL")) didn't fail; ")
      append("\(counted(listed, "case")) listed\n")
    }
    let (fixed, moreFixed) = report.baseline?.fixedEntries() ?? ([], 0)
    for entry in fixed {
      appendLiteral("fixed since the baseline: ")
      appendXML(entry.title, limit: JUnitCases.textLimit)
      appendLiteral("\n")
    }
    if moreFixed > 0, !fixed.isEmpty { append("… \(grouped(moreFixed)) more fixed\n") }
    for warning in report.warnings.prefix(Self.warningLimit) {
      appendXML(warning, limit: JUnitCases.textLimit)
      appendLiteral("\n")
    }
    appendLiteral("</system-out>\n  </testsuite>\n</testsuites>\n")
  }

  private mutating func appendJUnit(_ item: OtherCase) {
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

/// A case that isn't of an entry.
private struct OtherCase {
  var className: String
  var name: String
  /// Why it failed, or was skipped; nil if it passed.
  let reason: String?
  var isFailure = true
}

extension FinishedReport {
  /// Entries without a result, and failures that don't count.
  fileprivate var skippedCases: UInt64 { totals.skipped + totals.cancelled + standings.known }

  /// Why the exit status isn't 0, apart from failed entries, which have cases of their own.
  fileprivate var otherReasons: [OtherCase] {
    if let stop = end.interruption.map({ "interrupted by \($0.signalName)" }) ?? end.breakage {
      return [OtherCase(className: "run", name: "run finishes", reason: stop)]
    }
    return failOn.rules.compactMap { rule in
      if case .failures = rule { return nil }
      if case .kind = rule { return nil }
      return failOn.reason(rule, in: self).map { OtherCase(className: words.rules, name: words.key(rule), reason: $0) }
    }
  }
}
