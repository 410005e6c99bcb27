import Base
@testable import Reports
import TestSupport
import Testing

/// Failures that do not count, by what earlier runs say.
@Suite struct JudgingTests {
  private let folder = TemporaryDirectory()

  private func key(_ name: String, _ variant: RequestVariant = RequestVariant()) -> EntryKey {
    Array("https://a.example/\(name)".utf8).withUnsafeBytes { EntryKey(url: $0, variant: variant) }
  }

  private func failure(_ name: String, _ outcome: LoadOutcome = .failed, variant: Int = 0) -> Sample {
    let failure = ImageFailure(.dns, message: "no such host")
    var sample = Sample(
      result: EntryResult(outcome, details: .init(failure: failure)),
      url: "https://a.example/\(name)",
      host: "a.example"
    )
    sample.variant = variant
    return sample
  }

  @Test func `a baseline of rows or JSON knows earlier failures by variant, and a missing one is empty`() throws {
    let samples = [failure("failed"), failure("known-bad", .blacklisted), failure("variant", variant: 1)]
    let good = Sample(result: EntryResult(.checked), url: "https://a.example/good", host: "a.example")
    try folder.writeRows(samples + [good], to: "rows.jsonl")
    folder.write(JSONReport().text(makeRun(samples + [good]).finish(makeEnd())), to: "report.json")
    for name in ["rows.jsonl", "report.json"] {
      let baseline = try #require(try FailureBaseline(path: folder.file(name)))
      #expect(baseline.count == 3)
      #expect(baseline.standing(of: key("failed")) == .known && baseline.standing(of: key("known-bad")) == .known)
      #expect(baseline.standing(of: key("good")) == .counts && baseline.standing(of: key("new")) == .counts)
      #expect(
        baseline.standing(of: key("variant")) == .counts && baseline.standing(of: key("variant", sampleVariants[0])) == .known
      )
    }
    #expect(try FailureBaseline(path: folder.file("missing.jsonl")) == nil)
  }

  @Test func `failures that were temporary and new in the baseline aren't known`() throws {
    var outage = failure("outage")
    outage.result = EntryResult(
      .failed,
      details: .init(failure: ImageFailure(.connect, isTransient: true, message: "connection refused"))
    )
    try folder.writeRows([outage, failure("gone")], to: "rows.jsonl")
    folder.write(JSONReport().text(makeRun([outage, failure("gone")]).finish(makeEnd())), to: "report.json")
    for name in ["rows.jsonl", "report.json"] {
      let baseline = try #require(try FailureBaseline(path: folder.file(name)))
      #expect(
        baseline.count == 1 && baseline.standing(of: key("outage")) == .counts && baseline.standing(of: key("gone")) == .known
      )
    }
  }

  @Test func `an outage makes no failure known, and a known one that fails temporarily stays known`() throws {
    try folder.writeRows([failure("gone")], to: "first.jsonl")
    let samples = ["gone", "outage"].map { name in
      var sample = failure(name)
      sample.result = .failed(ImageFailure(.httpStatus, status: 503, isTransient: true, message: "the server responded with 503"))
      return sample
    }
    let journal = try JSONLinesJournal(path: folder.file("rows.jsonl"))
    let baseline = try FailureBaseline(path: folder.file("first.jsonl"))
    let report = makeRun(samples, journals: [journal], judge: baseline).finish(makeEnd())
    try journal.finish(report)
    folder.write(JSONReport().text(report), to: "report.json")
    #expect(report.standings.known == 1 && report.standings.counting == 1)
    #expect(try folder.replay("rows.jsonl").standings == report.standings)
    for name in ["rows.jsonl", "report.json"] {
      let next = try #require(try FailureBaseline(path: folder.file(name)))
      #expect(next.standing(of: key("gone")) == .known && next.standing(of: key("outage")) == .counts, "\(name)")
    }
  }

  @Test func `new failures replace known ones where a report lists only the first`() throws {
    let names = (0..<10_100).map { "known\($0)" }
    try folder.writeRows(names.map { failure($0) }, to: "rows.jsonl")
    let baseline = try #require(try FailureBaseline(path: folder.file("rows.jsonl")))
    let report = makeRun((names + ["new1", "new2"]).map { failure($0) }, judge: baseline).finish(makeEnd())
    let group = try #require(report.failureGroups.first)
    #expect(
      group.examples.count == 10 && group.examples.suffix(2).map(\.url) == ["https://a.example/new1", "https://a.example/new2"]
    )
    #expect(report.failures.prefix(2).allSatisfy { $0.standing == .counts })
    #expect(report.failures.count == 10_000 && report.failures.filter { $0.standing == .counts }.count == 2)
    let annotations = GitHubReport().text(report)
    #expect(annotations.contains("https://a.example/new1") && annotations.contains("https://a.example/new2"))
    #expect(MarkdownReport().text(report).contains("https://a.example/new1"))
  }

  @Test func `a baseline of rows is read no further once the run is stopped`() throws {
    try folder.writeRows((0..<10).map { failure("\($0)") }, to: "rows.jsonl")
    var left = 4
    let baseline = try FailureBaseline(path: folder.file("rows.jsonl")) {
      left -= 1
      return left < 0
    }
    #expect(baseline?.count == 4)
  }

  @Test func `reports list the first fixed URLs of many`() throws {
    let names = (1...150).map { "\($0)" }
    try folder.writeRows(names.map { failure($0) }, to: "rows.jsonl")
    let baseline = try #require(try FailureBaseline(path: folder.file("rows.jsonl")))
    let samples = names.map { Sample(result: EntryResult(.checked), url: "https://a.example/\($0)", host: "a.example") }
    let report = makeRun(samples, judge: baseline).finish(makeEnd())
    #expect(report.baseline?.fixed == 150 && report.baseline?.fixedEntries.count == 100)
    #expect(report.baseline?.fixedEntries.map(\.url) == samples.prefix(100).map(\.url))
    #expect(TextReport().text(report).hasSuffix("https://a.example/10\n           … 140 more\n"))
    #expect(HTMLReport().text(report).contains("<li>… 50 more</li>"))
  }

  @Test func `a baseline that omits failures is rejected`() {
    folder.write(JSONReport().text(makeRun((0..<10_001).map { failure("\($0)") }).finish(makeEnd())), to: "report.json")
    let error = sentence(in: folder) { _ = try FailureBaseline(path: folder.file("report.json")) }
    expectGolden(error)
  }

  @Test func `reports count new, known and fixed failures since the baseline, each entry once, and list fixed ones`() throws {
    try folder.writeRows(["bad", "mixed", "fixed", "gone"].map { failure($0) }, to: "rows.jsonl")
    let baseline = try #require(try FailureBaseline(path: folder.file("rows.jsonl")))
    func good(_ name: String) -> Sample {
      Sample(result: EntryResult(.checked), url: "https://a.example/\(name)", host: "a.example")
    }
    let samples = [
      failure("bad"), failure("bad"), failure("new"), good("mixed"), failure("mixed"), good("fixed"), good("fixed"), good("good"),
    ]
    let report = makeRun(samples, judge: baseline).finish(makeEnd())
    var expected = BaselineDifference(path: folder.file("rows.jsonl"), failures: 4, stillBad: 2, fixed: 1)
    let url = "https://a.example/fixed"
    expected.fixedEntries = [ListedEntry(url: url, manifest: report.manifests[0].path, line: 1)]
    #expect(report.baseline == expected && expected.unseen == 1)
    let page = HTMLReport().text(report)
    #expect(page.contains(">1 new</b>, 3 known, <b class=\"good\">1 fixed</b>, 1 not seen in this run</p>"))
    #expect(page.contains("<li><span class=\"url\">\(url)</span></li>"))
    #expect(TextReport().text(report).contains("\nFixed      \(url)\n"))
    folder.write(JSONReport().text(report), to: "report.json")
    #expect(try ReportInput(path: folder.file("report.json")).report(words: .plain).baseline == expected)
    #expect(!HTMLReport().text(makeRun(samples).finish(makeEnd())).contains("class=\"since\""))
  }
}
