import Base
@testable import Reports
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
      TextReport(detail: .all, failureLimit: .max), MarkdownReport(), GitHubReport(), HTMLReport(), JSONReport(),
      PrometheusReport(),
    ]
    return forms.map { $0.text(report) }
  }

  @Test(arguments: ["1e9", "4e10", "1e15"])
  func `numbers beyond all counters are clamped, printed, reread and merged`(number: String) throws {
    let report = try read(
      #"""
      "duration_seconds": \#(number), "attempts": {"waited_seconds": \#(number)},
      "latency_ms": {"max": \#(number), "sum": \#(number), "buckets": [[\#(number), 1125899906842624]]},
      "timeline": {"step_seconds": 0.001, "urls": [1125899906842624], "bad": [0], "bytes": [1125899906842624]}
      """#
    )
    let text = JSONReport().text(report)
    folder.write(text, to: "again")
    #expect(firstDifference(JSONReport().text(try folder.report("again")), text) == nil)
    let merged = FinishedReport(merging: Array(repeating: report, count: 20))
    #expect(merged.traffic.latency.count == 20 << 50)
    #expect(forms(report)[3].contains("1,125,899,906,842,624") && forms(merged).count == 6)
  }

  @Test func `the sum of latencies stays correct beyond a hundred days`() throws {
    let report = try read(#""latency_ms": {"sum": 20000000000, "buckets": [[1024, 20000000]]}"#)
    #expect(report.traffic.latency.sumNanoseconds == 20_000_000_000_000_000)
  }

  @Test func `a verdict's reasons cannot steer a terminal or contain Markdown`() throws {
    let reason = #"\u001b[2J\u202egnp\n\n# All good\n| a | https://evil.example @someone <img src=x>"#
    for report in try [
      read(#""verdict": {"reasons": ["\#(reason)"]}"#),
      // By its own rules nothing is broken, so that its sentences stand.
      FinishedReport(merging: [read(#""verdict": {"reasons": ["\#(reason)"]}, "fail_on": {"failures": null}"#)]),
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

  @Test func `prewarm's own verdict isn't shown as code`() throws {
    let reason = "1 bad: more than fail-on.failures (0)"
    let report = try read(#""verdict": {"reasons": ["\#(reason)"]}, "fail_on": {"failures": 0}"#)
    expectGolden(MarkdownReport().text(report).lines(with: reason))
  }

  @Test(
    arguments: [
      (#"["curl", "-sS", "-H", "X: $(id)"]"#, "curl -sS -H 'X: $(id)' https://a.example/1"),
      (#"["curl"]"#, "curl https://a.example/1"),
      (
        #"["curl", "-o", "/dev/null", "-D", "-", "--cookie", "", "--noproxy", "*"]"#,
        "curl -o /dev/null -D - --cookie '' --noproxy '*' https://a.example/1"
      ),
      (#"["curl", "-o", "/home/me/.bashrc"]"#, nil), (#"["curl", "-D", "x"]"#, nil),
      (#"["curl", "--cookie", "/etc/passwd"]"#, nil),
      (#"["curl", "-H", "@/etc/passwd"]"#, nil), (#"["curl", "-T", "/etc/passwd"]"#, nil), (#"["curl", "-Kx"]"#, nil),
      (#"["curl", "--next"]"#, nil), (#"["curl", "https://evil.example/"]"#, nil), (#"["curl", "-H"]"#, nil),
      (#"["curl", "-sS", "; id"]"#, nil),
    ]
  )
  func `curl lines are shown only for options that runs produce`(words: String, line: String?) throws {
    let failure = #"{"url": "https://a.example/1", "outcome": "failed", "kind": "dns"}"#
    let report = try read(
      #""requests": [{"curl": \#(words)}], "failures": [\#(failure)], "#
        + #""failure_groups": [{"kind": "dns", "failed": 1, "counting": 1, "examples": [\#(failure)]}]"#
    )
    let shown = try #require(report.failures.first.map { report.curlLine(of: $0) })
    #expect(line.map { shown?.hasPrefix($0) == true } ?? (shown == nil), "\(shown ?? "none")")
    #expect(TextReport(detail: .all, failureLimit: .max).text(report).contains("curl ") == (line != nil))
  }

  @Test func `the options of requests are written one word each`() throws {
    var report = try read(#""requests": []"#)
    report.requests = [ReportedRequest(curl: CurlCommand(options: ["-sS", "-H", "X: 'a b'"]))]
    #expect(JSONReport().text(report).contains(#""curl": ["curl", "-sS", "-H", "X: 'a b'"]"#))
  }
}
