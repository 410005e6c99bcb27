import ImagePrimitives
@testable import Reports
import TestSupport
import Testing

/// Failures that do not count, by what earlier runs say.
@Suite struct JudgingTests {
  private let folder = TemporaryDirectory()

  private func key(_ name: String, _ variant: RequestVariant = RequestVariant()) -> EntryKey {
    Array("https://a.example/\(name)".utf8).withUnsafeBytes { EntryKey(url: $0, variant: variant) }
  }

  private func failure(_ name: String, _ outcome: Outcome = .failed, variant: Int = 0) -> Sample {
    let failure = Failure(.dns, message: "no such host")
    var sample = Sample(
      result: EntryResult(outcome, details: .init(failure: failure)),
      url: "https://a.example/\(name)",
      host: "a.example"
    )
    sample.variant = variant
    return sample
  }

  @Test("a baseline of rows or JSON knows earlier failures by variant, and a missing one is empty")
  func baseline() throws {
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

  @Test("a baseline of rows is read no further once the run is stopped")
  func stoppedBaseline() throws {
    try folder.writeRows((0..<10).map { failure("\($0)") }, to: "rows.jsonl")
    var left = 4
    let baseline = try FailureBaseline(path: folder.file("rows.jsonl")) {
      left -= 1
      return left < 0
    }
    #expect(baseline?.count == 4)
  }

  @Test("a baseline that omits failures is rejected")
  func incompleteBaseline() {
    folder.write(JSONReport().text(makeRun((0..<1001).map { failure("\($0)") }).finish(makeEnd())), to: "report.json")
    let error = sentence(in: folder) { _ = try FailureBaseline(path: folder.file("report.json")) }
    expectGolden(error)
  }

  @Test("the HTML report counts new, known and fixed failures since the baseline, each entry once")
  func difference() throws {
    try folder.writeRows(["bad", "mixed", "fixed", "gone"].map { failure($0) }, to: "rows.jsonl")
    let baseline = try #require(try FailureBaseline(path: folder.file("rows.jsonl")))
    func good(_ name: String) -> Sample {
      Sample(result: EntryResult(.checked), url: "https://a.example/\(name)", host: "a.example")
    }
    let samples = [
      failure("bad"), failure("bad"), failure("new"), good("mixed"), failure("mixed"), good("fixed"), good("fixed"), good("good"),
    ]
    let report = makeRun(samples, judge: baseline).finish(makeEnd())
    let expected = BaselineDifference(path: folder.file("rows.jsonl"), failures: 4, stillBad: 2, fixed: 1)
    #expect(report.baseline == expected && expected.unseen == 1)
    let page = HTMLReport().text(report)
    #expect(page.contains(">1 new</b>, 3 known, <b class=\"good\">1 fixed</b>, 1 not seen in this run</p>"))
    #expect(!HTMLReport().text(makeRun(samples).finish(makeEnd())).contains("class=\"since\""))
  }
}
