import Foundation
import TestOrigin
import TestSupport
import Testing

/// `prewarm report`: shows, merges and compares reports of runs.
@Suite struct ReportCommandTests {
  private let origin = makeImageOrigin()

  @Test func `a shown report has the run's bytes, and its rows the same counts`() async throws {
    let job = JobFolder(urls: imageURLs(origin, 0..<4) + [origin.url("/missing.jpg"), "ftp://a.example/"])
    let run = try await job.runJob()
    let shown = try await job.prewarm("report show report.json --report json=again.json")
    #expect(shown.status == 0 && shown.outputText == run.result.outputText, "\(shown.outputText)\(shown.errorText)")
    let rows = try await job.prewarm("report show rows.jsonl --report json=rows.json --report jsonl=again.jsonl")
    #expect(rows.status == 0 && rows.outputText.contains("http-status 404"), "\(rows.outputText)\(rows.errorText)")
    expectGolden(rows.errorText)
    let areTheSame = ["json", "jsonl"].map {
      job.folder.read("again.\($0)") == job.folder.read($0 == "json" ? "report.json" : "rows.jsonl")
    }
    #expect(areTheSame == [true, true])
    // Rows don't say which failures were blacklisted.
    for key in ["totals", "failures_by_kind", "hosts", "latency_ms", "formats", "standings", "bytes", "warnings"] {
      #expect(try text(job.json("rows.json"), key) == text(run.report, key), "\(key)")
    }
  }

  /// The value of a key in a report.
  private func text(_ report: [String: any Sendable], _ key: String) throws -> String {
    let value = try JSONSerialization.data(withJSONObject: ["": try #require(report[key])], options: .sortedKeys)
    return String(decoding: value, as: UTF8.self)
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
    for files in ["first-report.json report.json", "first-rows.jsonl rows.jsonl", "first-rows.jsonl report.json"] {
      #expect(try await job.prewarm("report merge \(files) --report json=again.json").status == 2)
      let totals = try #require(try job.json("again.json")["totals"] as? [String: Int])
      #expect(totals["urls"] == 9 && totals["downloaded"] == 5 && totals["hit_disk"] == 3 && totals["failed"] == 1, "\(files)")
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
