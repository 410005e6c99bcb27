import Foundation
import Base
import Testing

@testable import Reports

/// URLs and messages that try to break out of a string, a line or a terminal.
let hostileTexts = [
  "line\nfeed", "carriage\rreturn", "tab\tand\u{0}nul", #"quote " and \ backslash"#, "\u{1B}[31mred", "\u{7F}\u{9B}31m",
  "\u{202E}gnp.exe\u{202C}", "\u{2066}isolate\u{2069}", "\u{2028}\u{2029}", "żółć/画像/🦊", "\u{E0041}tag", "\u{FEFF}bom",
  "</script>",
]

@Suite struct JSONReportTests {
  private func parse(_ report: FinishedReport) throws -> [String: Any] {
    let data = Data(JSONReport().text(report).utf8)
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  @Test(arguments: hostileTexts) func `hostile text survives a round trip`(_ text: String) throws {
    let run = makeRun(manifests: [text])
    run.record(.failed(ImageFailure(.reset, message: text)), url: text, host: text)
    let json = try parse(run.finish(makeEnd(after: .seconds(1)) { $0.warnings = [text] }))
    let failure = try #require((json["failures"] as? [[String: Any]])?.first)
    #expect(failure["url"] as? String == text)
    #expect(failure["message"] as? String == text)
    #expect(failure["manifest"] as? String == text)
    #expect((json["hosts"] as? [[String: Any]])?.first?["host"] as? String == text)
    #expect(json["warnings"] as? [String] == [text])
  }

  @Test(arguments: [Int64.min, -62_135_596_800_001, -1, 253_402_300_800_000, .max])
  func `every written time can be read`(milliseconds: Int64) {
    let moment = Timestamp(milliseconds: milliseconds)
    for text in [moment.iso8601, moment.iso8601Seconds] {
      #expect(Array(text.utf8).withUnsafeBytes { Timestamp(iso8601: $0) } != nil)
    }
  }

  @Test func `a report is safe to print on a terminal`() {
    let run = makeRun(manifests: hostileTexts)
    for text in hostileTexts { run.record(.failed(ImageFailure(.reset, message: text)), url: text, host: text) }
    for scalar in JSONReport().text(run.finish(makeEnd(after: .seconds(1)))).unicodeScalars where scalar != "\n" {
      #expect(![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory))
    }
  }

  @Test func `every character is escaped or not at every position of a word`() throws {
    for byte in 0..<UInt8(0x80) {
      let character = String(UnicodeScalar(byte))
      for position in 0..<11 {
        let text = String(repeating: "a", count: position) + character + String(repeating: "b", count: 10 - position)
        var output = OutputBuffer()
        output.appendJSON(text)
        let mustBeEscaped = byte < 0x20 || byte == 0x7F || byte == 0x22 || byte == 0x5C
        #expect(output.text.hasPrefix("\"" + text.prefix(position) + (mustBeEscaped ? "\\" : character)))
        let parsed = try JSONSerialization.jsonObject(with: Data(output.text.utf8), options: .fragmentsAllowed)
        #expect(parsed as? String == text)
      }
    }
  }

  @Test func `invalid UTF-8 becomes replacement characters`() throws {
    for bytes in [[0x61, 0xFF, 0x62], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x41], [0xC0, 0x80]] as [[UInt8]] {
      let run = makeRun()
      run.record(.failed(ImageFailure(.reset, message: "")), urlBytes: bytes)
      let failures = try parse(run.finish(makeEnd(after: .seconds(1))))["failures"] as? [[String: Any]]
      #expect(failures?.first?["url"] as? String == String(decoding: bytes, as: UTF8.self))
    }
  }

  @Test func `keys are in the documented order`() {
    let text = JSONReport().text(makeTroubledRun())
    let keys = text.split(separator: "\n").filter { $0.hasPrefix("  \"") }.map { String($0.dropFirst(3).prefix { $0 != "\"" }) }
    #expect(
      keys == [
        "schema", "prewarm", "job", "started_at", "finished_at", "duration_seconds", "interrupted", "signal", "deadline_passed",
        "breakage", "manifests_read", "empty", "outstanding", "exit_status", "fail_on", "verdict", "standings", "baseline",
        "totals", "hit_ratio", "failures_by_kind", "failures_by_status", "bytes", "duplicates", "throughput", "latency_ms",
        "attempts",
        "outcomes", "formats", "timeline", "cache", "blacklist", "manifests", "hosts", "hosts_omitted", "failure_groups",
        "failures",
        "failures_omitted", "placeholders", "requests", "warnings", "peak_memory_bytes", "bounded_by", "bound_shares",
      ]
    )
  }

  @Test func `a full report has these bytes`() {
    let run = makeRun()
    run.record(.make(.hitDisk) { $0.bytes = 500 }, count: 7)
    run.record(.downloaded(bytes: 1000, milliseconds: 2), line: 8, count: 2)
    let missing = ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    run.record(.failed(missing, isBlacklisted: true), url: "https://img.example.com/old.jpg", line: 17, priority: .high)
    let report = run.finish(
      makeEnd(after: .milliseconds(2500)) {
        addStores(to: &$0)
        $0.peakMemoryBytes = 41_943_040
        $0.bottleneck = "the origin"
        $0.bottlenecks = [BottleneckShare(name: "network", fraction: 0.5), BottleneckShare(name: "cpu", fraction: 0.0488)]
      }
    )
    #expect(
      JSONReport().text(report) == """
        {
          "schema": "prewarm.report/1",
          "prewarm": "0.1.0",
          "job": {"name": "homepage", "file": "jobs/homepage.yaml", "shard": null, "digest": null},
          "started_at": "2026-11-21T09:00:00.000Z",
          "finished_at": "2026-11-21T09:00:02.500Z",
          "duration_seconds": 2.5,
          "interrupted": false,
          "signal": null,
          "deadline_passed": false,
          "breakage": null,
          "manifests_read": true,
          "empty": false,
          "outstanding": 0,
          "exit_status": 2,
          "fail_on": {"failures": 0, "known": {"fraction": 0.1}, "kinds": {}, "latency_ms": {}, "empty": true, "unfinished": true, "evicted": true},
          "verdict": {"reasons": ["1 of 10 URLs is bad (limit 0)"]},
          "standings": {"counting": 1, "known": 0, "in_grace": 0, "counting_by_kind": {"http-status": 1}},
          "baseline": null,
          "totals": {"urls": 10, "hit_memory": 0, "hit_disk": 7, "downloaded": 2, "revalidated": 0, "checked": 0, "failed": 1, \
        "blacklisted": 0, "skipped": 0, "cancelled": 0},
          "hit_ratio": 0.7,
          "failures_by_kind": {"http-status": 1},
          "failures_by_status": {"404": 1},
          "bytes": {"downloaded": 2000, "from_cache": 3500, "original": 2000, "stored": 2000},
          "duplicates": {"bodies": 0, "urls": 0},
          "throughput": {"urls_per_second": 4.0, "bytes_per_second": 800.0},
          "latency_ms": {"count": 2, "p50": 1.841, "p90": 2.0, "p99": 2.0, "max": 2.0, "sum": 4.0, "buckets": [[2.0, 2]]},
          "attempts": {"total": 3, "retried": 0, "waited_seconds": 0.0, "transient_failures": 0},
          "outcomes": {"downloaded": {"bytes": 2000, "shared": 0, "latency_ms": {"p50": 1.841, "p99": 2.0, "max": 2.0, "sum": 4.0, \
        "buckets": [[2.0, 2]]}}, "failed": {"bytes": 0, "shared": 0, "latency_ms": {"p50": null, "p99": null, "max": null, "sum": 0.0, \
        "buckets": []}}},
          "formats": {"jpeg": 2},
          "timeline": null,
          "cache": {"directory": "/var/cache/prewarm", "namespace": "default", "entries": 9898, "body_bytes": 1111111111, \
        "disk_bytes": 1211111111, "max_bytes": 2000000000, "trimmed_entries": 0, "expired_entries": 0, \
        "evicted_from_this_run": 0, "fresh_until": "2026-11-28T09:00:00Z"},
          "blacklist": {"entries": 102, "added": 87, "removed": 0},
          "manifests": [
            {"path": "urls/hero.txt", "urls": 10, "hits": 7, "downloaded": 2, "failed": 1, "blacklisted": 0, "hit_memory": 0, \
        "revalidated": 0, "checked": 0, "skipped": 0, "cancelled": 0}
          ],
          "hosts": [
            {"host": "img.example.com", "urls": 10, "hits": 7, "downloaded": 2, "failed": 1, "blacklisted": 0, "hit_memory": 0, \
        "revalidated": 0, "checked": 0, "skipped": 0, "cancelled": 0, "bytes": 2000, \
        "latency_ms": {"p50": 1.841, "p99": 2.0, "max": 2.0, "sum": 4.0, "buckets": [[2.0, 2]]}}
          ],
          "hosts_omitted": 0,
          "failure_groups": [
            {"kind": "http-status", "status": 404, "message": "the server answered 404 Not Found", \
        "failed": 1, "blacklisted": 0, "counting": 1, \
        "hosts": [{"host": "img.example.com", "count": 1}], "elsewhere": 0, "examples": [\
        {"url": "https://img.example.com/old.jpg", "manifest": "urls/hero.txt", "line": 17, "priority": "high", \
        "outcome": "failed", "kind": "http-status", "status": 404, "transient": false, "attempts": 1, "blacklisted": true, \
        "message": "the server answered 404 Not Found"}]}
          ],
          "failures": [
            {"url": "https://img.example.com/old.jpg", "manifest": "urls/hero.txt", "line": 17, "priority": "high", \
        "outcome": "failed", "kind": "http-status", "status": 404, "transient": false, "attempts": 1, "blacklisted": true, \
        "message": "the server answered 404 Not Found"}
          ],
          "failures_omitted": 0,
          "placeholders": [],
          "requests": [],
          "warnings": [],
          "peak_memory_bytes": 41943040,
          "bounded_by": "the origin",
          "bound_shares": {"network": 0.5, "cpu": 0.049}
        }

        """
    )
  }

  @Test func `the report of an empty run is valid`() throws {
    let json = try parse(makeRun(manifests: []).finish(makeEnd(after: .zero) { $0.interruption = .terminate }))
    #expect(json["hit_ratio"] as? Double == 0)
    #expect(json["cache"] is NSNull)
    #expect(json["interrupted"] as? Bool == true)
    #expect(json["exit_status"] as? Int == 143)
    #expect((json["latency_ms"] as? [String: Any])?["p50"] is NSNull)
  }

  @Test func `timestamps agree with the calendar`() throws {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    for day in stride(from: -20_000, through: 80_000, by: 61) {
      let start = Timestamp(milliseconds: Int64(day) * 86_400_000 + 45_296_789)
      let run = RunReport(version: "", job: JobIdentity(name: "a", file: nil), words: .job, startedAt: start)
      let text = try parse(run.finish(makeEnd(after: .zero)))["started_at"] as? String
      #expect(text == formatter.string(from: Date(timeIntervalSince1970: Double(start.milliseconds) / 1000)))
    }
  }
}
