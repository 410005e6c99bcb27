import Foundation
import Glibc
import TestOrigin
import TestSupport
import Testing

/// `request.recheck`: what may have failed temporarily is requested once more at the end of a run.
@Suite struct SecondLookTests {
  private let origin = makeImageOrigin()

  private struct Case: CustomTestStringConvertible {
    let name: String
    let behaviours: [Behaviour]
    var options = "--recheck 0s"
    /// Of the row: outcome, recovered, attempts.
    let row: String
    let requests: Int
    var testDescription: String { "\(name) \(options)" }
  }

  private static let cases = [
    Case(name: "503", behaviours: [.status(503), .jpeg()], row: "checked true 2", requests: 2),
    Case(name: "429", behaviours: [.status(429, headers: ["Retry-After": "0"]), .jpeg()], row: "checked true 2", requests: 2),
    Case(name: "a reset connection", behaviours: [.reset, .jpeg()], row: "checked true 2", requests: 2),
    Case(name: "a cut body", behaviours: [.cut(afterBytes: 9, declared: 99), .jpeg()], row: "checked true 2", requests: 2),
    Case(name: "a lasting 503", behaviours: [.status(503)], row: "failed false 2", requests: 2),
    Case(name: "503, then 404", behaviours: [.status(503), .status(404)], row: "failed false 2", requests: 2),
    Case(name: "404", behaviours: [.status(404), .jpeg()], row: "failed false 1", requests: 1),
    Case(name: "no image", behaviours: [.text("sorry"), .jpeg()], row: "failed false 1", requests: 1),
    Case(name: "503", behaviours: [.status(503), .jpeg()], options: "--recheck off", row: "failed false 1", requests: 1),
    Case(
      name: "503",
      behaviours: [.status(503), .jpeg()],
      options: "--recheck 1h --deadline 10m",
      row: "failed false 1",
      requests: 1
    ),
  ]

  @Test(arguments: cases) private func `what may have failed temporarily is requested again, and only that result counts`(
    _ test: Case
  ) async throws {
    origin.set("/a.jpg", .sequence(test.behaviours))
    let job = JobFolder(urls: imageURLs(origin, 0..<3) + [origin.url("/a.jpg")])
    let isGood = test.row.hasPrefix("checked")
    let result = try await job.prewarm(
      "check urls.txt --retries 0 --method get \(test.options) -o rows.jsonl -o report.json"
    )
    #expect(result.status == (isGood ? 0 : 2), "\(result.outputText)\(result.errorText)")
    let rows = try #require(job.folder.read("rows.jsonl")).split(separator: UInt8(ascii: "\n"))
    let row = try #require(try JSONSerialization.jsonObject(with: Data(rows[rows.count - 1])) as? [String: Any])
    #expect("\(row["outcome"]!) \(row["recovered"] as? Bool ?? false) \(row["attempts"]!)" == test.row)
    #expect(origin.count(of: "/a.jpg") == test.requests)
    let report = try job.json("report.json")
    let totals = try #require(report["totals"] as? [String: Int])
    #expect(totals["urls"] == 4 && totals["failed"] == (isGood ? 0 : 1))
    #expect((report["attempts"] as? [String: Any])?["recovered"] as? Int == (isGood ? 1 : nil))
    #expect(result.outputText.contains("(4 checked, 1 recovered)") == isGood, "\(result.outputText)")
  }

  @Test func `the second look uses new connections, and stores what it finds`() async throws {
    origin.set("/images/1.jpg", .sequence([.status(503), .jpeg()]))
    let job = JobFolder(urls: imageURLs(origin, 0..<2), keys: "request: {retries: 0, recheck: 0s}\nprefetch: {concurrency: 1}")
    let run = try await job.runJob()
    #expect(run.status == 0 && run.totals["downloaded"] == 2, "\(run.result.errorText)")
    #expect(origin.requests.map(\.connection) == [1, 1, 2])
    #expect(try await job.runJob().totals["hit_disk"] == 2)
  }

  @Test func `a job file without the key has no second look`() async throws {
    origin.set("/images/0.jpg", .sequence([.status(503), .jpeg()]))
    let job = JobFolder(urls: imageURLs(origin, 0..<1), keys: "request: {retries: 0}")
    #expect(try await job.runJob().status == 2)
    #expect(origin.requests.count == 1)
  }

  @Test func `a signal ends the pause before the second look, and the first results count`() async throws {
    origin.set("/images/1.jpg", .status(503))
    let job = JobFolder(urls: imageURLs(origin, 0..<2), keys: "request: {retries: 0, recheck: 10h}")
    let command = try job.startJob()
    try await command.waitForError("again")
    command.send(SIGTERM)
    let run = try job.finishedRun(try await command.wait())
    #expect(run.status == 143 && run.rows("failed").count == 1 && run.rows("downloaded").count == 1)
    #expect(origin.requests.count == 2)
  }
}
