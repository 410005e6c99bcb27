import ImagePrimitives
import ReportReading
import Reporting
import TestSupport
import Testing

/// A report that somebody else has made up does no harm to whoever has it shown.
@Suite struct HostileReportTests {
  private let folder = TemporaryDirectory()

  private func read(_ members: String, urls: Int = 1) throws -> FinishedReport {
    folder.write(
      #"{"schema": "prewarm.report/1", "job": {"name": "a"}, "totals": {"urls": \#(urls), "failed": \#(urls)}, \#(members)}"#,
      to: "report"
    )
    return try folder.report("report")
  }

  /// Each form in which a report is shown.
  private func forms(_ report: FinishedReport) -> [String] {
    let forms: [any ReportForm] = [
      TextReport(isVerbose: true), MarkdownReport(), GitHubReport(), HTMLReport(), JSONReport(), PrometheusReport(),
    ]
    return forms.map { $0.text(report) }
  }

  @Test("reasons of a verdict can neither steer a terminal nor be Markdown")
  func reasons() throws {
    let reason = #"\u001b[2J\u202egnp\n\n# All good\n| a | https://evil.example @someone <img src=x>"#
    for report in try [
      read(#""verdict": {"reasons": ["\#(reason)"]}"#),
      FinishedReport(merging: [read(#""verdict": {"reasons": ["\#(reason)"]}"#)]),
    ] {
      for form in [TextReport(), MarkdownReport(), GitHubReport()] as [any ReportForm] {
        let text = form.text(report)
        #expect(text.contains("All good") && !text.contains("\u{1B}") && !text.contains("\u{202E}"), "\(text)")
        #expect(!text.split(separator: "\n").contains { $0.hasPrefix("#") && $0.contains("All good") }, "\(text)")
      }
      let markdown = MarkdownReport().text(report)
      let line = try #require(markdown.split(separator: "\n").first { $0.contains("All good") })
      #expect(line.hasPrefix("`") && line.hasSuffix("`"), "\(line)")
    }
  }

  @Test("a verdict of our own is no code")
  func ownReasons() throws {
    let reason = "1 bad: more than fail-on.failures (0)"
    let report = try read(#""verdict": {"reasons": ["\#(reason)"]}, "fail_on": {"failures": 0}"#)
    #expect(MarkdownReport().text(report).contains("\n**1 URL in an unknown time, \(reason), so exit"))
  }
}
