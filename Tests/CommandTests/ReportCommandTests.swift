import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm report`: shows, merges and compares reports of runs.
@Suite struct ReportCommandTests {
  private let origin = makeImageOrigin()

  @Test func `a JSON report shown as JSON has the run's bytes, and as text the run's output`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4) + [origin.url("/missing.jpg"), "ftp://a.example/"])
    let run = try await job.runJob()
    let shown = try await job.prewarm("report show report.json --report json=again.json")
    #expect(shown.status == 0 && shown.outputText == run.result.outputText, "\(shown.outputText)\(shown.errorText)")
    let isTheSame = job.folder.read("again.json") == job.folder.read("report.json")
    #expect(isTheSame)
  }

  @Test func `shown rows have the run's counts and are written again unchanged`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4) + [origin.url("/missing.jpg"), "ftp://a.example/"])
    let run = try await job.runJob()
    let shown = try await job.prewarm("report show rows.jsonl --report json=again.json --report jsonl=again.jsonl")
    #expect(shown.status == 0 && shown.outputText.contains("http-status 404"), "\(shown.outputText)\(shown.errorText)")
    expectGolden(shown.errorText)
    let again = try Run(shown, renaming("again", in: job.folder))
    #expect(again.totals == run.totals && again.failuresByKind == run.failuresByKind)
    // Rows don't say which failures were blacklisted.
    for key in ["hosts", "latency_ms", "formats", "standings", "bytes", "warnings"] {
      #expect(try text(again, key) == text(run, key), "\(key)")
    }
    let areTheSameRows = job.folder.read("again.jsonl") == job.folder.read("rows.jsonl")
    #expect(areTheSameRows)
  }

  /// The value of a key in a run's report.
  private func text(_ run: Run, _ key: String) throws -> String {
    let value = try JSONSerialization.data(withJSONObject: ["": try #require(run.report[key])], options: .sortedKeys)
    return String(decoding: value, as: UTF8.self)
  }

  private func renaming(_ name: String, in folder: TemporaryDirectory) -> TemporaryDirectory {
    let other = TemporaryDirectory()
    other.write(folder.read("\(name).json") ?? [], to: "report.json")
    other.write(folder.read("\(name).jsonl") ?? [], to: "rows.jsonl")
    return other
  }

  @Test func `a report is read from standard input, and one for standard output replaces the text`() async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<2))
    let report = try #require(job.folder.read("report.json"))
    let shown = try await job.prewarm("report show - --report json=-", input: .bytes(report))
    #expect(shown.status == 0 && Array(shown.outputText.utf8) == report)
    let rows = try #require(job.folder.read("rows.jsonl"))
    let text = try await job.prewarm("report show -", input: .bytes(rows))
    #expect(text.status == 0 && text.outputText.contains("2 URLs"), "\(text.outputText)\(text.errorText)")
    let quiet = try await job.prewarm("report show - --quiet", input: .bytes(rows))
    #expect(quiet.status == 0 && quiet.output.isEmpty && quiet.error.isEmpty, "\(quiet.outputText)\(quiet.errorText)")
  }

  @Test func `two merged runs have the sums of both and the worse exit status`() async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<3))
    for name in ["report.json", "rows.jsonl"] { job.folder.write(try #require(job.folder.read(name)), to: "first-\(name)") }
    job.write(urls: imageURLs(origin, 0..<5) + [origin.url("/missing.jpg")])
    #expect(try await job.runJob().status == 2)
    for files in [
      ["first-report.json", "report.json"], ["first-rows.jsonl", "rows.jsonl"], ["first-rows.jsonl", "report.json"],
    ] {
      let merged = try await job.start(["report", "merge"] + files + ["--report", "json=again.json"]).wait()
      #expect(merged.status == 2, "\(merged.errorText)")
      let report = try Run(merged, renaming("again", in: job.folder))
      #expect(report.totals["urls"] == 9 && report.totals["downloaded"] == 5 && report.totals["hit_disk"] == 3)
      #expect(report.totals["failed"] == 1 && report.failuresByKind == ["http-status": 1])
      let manifests = report.report["manifests"] as? [[String: any Sendable]]
      #expect(manifests?.count == 1 && manifests?.first?["urls"] as? Int == 9, "\(files)")
    }
    #expect(try await job.prewarm("report merge first-report.json first-report.json").status == 0)
  }

  @Test func `merged rows of a run that read nothing exit with 2, as an empty list does`() async throws {
    let job = JobFolder(urls: [])
    job.folder.write("\n", to: "rows.jsonl")
    let shown = try await job.prewarm("report show rows.jsonl")
    #expect(shown.status == 0 && shown.outputText.contains("rows  FAILED  no URLs in the lists"), "\(shown.outputText)")
    #expect(try await job.prewarm("report merge rows.jsonl").status == 2)
  }

  /// Golden files have its text and its rows.
  @Test func `diff exits with 2 on request if failures were added`() async throws {
    let job = try await JobFolder.warmed(urls: imageURLs(origin, 0..<3), keys: "cache: {mode: bypass}\nrequest: {retries: 0}")
    for name in ["report.json", "rows.jsonl"] { job.folder.write(try #require(job.folder.read(name)), to: "old-\(name)") }
    origin.set("/images/1.jpg", .status(410))
    _ = try await job.runJob()
    for (line, status) in [
      ("old-rows.jsonl rows.jsonl", 0), ("--exit-code old-rows.jsonl rows.jsonl", 2), ("--exit-code rows.jsonl rows.jsonl", 0),
      ("--exit-code old-report.json report.json", 2), ("--exit-code rows.jsonl old-rows.jsonl", 0),
    ] {
      let result = try await job.prewarm("report diff \(line)")
      #expect(result.status == status, "\(line): \(result.outputText)\(result.errorText)")
    }
  }
}
