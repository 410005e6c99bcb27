import Foundation
import Base
@testable import Reports
import TestSupport
import Testing

@Suite struct PrometheusReportTests {
  /// Values by name and labels.
  private func samples(_ text: String) -> [String: Double] {
    let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    return Dictionary(
      uniqueKeysWithValues: lines.map { line in
        let space = line.lastIndex(of: " ")!
        return (String(line[..<space]), Double(line[line.index(after: space)...])!)
      }
    )
  }

  @Test func `promtool accepts the metrics of every run without warnings`() async throws {
    let empty = makeRun().finish(makeEnd(after: .zero))
    let named = RunReport(version: "", job: JobIdentity(name: hostileTexts.joined(), file: nil), words: .job, startedAt: nil)
    for report in [RichRun.report(), empty, named.finish(RunEnd(finishedAt: nil, duration: .seconds(1)))] {
      try await Readers.checkMetrics(Array(PrometheusReport().text(report).utf8))
    }
  }

  @Test func `buckets are cumulative and the same for every run`() {
    let rich = samples(PrometheusReport().text(RichRun.report()))
    let empty = samples(PrometheusReport().text(makeRun().finish(makeEnd(after: .zero) { addStores(to: &$0) })))
    #expect(Set(rich.keys) == Set(empty.keys))
    func bucket(_ bound: String) -> Double? {
      rich["prewarm_transfer_duration_seconds_bucket{prewarm_job=\"homepage\",le=\"\(bound)\"}"]
    }
    // Of 1, 2, 3, 4, 5, 900, 60,000 and 200,000 ms.
    #expect(bucket("0.001") == 1)
    #expect(bucket("0.002") == 2)
    #expect(bucket("0.004") == 4)
    #expect(bucket("0.512") == 5)
    #expect(bucket("1.024") == 6)
    #expect(bucket("131.072") == 7)
    #expect(bucket("+Inf") == 8)
    #expect(rich["prewarm_transfer_duration_seconds_count{prewarm_job=\"homepage\"}"] == 8)
    #expect(rich["prewarm_transfer_duration_seconds_sum{prewarm_job=\"homepage\"}"] == 260.915)
  }

  @Test func `a job's name cannot leave its label`() {
    let run = RunReport(version: "", job: JobIdentity(name: "a\"} 1\nb\\", file: nil), words: .job, startedAt: nil)
    let text = PrometheusReport().text(run.finish(makeEnd(after: .zero)))
    #expect(text.contains(#"prewarm_exit_status{prewarm_job="a\"} 1\\nb\\"} 0"#))
  }

  @Test func `no temporary name ends in .prom`() throws {
    let folder = TemporaryDirectory()
    var writer: (any ReportWriter)? = try ReportFormat.prometheus.open(folder.file("prewarm.prom"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).allSatisfy { !$0.hasSuffix(".prom") })
    try writer?.finish(RichRun.report())
    writer = nil
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["prewarm.prom"])
  }
}
