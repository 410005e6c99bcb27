import Base
@testable import Reports
import TestSupport
import Testing

/// Reading a JSON report keeps its content.
@Suite struct RoundTripTests {
  private let folder = TemporaryDirectory()

  static let reports: [(name: String, report: FinishedReport)] = [
    ("rich", makeRichReport()),
    ("empty", makeRun([]).finish(makeEnd(after: .zero) { $0.isEmpty = true })),
    ("interrupted", makeRun(makeSamples()).finish(makeEnd { $0.interruption = .interrupt })),
    (
      "terminated",
      makeRun(makeSamples()).finish(
        makeEnd {
          $0.interruption = .terminate; $0.areManifestsRead = false
        }
      )
    ),
    (
      "broken",
      makeRun(makeSamples()).finish(
        makeEnd {
          $0.breakage = hostileText; $0.areManifestsRead = false
        }
      )
    ),
    ("past its deadline", makeRun(makeSamples()).finish(makeEnd { $0.isPastDeadline = true })),
    ("all good", makeRun(Array(makeSamples().prefix(5))).finish(makeEnd(after: .nanoseconds(1)))),
    ("long", makeRun(makeSamples()).finish(makeEnd(after: .nanoseconds(86_400_000_000_001)))),
    ("of a shard", makeShardReport()),
    ("merged", FinishedReport(merging: [makeRichReport(), makeRichReport(name: "catalog")])),
    ("without times", FinishedReport(merging: [makeRun(makeSamples()).finish(RunEnd(finishedAt: nil, duration: .zero))])),
  ]

  private static func makeShardReport() -> FinishedReport {
    var report = makeRichReport()
    let list = ReportedList(entries: 716, fingerprint: 0x0123_4567_89AB_CDEF)
    report.job.shard = ReportedShard(index: 2, count: 65_536, by: "host", list: list)
    report.job.digest = "0123456789abcdef0123456789abcdef"
    return report
  }

  @Test(arguments: reports.indices) func `a report that is read back renders the same JSON and text`(_ index: Int) throws {
    let (name, report) = Self.reports[index]
    let text = JSONReport().text(report)
    folder.write(text, to: "report.json")
    let again = try folder.report("report.json")
    #expect(firstDifference(JSONReport().text(again), text) == nil, "\(name)")
    #expect(firstDifference(TextReport().text(again), TextReport().text(report)) == nil, "\(name)")
    #expect(again.exitStatus == report.exitStatus, "\(name)")
  }

  @Test func `a report in one line or after white space is read`() throws {
    let report = makeRichReport()
    let text = JSONReport().text(report)
    for layout in [text.replacing("\n", with: ""), "\n\n \t\(text)\n\n"] {
      folder.write(layout, to: "report.json")
      #expect(firstDifference(JSONReport().text(try folder.report("report.json")), text) == nil)
    }
  }

  @Test func `fields that are missing have their defaults, and unknown ones are ignored`() throws {
    folder.write(
      """
      {"schema": "prewarm.report/1", "prewarm": "0.0.9", "job": {"name": "a", "file": null, "shard": null}, "interrupted": true,
       "signal": "SIGTERM", "exit_status": 143, "new_key": [1, {"a": null}],
       "totals": {"urls": 3, "hit_memory": 0, "hit_disk": 1, "downloaded": 1, "failed": 1},
       "manifests": [{"path": "urls.txt", "urls": 3, "hits": 1, "downloaded": 1, "failed": 1}],
       "failures": [{"url": "https://a.example/", "outcome": "failed", "kind": "dns"}]}
      """,
      to: "report.json"
    )
    let report = try folder.report("report.json")
    #expect(report.exitStatus == .terminated && report.version == "0.0.9" && report.startedAt == nil)
    #expect(report.manifests[0].totals.urls == 3 && report.failures[0].failure?.kind == .dns)
    #expect(report.standings.counting == 1 && report.end.areManifestsRead)
  }
}
