import ImagePrimitives
import Reports
import TestSupport
import Testing

/// What is no report of ours, or no longer, is told in a sentence.
@Suite struct ForeignInputTests {
  private let folder = TemporaryDirectory()
  private static let totals = #""totals": {"urls": 1, "failed": 1}"#

  private static let zeros = Array(repeating: "0", count: 121).joined(separator: ",")

  static let files: [(text: String, message: String)] = [
    ("", "report is empty; a run may have been killed before it could write its report"),
    (" \n\n ", "report is empty; a run may have been killed before it could write its report"),
    ("hello\n", "report is no report of prewarm: neither JSON nor JSON Lines"),
    ("[1, 2]", "report is no report of prewarm: neither JSON nor JSON Lines"),
    ("{", "report:1: is no valid JSON: string or '}' expected near end of file"),
    (#"{"schema": "prewarm.report/2"}"#, "report is of the schema 'prewarm.report/2', and this version reads prewarm.report/1"),
    ("{\n\"version\": 1\n}", "report is no report of prewarm: it names no schema"),
    (#"{"schema": "prewarm.report/1"}"#, "report has no totals"),
    (#"{"schema": "prewarm.report/1", "totals": 7}"#, "report totals is no object"),
    (#"{"schema": "prewarm.report/1", "totals": {"urls": 2, "failed": 1}}"#, "report totals do not add up to urls"),
    (#"{"schema": "prewarm.report/1", "totals": {"urls": -1}}"#, "report totals.urls is no whole number from 0 on"),
    (#"{"schema": "prewarm.report/1", "totals": {"urls": 1.5}}"#, "report totals.urls is no whole number from 0 on"),
    (#"{"schema": "prewarm.report/1", "totals": {"urls": 9000000000000000000}}"#, "report totals.urls is too large a number"),
    (
      #"{"schema": "prewarm.report/1", "totals": {"urls": 99999999999999999999}}"#,
      "report:1: is no valid JSON: too big integer"
    ),
    (#"{"schema": "prewarm.report/1", "schema": "prewarm.report/1"}"#, "report:1: is no valid JSON: duplicate object key"),
    (#"{"schema": "prewarm.report/1", "a": 1e999}"#, "report:1: is no valid JSON: real number overflow"),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 6, "count": 5, "by": "url"}}}"#,
      "report job.shard is shard 6 of 5, as none is"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 65537, "by": "url"}}}"#,
      "report job.shard is shard 1 of 65537, as none is"
    ),
    (#"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 2}}}"#, "report job.shard lacks by"),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 2, "by": "url", "fingerprint": "1"}}}"#,
      "report job.shard.fingerprint is no number of 16 hexadecimal digits"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "job": {"shard": {"index": 1, "count": 2, "by": "url", "fingerprint": "0123456789abcdef"}}}"#,
      "report job.shard lacks entries"
    ),
    (#"{"schema": "prewarm.report/1", \#(totals), "job": {"digest": 1}}"#, "report job.digest is no string"),
    (#"{"schema": "prewarm.report/1", \#(totals), "duration_seconds": -1}"#, "report duration_seconds is negative"),
    (#"{"schema": "prewarm.report/1", \#(totals), "exit_status": 7}"#, "report exit_status is no exit status of prewarm"),
    (#"{"schema": "prewarm.report/1", \#(totals), "interrupted": 1}"#, "report interrupted is neither true nor false"),
    (#"{"schema": "prewarm.report/1", \#(totals), "started_at": "today"}"#, "report started_at is no moment such as"),
    (#"{"schema": "prewarm.report/1", \#(totals), "warnings": [1]}"#, "report warnings[0] is no string"),
    (#"{"schema": "prewarm.report/1", \#(totals), "hosts": {"a": 1}}"#, "report hosts is no array"),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 0, "hits": 1}]}"#,
      "report hosts[0] counts more than its urls"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "latency_ms": {"buckets": [[1]]}}"#,
      "report latency_ms.buckets[0] is no pair"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "failures": [{"url": "a", "outcome": "hit-disk"}]}"#,
      "report failures[0].outcome is 'hit-disk', which this version does not know"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "failures": [{"url": "a", "outcome": "failed"}, {"url": "b", "outcome": "failed"}]}"#,
      "report lists more failures than its totals count"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "failure_groups": [{"failed": 1}, {"failed": 1125899906842624}]}"#,
      "report has groups with more failures than its totals count"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "failure_groups": [{"failed": 0, "examples": [{"url": "a", "outcome": "failed"}]}]}"#,
      "report has a group with more examples than failures"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 1, "hits": 1}, {"host": "b", "urls": 1, "hits": 1}]}"#,
      "report has hosts with more entries than its totals count"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "standings": {"counting": 9}}"#,
      "report has standings that do not add up to failed and blacklisted"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "latency_ms": {"buckets": [[1, 1125899906842624], [2, 1]]}}"#,
      "report latency_ms counts more values than there can be"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 1, "hits": 1, "remote_cache": {"east": {"hit": 1}, "west": {"miss": 1}}}]}"#,
      "report has a host of which caches on the way had more than its entries"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "timeline": {"step_seconds": 1e-9, "urls": [1], "bad": [0], "bytes": [0]}}"#,
      "report has a timeline of steps shorter than a millisecond"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "timeline": {"step_seconds": 1, "urls": [], "bad": [], "bytes": []}}"#,
      "report has a timeline without steps"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "timeline": {"step_seconds": 1, "urls": [\#(zeros)], "bad": [\#(zeros)], "bytes": [\#(zeros)]}}"#,
      "report has a timeline of more than 120 steps"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "failures": [{"url": "a", "outcome": "failed", "kind": "http-status", "status": 1000}]}"#,
      "report failures[0].status is no HTTP status"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "hosts": [{"host": "a", "urls": 2, "hits": 1}]}"#,
      "report hosts[0] counts fewer than its urls"
    ),
    (
      #"{"schema": "prewarm.report/1", \#(totals), "exit_status": 143}"#,
      "report exit_status does not follow from the rest of the report"
    ),
    (#"{"schema": "prewarm.report/1", \#(totals), "requests": [{"curl": "curl $(id)"}]}"#, "report requests[0].curl is no array"),
    (String(repeating: "[", count: 100_000), "report is no report of prewarm: neither JSON nor JSON Lines"),
    (#"{"a":"# + String(repeating: "[", count: 100_000), "report:1: is no valid JSON: maximum parsing depth reached"),
  ]

  @Test("files that aren't reports are rejected", arguments: files.indices)
  func noReport(_ index: Int) {
    let (text, message) = Self.files[index]
    folder.write(text, to: "report")
    let error = sentence(in: folder) { _ = try folder.report("report") }
    #expect(error?.hasPrefix(message) == true, "\(error ?? "no error")")
  }

  @Test(
    "invalid rows are rejected",
    arguments: [
      ("{\"url\":\"a\"}", "rows:2: the row has no outcome"),
      ("{\"outcome\":\"failed\"}", "rows:2: has no url"),
      ("{\"url\":1,\"outcome\":\"failed\"}", "rows:2: url is no string"),
      ("{\"url\":\"a\",\"outcome\":\"good\"}", "rows:2: outcome is 'good', which this version does not know"),
      (
        "{\"url\":\"a\",\"outcome\":\"failed\",\"kind\":\"new-kind\"}",
        "rows:2: kind is 'new-kind', which this version does not know"
      ),
      ("{\"url\":\"a\",\"outcome\":\"checked\",\"bytes\":-1}", "rows:2: bytes is no whole number from 0 on"),
      ("{\"url\":\"a\",\"outcome\":\"checked\",\"duration_ms\":1e300}", "rows:2: duration_ms is too large a number"),
      (
        "{\"url\":\"a\",\"outcome\":\"failed\",\"kind\":\"http-status\",\"status\":99}",
        "rows:2: status is no HTTP status"
      ),
      ("{\"url\":\"a\",\"outcome\":\"checked\",\"body_hash\":\"xyz\"}", "rows:2: body_hash is no hash of 32 digits"),
      ("{\"url\":\"a\",\"url\":\"b\"}", "rows:2: the row is no valid JSON: duplicate object key"),
      ("[1]", "rows:2: the row is no object"),
      ("{\"url\":\"\u{0}", "rows:2: the row is no valid JSON"),
      ("{\"url\":\"a\",\"outcome\":\"chec", "rows:2: the row is no valid JSON"),
    ]
  )
  func noRow(_ row: String, _ message: String) {
    let good = "{\"url\":\"https://a.example/\",\"outcome\":\"checked\"}\n"
    folder.write(good + row + "\n" + good, to: "rows")
    let error = sentence(in: folder) { _ = try folder.replay("rows") }
    #expect(error?.hasPrefix(message) == true, "\(error ?? "no error")")
  }

  @Test("a JSON object without the schema's keys isn't a report") func anObjectInAJSONFileThatNamesNothingIsNoReport() throws {
    for text in ["{}", "{}\n", "{\"version\": 1}\n"] {
      folder.write(text, to: "report.json")
      #expect(
        sentence(in: folder) { _ = try folder.report("report.json") } == "report.json is no report of prewarm: it names no schema"
      )
    }
    // Rows may have any name, and their keys any order.
    folder.write("{\"outcome\":\"checked\",\"url\":\"https://a.example/\"}\n", to: "rows.json")
    #expect(try folder.replay("rows.json").totals.urls == 1)
  }

  @Test("a compressed file is reported as compressed") func aFileThatWasCompressedIsToldSo() {
    folder.write([0x1F, 0x8B, 8, 0, 0], to: "rows.jsonl")
    #expect(
      sentence(in: folder) { _ = try folder.replay("rows.jsonl") } == "rows.jsonl is compressed with gzip; uncompress it first"
    )
  }

  @Test("a missing file and a folder are reported") func aFileThatIsMissingAndAFolderAreTold() {
    #expect(sentence(in: folder) { _ = try folder.report("no") } == "no cannot be read: No such file or directory")
    #expect(
      sentence(in: folder) { _ = try ReportInput(path: folder.path) }?.hasSuffix("is a folder; name the report in it") == true
    )
  }

  @Test("an endless row is rejected") func aRowWithoutEndIsGivenUp() {
    folder.write("{\"url\":\"a\",\"outcome\":\"checked\"}\n" + String(repeating: "a", count: 3 << 20), to: "rows")
    #expect(sentence(in: folder) { _ = try folder.replay("rows") } == "rows has a line longer than 1024 KiB, as none of ours is")
  }

  @Test("sums that would overflow are rejected")
  func hugeSums() {
    let row =
      "{\"url\":\"a\",\"outcome\":\"downloaded\",\"attempts\":1,\"bytes\":\(UInt64(1) << 50),\"stored_bytes\":\(UInt64(1) << 50)}\n"
    folder.write(String(repeating: row, count: 3000), to: "rows")
    #expect(sentence(in: folder) { _ = try folder.replay("rows") }?.hasSuffix("more bytes than there can be") == true)
  }

  @Test("randomly changed bytes of a report never crash the reader")
  func randomChanges() throws {
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
          let report = try input.report()
          _ = JSONReport().text(FinishedReport(merging: [report, report]))
          _ = TextReport().text(report)
        case .rows: _ = JSONReport().text(try folder.replay("changed"))
        }
      }
      if let error { #expect(error.contains("changed"), "\(error)") }
    }
  }
}
