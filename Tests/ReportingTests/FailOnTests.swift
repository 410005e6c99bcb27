import ImagePrimitives
import Reporting
import Testing

@Suite struct FailOnTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var counts: [(Outcome, UInt64)]
    var rules: @Sendable (inout FailOn) -> Void = { _ in }
    var end: @Sendable (inout RunEnd) -> Void = { _ in }
    /// A part of each reason, none for a run within limits.
    var reasons: [String]
  }

  static let table: [Row] = [
    Row("all good", [(.hitDisk, 10)], reasons: []),
    Row("nothing at all, sharded away", [], reasons: []),
    Row("one failed", [(.hitDisk, 9), (.failed, 1)], reasons: ["1 bad: more than fail-on.failures (0)"]),
    Row("one blacklisted is a failure", [(.hitDisk, 9), (.blacklisted, 1)], reasons: ["1 bad"]),
    Row("as many as borne", [(.failed, 2), (.blacklisted, 3)], rules: { $0.failures = .count(5) }, reasons: []),
    Row(
      "one more than borne",
      [(.failed, 6)],
      rules: { $0.failures = .count(5) },
      reasons: ["6 bad: more than fail-on.failures (5)"]
    ),
    Row("never", [(.failed, 100)], rules: { $0.failures = .never }, reasons: []),
    Row("1 % reached", [(.hitDisk, 99), (.failed, 1)], rules: { $0.failures = .fraction(0.01) }, reasons: []),
    Row(
      "29 % reached, where 0.29 × 100 < 29",
      [(.hitDisk, 71), (.failed, 29)],
      rules: { $0.failures = .fraction(0.29) },
      reasons: []
    ),
    Row(
      "skipped and cancelled are no part of the whole",
      [(.hitDisk, 98), (.failed, 2), (.skipped, 500), (.cancelled, 500)],
      rules: { $0.failures = .fraction(0.015) },
      reasons: ["2 bad (2.0 %): more than fail-on.failures (1.5 %)"]
    ),
    Row("0 % of nothing", [(.skipped, 3)], rules: { $0.failures = .fraction(0) }, reasons: []),
    Row("0 %", [(.hitDisk, 1_000_000), (.failed, 1)], rules: { $0.failures = .fraction(0) }, reasons: ["1 bad (<0.1 %)"]),
    Row("empty", [(.skipped, 3)], end: { $0.isEmpty = true }, reasons: ["no URL was left"]),
    Row("empty is fine", [(.skipped, 3)], rules: { $0.empty = false }, end: { $0.isEmpty = true }, reasons: []),
    Row("deadline", [(.hitDisk, 3), (.cancelled, 1)], end: { $0.isPastDeadline = true }, reasons: ["with 1 URL not finished"]),
    Row("deadline with all done", [(.hitDisk, 3)], end: { $0.isPastDeadline = true }, reasons: []),
    Row(
      "deadline while reading",
      [(.hitDisk, 3)],
      end: {
        $0.isPastDeadline = true
        $0.areManifestsRead = false
      },
      reasons: ["before the manifests were read"]
    ),
    Row("cancelled by other means", [(.cancelled, 4)], reasons: []),
    Row(
      "unfinished is fine",
      [(.cancelled, 4)],
      rules: { $0.unfinished = false },
      end: { $0.isPastDeadline = true },
      reasons: []
    ),
    Row(
      "evicted",
      [(.downloaded, 3)],
      end: {
        addStores(to: &$0)
        $0.cache?.evictedFromThisRun = 1
      },
      reasons: ["trimming removed 1 image that"]
    ),
    Row(
      "all at once, the deadline first",
      [(.failed, 3), (.cancelled, 2)],
      end: {
        addStores(to: &$0)
        $0.isPastDeadline = true
        $0.cache?.evictedFromThisRun = 5
      },
      reasons: ["the deadline passed with 2 URLs", "3 bad", "removed 5 images"]
    ),
  ]

  @Test("A finished run is judged by its rules", arguments: table)
  func verdict(_ row: Row) {
    var totals = Totals()
    for (outcome, count) in row.counts { totals.add(outcome, count) }
    var rules = FailOn()
    row.rules(&rules)
    var report = makeRun().finish(makeEnd(after: .seconds(1), row.end))
    report.totals = totals
    report.standings.counting = totals.bad
    let verdict = rules.verdict(of: report)
    #expect(verdict.exitStatus == (row.reasons.isEmpty ? .withinLimits : .beyondLimits))
    #expect(verdict.reasons.count == row.reasons.count)
    for (reason, part) in zip(verdict.reasons, row.reasons) { #expect(reason.contains(part)) }
  }
}

extension FailOnTests.Row {
  init(
    _ name: String,
    _ counts: [(Outcome, UInt64)],
    rules: @escaping @Sendable (inout FailOn) -> Void = { _ in },
    end: @escaping @Sendable (inout RunEnd) -> Void = { _ in },
    reasons: [String]
  ) {
    self.init(testDescription: name, counts: counts, rules: rules, end: end, reasons: reasons)
  }
}
