import Foundation
import TestOrigin
import TestSupport
import Testing

/// A check and a run of many URLs that are broken in many ways; `scripts/soak checks` uses 50,000, and
/// PREWARM_SOAK_REPORTS sets a folder for the reports.
@Suite(.serialized) struct TwelveWaysSoakTests {
  private static let formats = ["text", "json", "jsonl", "csv", "junit", "markdown", "github", "html", "prometheus"]

  @Test(
    arguments: ["check", "run"]
  )
  func `check and run show twelve failure kinds and the worst host, alike in every format`(command: String) async throws {
    let site = try TwelveWays(urls: SoakCounts.urls)
    let job = JobFolder("manifests: [{path: urls.txt}]\ncache: {mode: bypass}")
    job.write(urls: site.urls)
    let reports = Self.formats.flatMap { ["--report", "\($0)=out/report.\($0)"] }
    let source = command == "check" ? "urls.txt" : "job.yaml"
    let result = try await job.start([command, source] + reports + site.options).wait()
    if command == "check" { try keepReports(of: job, result) }
    #expect(result.status == 2)

    let report = try JSONSerialization.jsonObject(with: Data(job.folder.read("out/report.json") ?? [])) as? [String: any Sendable]
    let totals = report?["totals"] as? [String: Int]
    let bad = site.broken.values.reduce(0, +)
    #expect(totals?["urls"] == site.urls.count && totals?["failed"] == bad && totals?["checked"] == site.urls.count - bad)
    let kinds = site.broken.reduce(into: [String: Int]()) { $0[$1.key.kind, default: 0] += $1.value }
    #expect(report?["failures_by_kind"] as? [String: Int] == kinds)

    let text = result.outputText
    for way in TwelveWays.Way.allCases { #expect(text.contains("\n  \(way.title) "), "\(way.title) is not in\n\(text)") }
    #expect(text.contains(TwelveWays.worstHost))
  }

  private func keepReports(of job: JobFolder, _ result: Command.Result) throws {
    guard let target = ProcessInfo.processInfo.environment["PREWARM_SOAK_REPORTS"] else { return }
    for format in Self.formats {
      guard let bytes = job.folder.read("out/report.\(format)") else { continue }
      try Data(bytes).write(to: URL(fileURLWithPath: "\(target)/report.\(format)"))
    }
    try Data(result.outputText.utf8).write(to: URL(fileURLWithPath: "\(target)/output.txt"))
  }
}
