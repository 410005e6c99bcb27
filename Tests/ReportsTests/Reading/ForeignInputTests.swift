import Base
@testable import Reports
import TestSupport
import Testing

/// Errors of files that aren't prewarm reports, or are damaged.
@Suite struct ForeignInputTests {
  private let folder = TemporaryDirectory()
  private static let totals = #""totals": {"urls": 1, "failed": 1}"#

  private static let zeros = Array(repeating: "0", count: 121).joined(separator: ",")

  static let files = [
    "",
    " \n\n ",
    "hello\n",
    "[1, 2]",
    "{",
    #"{"schema": "prewarm.report/2"}"#,
    "{\n\"version\": 1\n}",
    #"{"schema": "prewarm.report/1"}"#,
    #"{"schema": "prewarm.report/1", "totals": 7}"#,
    #"{"schema": "prewarm.report/1", "totals": {"urls": 2, "failed": 1}}"#,
    #"{"schema": "prewarm.report/1", "totals": {"urls": -1}}"#,
    #"{"schema": "prewarm.report/1", "totals": {"urls": 1.5}}"#,
    #"{"schema": "prewarm.report/1", "totals": {"urls": 9000000000000000000}}"#,
    #"{"schema": "prewarm.report/1", "totals": {"urls": 99999999999999999999}}"#,
    #"{"schema": "prewarm.report/1", "schema": "prewarm.report/1"}"#,
    #"{"schema": "prewarm.report/1", "a": 1e999}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 6, "count": 5, "by": "url"}}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 65537, "by": "url"}}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 2}}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 2, "by": "url", "fingerprint": "1"}}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 2, "by": "url", "fingerprint": "0123456789abcdef"}}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "job": {"digest": 1}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "duration_seconds": -1}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "exit_status": 7}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "interrupted": 1}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "started_at": "today"}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "warnings": [1]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "hosts": {"a": 1}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 0, "hits": 1}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "latency_ms": {"buckets": [[1]]}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "failures": [{"url": "a", "outcome": "hit-disk"}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "failures": [{"url": "a", "outcome": "failed"}, {"url": "b", "outcome": "failed"}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "failure_groups": [{"failed": 1}, {"failed": 1125899906842624}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "failure_groups": [{"failed": 0, "examples": [{"url": "a", "outcome": "failed"}]}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 1, "hits": 1}, {"host": "b", "urls": 1, "hits": 1}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "standings": {"counting": 9}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "latency_ms": {"buckets": [[1, 1125899906842624], [2, 1]]}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 1, "hits": 1, "remote_cache": {"east": {"hit": 1}, "west": {"miss": 1}}}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "timeline": {"step_seconds": 1e-9, "urls": [1], "bad": [0], "bytes": [0]}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "timeline": {"step_seconds": 1, "urls": [], "bad": [], "bytes": []}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "timeline": {"step_seconds": 1, "urls": [\#(zeros)], "bad": [\#(zeros)], "bytes": [\#(zeros)]}}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "failures": [{"url": "a", "outcome": "failed", "kind": "http-status", "status": 1000}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 2, "hits": 1}]}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "exit_status": 143}"#,
    #"{"schema": "prewarm.report/1", \#(totals), "requests": [{"curl": "curl $(id)"}]}"#,
    String(repeating: "[", count: 100_000),
    #"{"a":"# + String(repeating: "[", count: 100_000),
  ]

  @Test(arguments: files.indices) func `files that aren't reports are rejected`(_ index: Int) {
    let text = Self.files[index]
    folder.write(text, to: "report")
    let error = sentence(in: folder) { _ = try folder.report("report") }
    expectGolden(error, for: text)
  }

  @Test(
    arguments: [
      "{\"url\":\"a\"}",
      "{\"outcome\":\"failed\"}",
      "{\"url\":1,\"outcome\":\"failed\"}",
      "{\"url\":\"a\",\"outcome\":\"good\"}",
      "{\"url\":\"a\",\"outcome\":\"failed\",\"kind\":\"new-kind\"}",
      "{\"url\":\"a\",\"outcome\":\"checked\",\"bytes\":-1}",
      "{\"url\":\"a\",\"outcome\":\"checked\",\"duration_ms\":1e300}",
      "{\"url\":\"a\",\"outcome\":\"failed\",\"kind\":\"http-status\",\"status\":99}",
      "{\"url\":\"a\",\"outcome\":\"checked\",\"body_hash\":\"xyz\"}",
      "{\"url\":\"a\",\"url\":\"b\"}",
      "[1]",
      "{\"url\":\"\u{0}",
      "{\"url\":\"a\",\"outcome\":\"chec",
    ]
  )
  func `invalid rows are rejected`(_ row: String) {
    let good = "{\"url\":\"https://a.example/\",\"outcome\":\"checked\"}\n"
    folder.write(good + row + "\n" + good, to: "rows")
    let error = sentence(in: folder) { _ = try folder.replay("rows") }
    expectGolden(error, for: row)
  }

  @Test func `a JSON object without the schema's keys isn't a report`() throws {
    for text in ["{}", "{}\n", "{\"version\": 1}\n"] {
      folder.write(text, to: "report.json")
      expectGolden(sentence(in: folder) { _ = try folder.report("report.json") })
    }
    // Rows may have any name, and their keys any order.
    folder.write("{\"outcome\":\"checked\",\"url\":\"https://a.example/\"}\n", to: "rows.json")
    #expect(try folder.replay("rows.json").totals.urls == 1)
  }

  @Test func `a compressed file is reported as compressed`() {
    folder.write([0x1F, 0x8B, 8, 0, 0], to: "rows.jsonl")
    expectGolden(sentence(in: folder) { _ = try folder.replay("rows.jsonl") })
  }

  @Test func `a missing file and a folder are reported`() {
    expectGolden(sentence(in: folder) { _ = try folder.report("no") })
    expectGolden(sentence(in: folder) { _ = try ReportInput(path: folder.path) })
  }

  @Test func `an endless row is rejected`() {
    folder.write("{\"url\":\"a\",\"outcome\":\"checked\"}\n" + String(repeating: "a", count: 3 << 20), to: "rows")
    expectGolden(sentence(in: folder) { _ = try folder.replay("rows") })
  }

  @Test func `sums that would overflow are rejected`() {
    let row =
      "{\"url\":\"a\",\"outcome\":\"downloaded\",\"attempts\":1,\"bytes\":\(UInt64(1) << 50),\"stored_bytes\":\(UInt64(1) << 50)}\n"
    folder.write(String(repeating: row, count: 3000), to: "rows")
    expectGolden(sentence(in: folder) { _ = try folder.replay("rows") })
  }

  @Test func `randomly changed bytes of a report never crash the reader`() throws {
    let report = Array(JSONReport().text(makeRichReport()).utf8)
    try folder.writeRows(makeSamples(), to: "rows.jsonl")
    let rows = try #require(folder.read("rows.jsonl"))
    var random = SeededRandom(seed: 6)
    let interesting = Array("\"{}[],:-0123456789eE.ntf\\u \n".utf8)
    for round in 0..<60 {
      var bytes = round.isMultiple(of: 2) ? report : rows
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[place] = interesting.randomElement(using: &random)!
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...30, using: &random)))
        case 2:
          bytes.insert(contentsOf: repeatElement(UInt8(ascii: "9"), count: Int.random(in: 1...25, using: &random)), at: place)
        default: bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
      }
      folder.write(bytes, to: "changed")
      let error = sentence(in: folder) {
        let input = try ReportInput(path: folder.file("changed"))
        switch input.kind {
        case .report:
          let report = try input.report(words: .job)
          _ = JSONReport().text(FinishedReport(merging: [report, report]))
          _ = TextReport().text(report)
        case .rows: _ = JSONReport().text(try folder.replay("changed"))
        }
      }
      if let error { #expect(error.contains("changed"), "\(error)") }
    }
  }
}
