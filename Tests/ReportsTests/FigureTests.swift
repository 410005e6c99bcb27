import Foundation
import Base
import TestSupport
import Testing

@testable import Reports

/// A run of random entries, and what its figures must be, counted another way.
private struct RandomRun {
  let report: FinishedReport
  var bytes: [LoadOutcome: UInt64] = [:]
  var latency: [LoadOutcome: LatencyHistogram] = [:]
  var shared: [LoadOutcome: UInt64] = [:]
  var counts: [LoadOutcome: UInt64] = [:]
  var kinds: [String: UInt64] = [:]

  init(seed: UInt64, journals: [any ReportJournal] = []) {
    var random = SeededRandom(seed: seed)
    let run = makeRun(journals: journals)
    let failures = [
      ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found"),
      ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s"),
      ImageFailure(.truncated, message: "the body ended early"),
    ]
    for line in 1...UInt64.random(in: 1...300, using: &random) {
      let outcome = LoadOutcome.allCases.randomElement(using: &random)!
      let isBad = outcome == .failed || outcome == .blacklisted
      let failure = isBad ? failures.randomElement(using: &random)! : nil
      var result = EntryResult(outcome, details: failure.map { EntryResult.Details(failure: $0) })
      let isRequested = [.downloaded, .revalidated, .checked, .failed, .cancelled].contains(outcome)
      if isRequested {
        result.attempts = .random(in: 1...3, using: &random)
        result.receivedBytes = .random(in: 0...2_000_000, using: &random)
        result.durationNanoseconds = .random(in: 1...5_000_000, using: &random) * 1000
        result.isShared = .random(in: 0...5, using: &random) == 0
      }
      run.record(result, host: "img\(line % 3).example.com", line: line)
      if line % 50 == 0 { run.sample(elapsed: .milliseconds(Int(line))) }
      counts[outcome, default: 0] += 1
      if let failure { kinds[failure.kind.name, default: 0] += 1 }
      if result.isShared {
        shared[outcome, default: 0] += 1
      } else if isRequested {
        bytes[outcome, default: 0] += result.receivedBytes
        if outcome != .cancelled { latency[outcome, default: LatencyHistogram()].record(nanoseconds: result.durationNanoseconds) }
      }
    }
    run.sample(elapsed: .milliseconds(300))
    report = run.finish(makeEnd(after: .milliseconds(Int.random(in: 1...900, using: &random))) { addStores(to: &$0) })
  }
}

@Suite struct FigureTests {
  private let folder = TemporaryDirectory()

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `the figures of an outcome count its entries, in every form that has them`(seed: UInt64) throws {
    let run = RandomRun(seed: seed)
    let report = run.report
    #expect(report.traffic.receivedBytes == run.bytes.values.reduce(0, +))
    #expect(run.latency.values.reduce(into: LatencyHistogram()) { $0.merge($1) } == report.traffic.latency)
    let text = TextReport(width: 200, detail: .all).text(report)
    let json = try #require(try JSONSerialization.jsonObject(with: Data(JSONReport().text(report).utf8)) as? [String: Any])
    let parts = try #require(json["outcomes"] as? [String: [String: Any]])
    for outcome in LoadOutcome.allCases {
      #expect(report.totals[outcome] == run.counts[outcome] ?? 0)
      let part = parts[outcome.name]
      #expect(
        part?["bytes"] as? UInt64 ?? 0 == run.bytes[outcome] ?? 0 && part?["shared"] as? UInt64 ?? 0 == run.shared[outcome] ?? 0
      )
      let p99 = (part?["latency_ms"] as? [String: Any])?["p99"] as? Double
      #expect(abs((p99 ?? 0) - (run.latency[outcome]?.percentile(0.99) ?? 0)) < 0.001)
      guard [.downloaded, .revalidated, .checked].contains(outcome), let count = run.counts[outcome] else { continue }
      let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("  \(outcome.name) ") })
      #expect(row.contains(" \(grouped(count)) "))
      if let bytes = run.bytes[outcome] {
        #expect(row.contains("   \(byteCount(Double(bytes))), \(run.latency[outcome]!.summary!)"))
      }
      #expect(row.contains("shared a request") == (run.shared[outcome] != nil))
      if let shared = run.shared[outcome] { #expect(row.contains(" \(grouped(shared)) shared a request")) }
    }
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `a speed is one figure, in the page's header and chart, in text and in JSON`(seed: UInt64) throws {
    let report = RandomRun(seed: seed).report
    let seconds = report.end.duration.inSeconds
    let urls = rate(Double(report.totals.urls - report.totals.cancelled) / seconds)
    let bytes = byteCount(Double(report.traffic.receivedBytes) / seconds)
    #expect(TextReport(detail: .all).text(report).contains("\nSpeed      \(urls.dropLast(2)) URLs/s"))
    let html = HTMLReport().text(report).replacing("\u{A0}", with: " ")
    // The speed of a shorter run says nothing.
    let isLong = report.end.duration >= .seconds(2)
    #expect(html.contains("<small>\(urls.dropLast(2)) URLs/s") == isLong)
    #expect(html.contains("\(urls) on average, peak ") == isLong)
    if isLong, report.traffic.receivedBytes > 0 {
      #expect(html.contains("; \(bytes)/s, peak ") && html.contains(", \(bytes)/s</small>"))
    }
    let json = try #require(try JSONSerialization.jsonObject(with: Data(JSONReport().text(report).utf8)) as? [String: Any])
    let shown = try #require((json["throughput"] as? [String: Double])?["urls_per_second"])
    #expect(rate(shown) == urls || abs(shown - report.urlsPerSecond) < 0.06)
    let steps = try #require(report.timeline).steps
    #expect(steps.reduce(0) { $0 + $1.urls } == report.totals.done && steps.reduce(0) { $0 + $1.bad } == report.totals.bad)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `counts and kinds are the same in text, Markdown, HTML, JUnit, GitHub and JSON`(seed: UInt64) throws {
    var run: RandomRun!
    let junit = try ReportFormat.junit.text(at: folder.file("out.xml")) { journals in
      run = RandomRun(seed: seed, journals: journals)
      return run.report
    }
    let report = run.report
    let (text, html) = (TextReport(width: 200).text(report), HTMLReport().text(report))
    let (markdown, github) = (MarkdownReport().text(report), GitHubReport().text(report))
    let bad = report.totals.bad
    if bad > 0 {
      let sentence = "\(grouped(bad)) of \(counted(report.totals.considered, "URL")) \(bad == 1 ? "is" : "are") bad"
      for (form, output) in [("text", text), ("html", html), ("markdown", markdown), ("github", github)] {
        #expect(output.contains(sentence), "\(form)")
      }
    }
    let suites = String(decoding: junit, as: UTF8.self).matches(of: #/<testsuite name="homepage" tests="(\d+)" failures="(\d+)"/#)
    #expect(suites.first.flatMap { UInt64($0.1) } == report.totals.urls && suites.first.flatMap { UInt64($0.2) } == bad)
    for group in report.failureGroups {
      let (title, count) = (group.title, grouped(group.count))
      #expect(
        try text.contains(Regex("(?m)^  \(title) +\(count)\\b"))
          && markdown.split(separator: "\n").contains { $0.hasPrefix("| \(title)") && $0.contains(" | \(count) | ") }
      )
      #expect(html.contains(">\(title)</span></span><b>\(count)</b>") && github.contains("title=\(title)::"))
    }
    for host in report.hosts {
      let (urls, bad) = (grouped(host.totals.urls), grouped(host.totals.bad))
      #expect(try markdown.contains(Regex("\\| `\(host.host)` \\| \(urls) \\| \\d+ \\| \\d+ \\| \(bad) \\|")))
      #expect(String(decoding: junit, as: UTF8.self).split(separator: "classname=\"\(host.host)\"").count - 1 == host.totals.bad)
    }
    for (outcome, count) in run.counts { #expect(markdown.contains("| \(outcome.name) | \(grouped(count)) |")) }
    let kinds = report.failureGroups.reduce(into: [:]) { $0[$1.kind!.name, default: 0] += $1.count }
    #expect(kinds == run.kinds)
  }

  @Test func `the remote hit ratio counts only responses with a cache status`() {
    let run = makeRun()
    func record(_ status: RemoteCacheStatus, host: String, count: Int) {
      run.record(.make(.checked) { ($0.remoteCache, $0.attempts) = (status, 1) }, host: host, count: count)
    }
    record(.unknown, host: "silent.example.com", count: 5)
    for (status, count) in [(RemoteCacheStatus.hit, 3), (.miss, 1), (.unknown, 6)] {
      record(status, host: "img.example.com", count: count)
    }
    let report = run.finish(makeEnd())
    let text = TextReport().text(report)
    #expect(text.contains("75.0 %  3 of 4 hit, 6 unknown") && text.contains("–  5 unknown") && !text.contains("0.0 %"))
    let html = HTMLReport().text(report)
    #expect(html.contains(">75.0 %</td>") && !html.contains(">0.0 %</td>"))
  }

  @Test func `cancelled entries don't count as done`() {
    var totals = OutcomeTotals()
    (totals.downloaded, totals.cancelled) = (20, 79)
    let snapshot = ProgressSnapshot(name: "a", totals: totals, total: 100, urlsPerSecond: 1, bytesPerSecond: 1)
    #expect(snapshot.done == 20)
    #expect(ProgressRenderer(width: 80, hasColor: false).line(snapshot).contains("20 of 100 (20 %)"))
  }

  @Test func `the job's description is in every form for people`() throws {
    let job = JobIdentity(name: "homepage", file: nil, description: "Warms the <b>home page</b>\u{1B}[2J")
    func report(_ journals: [any ReportJournal]) -> FinishedReport {
      let run = RunReport(version: "", job: job, words: .job, manifests: ["a"], startedAt: nil, journals: journals)
      run.record(.failed(ImageFailure(.dns, message: "no")))
      return run.finish(makeEnd())
    }
    for format in ReportFormat.allCases where ![.jsonl, .csv, .prometheus].contains(format) {
      let text = String(decoding: try format.text(at: folder.file("out.\(format)"), report), as: UTF8.self)
      #expect(text.contains("Warms the "), "\(format)")
      #expect(!text.contains("\u{1B}"), "\(format)")
      #expect(text.contains("<b>home") == ![.html, .junit].contains(format), "\(format)")
    }
    let input = try ReportInput(path: folder.file("out.json"))
    #expect(try input.report(words: .job).job.description == job.description)
  }
}
