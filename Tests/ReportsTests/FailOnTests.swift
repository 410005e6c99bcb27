import Base
import TestSupport
import Testing

@testable import Reports

@Suite struct FailOnTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var counts: [(LoadOutcome, UInt64)]
    var rules: @Sendable (inout FailOn) -> Void = { _ in }
    var end: @Sendable (inout RunEnd) -> Void = { _ in }
    /// The number of reasons, none for a run within limits.
    var reasons: Int
  }

  static let table: [Row] = [
    Row("all good", [(.hitDisk, 10)], reasons: 0),
    Row("nothing at all, sharded away", [], reasons: 0),
    Row("one failed", [(.hitDisk, 9), (.failed, 1)], reasons: 1),
    Row("one blacklisted is a failure", [(.hitDisk, 9), (.blacklisted, 1)], reasons: 1),
    Row("as many as borne", [(.failed, 2), (.blacklisted, 3)], rules: { $0.failures = .count(5) }, reasons: 0),
    Row("one more than borne", [(.failed, 6)], rules: { $0.failures = .count(5) }, reasons: 1),
    Row("never", [(.failed, 100)], rules: { $0.failures = .never }, reasons: 0),
    Row("1 % reached", [(.hitDisk, 99), (.failed, 1)], rules: { $0.failures = .fraction(0.01) }, reasons: 0),
    Row(
      "29 % reached, where 0.29 × 100 < 29",
      [(.hitDisk, 71), (.failed, 29)],
      rules: { $0.failures = .fraction(0.29) },
      reasons: 0
    ),
    Row(
      "skipped and cancelled are no part of the whole",
      [(.hitDisk, 98), (.failed, 2), (.skipped, 500), (.cancelled, 500)],
      rules: { $0.failures = .fraction(0.015) },
      reasons: 1
    ),
    Row("0 % of nothing", [(.skipped, 3)], rules: { $0.failures = .fraction(0) }, reasons: 0),
    Row("0 %", [(.hitDisk, 1_000_000), (.failed, 1)], rules: { $0.failures = .fraction(0) }, reasons: 1),
    Row("empty", [(.skipped, 3)], end: { $0.isEmpty = true }, reasons: 1),
    Row("empty is fine", [(.skipped, 3)], rules: { $0.empty = false }, end: { $0.isEmpty = true }, reasons: 0),
    Row("deadline", [(.hitDisk, 3), (.cancelled, 1)], end: { $0.isPastDeadline = true }, reasons: 1),
    Row("deadline with all done", [(.hitDisk, 3)], end: { $0.isPastDeadline = true }, reasons: 0),
    Row(
      "deadline while reading",
      [(.hitDisk, 3)],
      end: {
        $0.isPastDeadline = true
        $0.areManifestsRead = false
      },
      reasons: 1
    ),
    Row("cancelled by other means", [(.cancelled, 4)], reasons: 0),
    Row("unfinished is fine", [(.cancelled, 4)], rules: { $0.unfinished = false }, end: { $0.isPastDeadline = true }, reasons: 0),
    Row(
      "evicted",
      [(.downloaded, 3)],
      end: {
        addStores(to: &$0)
        $0.cache?.evictedFromThisRun = 1
      },
      reasons: 1
    ),
    Row(
      "all at once, the deadline first",
      [(.failed, 3), (.cancelled, 2)],
      end: {
        addStores(to: &$0)
        $0.isPastDeadline = true
        $0.cache?.evictedFromThisRun = 5
        $0.cache?.sufficientBytes = 3_212_345_678
      },
      reasons: 3
    ),
  ]

  /// Kinds of 100 entries: so many 404s, timeouts, and URLs of which nothing came.
  private func makeReport(missing: Int = 0, timeouts: Int = 0, _ rules: (inout FailOn) -> Void) -> FinishedReport {
    let run = makeRun()
    run.record(.downloaded(bytes: 1000, milliseconds: 100), count: 98 - missing - timeouts)
    run.record(.downloaded(bytes: 1000, milliseconds: 2000), count: 2)
    let notFound = ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    run.record(.failed(notFound), count: missing)
    run.record(.failed(ImageFailure(.timeout, isTransient: true, message: "no answer in 60 s")), count: timeouts)
    var failOn = FailOn()
    failOn.failures = .never
    rules(&failOn)
    return run.finish(makeEnd(), failOn: failOn)
  }

  @Test(
    arguments: [
      (FailOn.Limit.count(3), 3, false), (.count(2), 3, true),
      (.fraction(0.03), 3, false), (.fraction(0.029), 3, true),
      (.fraction(0.0299), 3, true), (.never, 3, false),
      (.count(0), 0, false), (.count(0), 1, true),
    ]
  )
  func `a failure kind has its own limit`(limit: FailOn.Limit, missing: Int, isBeyond: Bool) {
    let report = makeReport(missing: missing, timeouts: 5) { $0.kinds = [.httpStatus: limit] }
    #expect(report.verdict.reasons.count == (isBeyond ? 1 : 0))
    if isBeyond { expectGolden(report.verdict.reasons.first) }
  }

  @Test func `limits per kind apply beside the overall limit`() {
    let report = makeReport(missing: 3, timeouts: 5) {
      $0.failures = .fraction(0.05)
      $0.kinds = [.timeout: .count(4), .httpStatus: .count(3), .dns: .count(0)]
    }
    expectGolden(report.verdict.reasons.joined(separator: "\n"))
  }

  @Test func `a percentage is printed precisely enough to exceed its limit`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 9899)
    run.record(.failed(ImageFailure(.empty, message: "the body is empty")), count: 101)
    var rules = FailOn()
    rules.failures = .fraction(0.01)
    let report = run.finish(makeEnd(), failOn: rules)
    expectGolden(report.verdict.reasons.joined(separator: "\n"))
  }

  @Test(
    arguments: [
      (FailOn.Percentile.p50, Duration.milliseconds(105), false),
      (.p50, .milliseconds(80), true),
      (.p90, .milliseconds(107), false),
      (.p99, .seconds(1), true),
      (.p99, .seconds(2), false), (.max, .seconds(2), false),
      (.max, .milliseconds(1999), true),
    ]
  )
  func `latency limits are checked`(percentile: FailOn.Percentile, limit: Duration, isBeyond: Bool) {
    let report = makeReport { $0.latency = [percentile: limit] }
    #expect(report.verdict.reasons.count == (isBeyond ? 1 : 0))
    if isBeyond { expectGolden(report.verdict.reasons.first) }
  }

  @Test func `without measurements no latency limit is exceeded`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 3)
    var rules = FailOn()
    rules.latency = [.p50: .milliseconds(1), .max: .milliseconds(1)]
    #expect(run.finish(makeEnd(), failOn: rules).verdict.reasons.isEmpty)
  }

  @Test func `known failures break no rule but their own`() {
    var report = makeReport(missing: 30) {
      $0.failures = .count(0)
      $0.known = .count(30)
      $0.kinds = [.httpStatus: .count(0)]
    }
    report.standings = FailureStandings()
    report.standings.known = 30
    report.verdict = report.failOn.verdict(of: report)
    #expect(report.exitStatus == .withinLimits)
    expectGolden(TextReport(width: 120).text(report))
    report.standings.counting = 1
    report.standings.countingByKind = [.httpStatus: 1]
    report.standings.known = 29
    expectGolden(report.failOn.verdict(of: report).reasons.joined(separator: "\n"))
  }

  @Test func `failures are reported beside other reasons`() {
    let report = makeReport(timeouts: 2) { $0.latency = [.p99: .milliseconds(1)] }
    let text = TextReport(width: 120).text(report)
    expectGolden(text)
  }

  @Test(arguments: table) func `a finished run is judged by its rules`(_ row: Row) {
    var totals = OutcomeTotals()
    for (outcome, count) in row.counts { totals.add(outcome, count) }
    var rules = FailOn()
    row.rules(&rules)
    var report = makeRun().finish(makeEnd(after: .seconds(1), row.end))
    report.totals = totals
    report.standings.counting = totals.bad
    let verdict = rules.verdict(of: report)
    #expect(verdict.exitStatus == (row.reasons == 0 ? .withinLimits : .beyondLimits))
    #expect(verdict.reasons.count == row.reasons)
    for reason in verdict.reasons { expectGolden(reason, for: row.testDescription) }
  }
}

extension FailOnTests.Row {
  init(
    _ name: String,
    _ counts: [(LoadOutcome, UInt64)],
    rules: @escaping @Sendable (inout FailOn) -> Void = { _ in },
    end: @escaping @Sendable (inout RunEnd) -> Void = { _ in },
    reasons: Int
  ) {
    self.init(testDescription: name, counts: counts, rules: rules, end: end, reasons: reasons)
  }
}
