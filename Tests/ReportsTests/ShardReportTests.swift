import TestSupport
import Testing

@testable import Reports

/// How the report of one shard says that it is of no more.
@Suite struct ShardReportTests {
  private let report = {
    var report = RichRun.report()
    report.job.shard = ReportedShard(index: 2, count: 1200, by: "host")
    report.job.digest = "0123456789abcdef0123456789abcdef"
    return report
  }()

  @Test func `readable forms name the shard beside the job's name`() {
    for form in [TextReport(), MarkdownReport(), GitHubReport(), HTMLReport()] as [any ReportForm] {
      // A comma is escaped in properties of GitHub.
      let title = form.text(report).replacing("%2C", with: ",").firstMatch(of: #/[^<>\n]*\b1,200\b[^<>\n]*/#).map {
        "\($0.output)"
      }
      expectGolden(title, for: "\(type(of: form))")
    }
    #expect(!TextReport().text(RichRun.report()).contains("shard"))
  }

  @Test func `machine-readable forms have the shard's number`() {
    #expect(JSONReport().text(report).contains(#""shard": {"index": 2, "count": 1200, "by": "host"}"#))
    var whole = report
    whole.job.shard?.list = ReportedList(entries: 716, fingerprint: 0x0123_4567_89AB_CDEF)
    let shard = #""shard": {"index": 2, "count": 1200, "by": "host", "entries": 716, "fingerprint": "0123456789abcdef"}"#
    #expect(JSONReport().text(whole).contains(shard))
    #expect(JSONReport().text(report).contains(#""digest": "0123456789abcdef0123456789abcdef""#))
    #expect(PrometheusReport().text(report).contains(#"prewarm_exit_status{prewarm_job="homepage",prewarm_shard="2/1200"}"#))
    #expect(!PrometheusReport().text(RichRun.report()).contains("prewarm_shard"))
  }
}
