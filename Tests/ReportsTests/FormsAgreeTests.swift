import Foundation
import Base
@testable import Reports
import TestSupport
import Testing

/// One run in every form: outcomes, failures by kind and hosts are the same in all.
@Suite struct FormsAgreeTests {
  private let folder = TemporaryDirectory()
  private let report = RichRun.report()

  private func text(_ format: ReportFormat) throws -> String {
    var options = ReportOptions()
    options.listsSuccesses = true
    options.terminal.detail = .all
    return String(decoding: try format.text(at: folder.file("report.\(format.rawValue)"), options: options), as: UTF8.self)
  }

  /// Entries by outcome, those that are zero left out.
  private var outcomes: [String: UInt64] {
    let totals = report.totals
    return [
      "hit-memory": totals.hitMemory, "hit-disk": totals.hitDisk, "downloaded": totals.downloaded,
      "revalidated": totals.revalidated,
      "checked": totals.checked, "failed": totals.failed, "blacklisted": totals.blacklisted, "skipped": totals.skipped,
      "cancelled": totals.cancelled,
    ]
  }

  /// Failed and blacklisted entries by kind.
  private var bad: [String: Int] { report.failureGroups.reduce(into: [:]) { $0[$1.kind!.name, default: 0] += Int($1.count) } }

  /// Entries, and failed and blacklisted ones, by host.
  private var hosts: [String: [UInt64]] {
    Dictionary(uniqueKeysWithValues: report.hosts.map { ($0.host, [$0.totals.urls, $0.totals.bad]) })
  }

  private func expect(rows: [[String: String]]) {
    #expect(rows.reduce(into: [:]) { $0[$1["outcome"]!, default: 0] += 1 } == outcomes)
    let kinds = rows.compactMap { $0["kind"] }.filter { !$0.isEmpty }
    #expect(kinds.reduce(into: [:]) { $0[$1, default: 0] += 1 } == bad)
  }

  @Test func `the sample run has figures for every comparison`() {
    #expect(report.totals.urls == 48 && outcomes.values.allSatisfy { $0 > 0 })
    #expect(bad == ["http-status": 15, "timeout": 2, "not-an-image": 2, "invalid-url": 1])
    #expect(hosts == ["img.example.com": [37, 16], "cdn.example.com": [9, 2], "slow.example.net:8443": [1, 1]])
  }

  @Test func `the JSON report has the run's figures`() throws {
    let json = try #require(try JSONSerialization.jsonObject(with: Data(text(.json).utf8)) as? [String: Any])
    let totals = try #require(json["totals"] as? [String: UInt64])
    for (outcome, count) in outcomes { #expect(totals[outcome.replacingOccurrences(of: "-", with: "_")] == count) }
    let records = try #require(json["failures"] as? [[String: Any]])
    #expect(records.reduce(into: [:]) { $0[$1["kind"] as! String, default: 0] += 1 } == bad)
    let rows = try #require(json["hosts"] as? [[String: Any]])
    for row in rows {
      let bad = (row["failed"] as! UInt64) + (row["blacklisted"] as! UInt64)
      #expect(hosts[row["host"] as! String] == [row["urls"] as! UInt64, bad])
    }
    #expect(rows.count == hosts.count)
  }

  @Test func `the JSON Lines report has the run's figures`() throws {
    let rows = try text(.jsonl).split(separator: "\n").map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as! [String: Any]
      return object.mapValues { "\($0)" }
    }
    expect(rows: rows)
  }

  @Test func `the JUnit report has the run's figures`() throws {
    let nodes = try XMLNodes(Array(text(.junit).utf8))
    let cases = nodes.elements.indices.filter { nodes.elements[$0].name == "testcase" }
    #expect(cases.count == Int(report.totals.urls))
    var kinds: [String: Int] = [:]
    var counts: [String: [UInt64]] = [:]
    for index in cases {
      let host = nodes.elements[index].attributes["classname"]!
      let kind = nodes.children(of: index).first?.attributes["type"]
      if let kind { kinds[kind, default: 0] += 1 }
      let before = counts[host] ?? [0, 0]
      counts[host] = [before[0] + 1, before[1] + (kind == nil ? 0 : 1)]
    }
    #expect(kinds == bad)
    #expect(counts.removeValue(forKey: "(no host)") == [1, 1])
    #expect(counts == hosts)
  }

  @Test func `the Markdown report has the run's figures`() async throws {
    let nodes = try await Readers.markdown(Array(text(.markdown).utf8))
    let rows = nodes.elements.indices.filter { nodes.elements[$0].name == "table_row" }.map { row in
      let cells = nodes.elements.indices.filter { nodes.elements[$0].parent == row }
      return cells.map { cell in nodes.children(of: cell).map(\.text).joined() }
    }
    for (outcome, count) in outcomes { #expect(rows.contains { $0[0] == outcome && $0[1] == "\(count)" }) }
    for (title, count) in [("http-status 404", 15), ("timeout", 2), ("not-an-image", 2), ("invalid-url", 1)] {
      #expect(
        rows.contains {
          ($0[0] == title || $0[0].hasPrefix(title + ": ")) && ($0[1] == "\(count)" || $0[1].hasPrefix("\(count) ("))
        }
      )
    }
    for (host, counts) in hosts {
      #expect(rows.contains { $0.count == 7 && $0[0] == host && $0[1] == "\(counts[0])" && $0[4] == "\(counts[1])" })
    }
  }

  @Test func `the Prometheus metrics have the run's figures`() throws {
    let text = try text(.prometheus)
    for (outcome, count) in outcomes {
      #expect(text.contains("prewarm_urls{prewarm_job=\"homepage\",outcome=\"\(outcome)\"} \(count)\n"))
    }
    for group in report.failureGroups {
      let failed = report.failureGroups.filter { $0.kind == group.kind }.reduce(0) { $0 + $1.failed }
      #expect(text.contains("prewarm_failures{prewarm_job=\"homepage\",kind=\"\(group.kind!.name)\"} \(failed)\n"))
    }
  }

  @Test func `the text report has the run's figures`() throws {
    let text = try text(.text)
    let lines: [(String, UInt64)] = [
      ("hit", 10), ("downloaded", 6), ("revalidated", 1), ("checked", 2), ("failed", 19), ("blacklisted", 1), ("skipped", 4),
      ("cancelled", 5), ("http-status 404", 15), ("timeout", 2), ("not-an-image", 2), ("invalid-url", 1),
    ]
    let rows = lines.map { ($0.0, $0.1) } + hosts.map { ($0.key, $0.value[0]) }
    for (name, count) in rows {
      let row = try Regex("(?m)^ *\(NSRegularExpression.escapedPattern(for: name)) +\(count)\\b")
      #expect(text.contains(row), "\(name) \(count) in \(text)")
    }
  }
}
