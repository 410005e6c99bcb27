import ImagePrimitives
import Reports
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

  /// Kinds of 100 entries: so many 404s, timeouts, and URLs of which nothing came.
  private func makeReport(missing: Int = 0, timeouts: Int = 0, _ rules: (inout FailOn) -> Void) -> FinishedReport {
    let run = makeRun()
    run.record(.downloaded(bytes: 1000, milliseconds: 100), count: 98 - missing - timeouts)
    run.record(.downloaded(bytes: 1000, milliseconds: 2000), count: 2)
    let notFound = Failure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    run.record(.failed(notFound), count: missing)
    run.record(.failed(Failure(.timeout, isTransient: true, message: "no answer in 60 s")), count: timeouts)
    var failOn = FailOn()
    failOn.failures = .never
    rules(&failOn)
    return run.finish(makeEnd(after: .seconds(1)), failOn: failOn)
  }

  @Test(
    "a failure kind has its own limit",
    arguments: [
      (FailOn.Limit.count(3), 3, []), (.count(2), 3, ["3 http-status: more than fail-on.kinds.http-status (2)"]),
      (.fraction(0.03), 3, []), (.fraction(0.029), 3, ["3 http-status (3.0 %): more than fail-on.kinds.http-status (2.9 %)"]),
      (.fraction(0.0299), 3, ["3 http-status (3 %): more than fail-on.kinds.http-status (2.99 %)"]), (.never, 3, []),
      (.count(0), 0, []), (.count(0), 1, ["1 http-status: more than fail-on.kinds.http-status (0)"]),
    ]
  )
  func aKindHasItsOwnLimit(limit: FailOn.Limit, missing: Int, reasons: [String]) {
    let report = makeReport(missing: missing, timeouts: 5) { $0.kinds = [.httpStatus: limit] }
    #expect(report.verdict.reasons == reasons)
  }

  @Test("limits per kind apply beside the overall limit") func rulesOnKindsStandBesideTheOneOnAll() {
    let report = makeReport(missing: 3, timeouts: 5) {
      $0.failures = .fraction(0.05)
      $0.kinds = [.timeout: .count(4), .httpStatus: .count(3), .dns: .count(0)]
    }
    #expect(
      report.verdict.reasons == [
        "8 bad (8.0 %): more than fail-on.failures (5 %)", "5 timeout: more than fail-on.kinds.timeout (4)",
      ]
    )
  }

  @Test("a percentage is printed precisely enough to exceed its limit") func aShareShowsThatItIsAboveItsLimit() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 9899)
    run.record(.failed(Failure(.empty, message: "the body is empty")), count: 101)
    var rules = FailOn()
    rules.failures = .fraction(0.01)
    let report = run.finish(makeEnd(after: .seconds(1)), failOn: rules)
    #expect(report.verdict.reasons == ["101 bad (1.01 %): more than fail-on.failures (1 %)"])
  }

  @Test(
    "latency limits are checked",
    arguments: [
      (FailOn.Percentile.p50, Duration.milliseconds(105), []),
      (.p50, .milliseconds(80), ["p50 of transfers 99 ms: more than fail-on.latency.p50 (80 ms)"]),
      (.p90, .milliseconds(107), []),
      (.p99, .seconds(1), ["p99 of transfers 1.9 s: more than fail-on.latency.p99 (1 s)"]),
      (.p99, .seconds(2), []), (.max, .seconds(2), []),
      (.max, .milliseconds(1999), ["longest transfer 2,000.000 ms: more than fail-on.latency.max (1,999.000 ms)"]),
    ]
  )
  func latencyHasItsLimits(percentile: FailOn.Percentile, limit: Duration, reasons: [String]) {
    let report = makeReport { $0.latency = [percentile: limit] }
    #expect(report.verdict.reasons == reasons)
  }

  @Test("without measurements no latency limit is exceeded") func whereNothingWasMeasuredNoLatencyIsTooLong() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk), count: 3)
    var rules = FailOn()
    rules.latency = [.p50: .milliseconds(1), .max: .milliseconds(1)]
    #expect(run.finish(makeEnd(after: .seconds(1)), failOn: rules).verdict.reasons.isEmpty)
  }

  @Test("known failures break no rule")
  func onlyWhatCountsBreaksARule() {
    var report = makeReport(missing: 30) {
      $0.failures = .count(0)
      $0.kinds = [.httpStatus: .count(0)]
    }
    report.standings = FailureStandings()
    report.standings.known = 30
    report.verdict = report.failOn.verdict(of: report)
    #expect(report.exitStatus == .withinLimits)
    #expect(TextReport(width: 120).text(report).hasPrefix("homepage: 100 URLs in 1.0 s, 30 bad, all of them known\n"))
    report.standings.counting = 1
    report.standings.countingByKind = [.httpStatus: 1]
    report.standings.known = 29
    #expect(
      report.failOn.verdict(of: report).reasons == [
        "30 bad, 29 of them known, 1 counting: more than fail-on.failures (0)",
        "30 http-status, 1 counting: more than fail-on.kinds.http-status (0)",
      ]
    )
  }

  @Test("failures are reported beside other reasons") func whatIsBadIsSaidBesideOtherReasons() {
    let report = makeReport(timeouts: 2) { $0.latency = [.p99: .milliseconds(1)] }
    let text = TextReport(width: 120).text(report)
    #expect(text.hasPrefix("homepage: 100 URLs in 1.0 s, 2 bad; p99 of transfers "), "\(text)")
  }

  @Test("a finished run is judged by its rules", arguments: table)
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
