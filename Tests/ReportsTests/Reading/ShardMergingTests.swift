import Base
import TestSupport
import Testing

@testable import Reports

/// The reports of a job's shards as one of the whole job.
@Suite struct ShardMergingTests {
  /// A part of the samples, as one of three shards reports it.
  private func shard(
    _ index: Int,
    of count: Int = 3,
    name: String = "homepage",
    by rule: String = "url",
    digest: String? = "0123",
    failOn: FailOn = FailOn(),
    _ change: (inout RunEnd) -> Void = { _ in }
  ) -> FinishedReport {
    let samples = makeSamples().enumerated().filter { $0.offset % count == index - 1 }.map(\.element)
    var report = makeRun(samples, name: name).finish(makeEnd(after: .seconds(index), change), failOn: failOn)
    report.job.shard = ReportedShard(index: index, count: count, by: rule)
    report.job.digest = digest
    report.startedAt = nineOClock.advanced(by: .seconds(-index))
    return report
  }

  private func part(_ name: String, _ report: FinishedReport) -> ReportPart { ReportPart(path: name, content: .success(report)) }

  /// Three shards, some of them replaced, or further files.
  private func merge(_ replaced: [Int: FinishedReport] = [:], more: [ReportPart] = [], without: Int? = nil) throws
    -> FinishedReport
  {
    let parts = (1...3).filter { $0 != without }.map { part("\($0).json", replaced[$0] ?? shard($0)) }
    return try #require(FinishedReport(mergingShards: parts + more))
  }

  @Test func `all shards together are the whole job`() throws {
    let whole = makeRun(makeSamples()).finish(makeEnd(after: .seconds(3)))
    let merged = try merge()
    #expect(merged.totals == whole.totals && merged.traffic == whole.traffic && merged.formats == whole.formats)
    #expect(merged.hosts.map(\.host) == whole.hosts.map(\.host) && merged.hosts.map(\.latency) == whole.hosts.map(\.latency))
    #expect(merged.manifests == whole.manifests && merged.standings == whole.standings && merged.verdict == whole.verdict)
    #expect(Set(merged.failures.map(\.url)) == Set(whole.failures.map(\.url)) && merged.failures.count == whole.failures.count)
    #expect(merged.job == JobIdentity(name: "homepage", file: "jobs/homepage.yaml", digest: "0123"))
    #expect(merged.startedAt == nineOClock.advanced(by: .seconds(-3)) && merged.end.finishedAt == whole.end.finishedAt)
    #expect(merged.end.duration == .seconds(3) && merged.end.breakage == nil && merged.exitStatus == .beyondLimits)
  }

  @Test func `the verdict is on the merged report, not on its parts`() throws {
    let bad = makeRun(makeSamples()).finish(makeEnd()).totals.bad
    var rules = FailOn()
    rules.failures = .count(bad)
    // One more than each shard has would pass each of them.
    #expect(
      try merge([1: shard(1, failOn: rules), 2: shard(2, failOn: rules), 3: shard(3, failOn: rules)]).verdict.reasons.isEmpty
    )
    rules.failures = .count(bad - 1)
    let shards = (1...3).map { shard($0, failOn: rules) }
    #expect(shards.allSatisfy { $0.verdict.reasons.isEmpty })
    #expect(try merge([1: shards[0], 2: shards[1], 3: shards[2]]).exitStatus == .beyondLimits)
  }

  @Test func `a shard is empty if only others have entries`() throws {
    func empty(_ index: Int, _ isEmpty: Bool) -> FinishedReport {
      var report = makeRun([]).finish(makeEnd { $0.isEmpty = isEmpty })
      report.job.shard = ReportedShard(index: index, count: 2, by: "url")
      return report
    }
    func merged(_ first: Bool, _ second: Bool) throws -> FinishedReport {
      try #require(FinishedReport(mergingShards: [part("1", empty(1, first)), part("2", empty(2, second))]))
    }
    #expect(try merged(false, true).exitStatus == .withinLimits)
    expectGolden(try merged(true, true).verdict.reasons.joined(separator: "\n"))
  }

  @Test func `images evicted from any shard count`() throws {
    let evicted = shard(2) {
      $0.cache = CacheSummary(directory: "/cache", namespace: "default", entries: 1, bodyBytes: 1, diskBytes: 1)
      $0.cache?.evictedFromThisRun = 4
    }
    let merged = try merge([2: evicted])
    #expect(merged.end.cache == nil)
    expectGolden(merged.verdict.reasons.joined(separator: "\n"))
  }

  @Test func `the shard that prevents a whole job is named`() throws {
    func expect(_ report: FinishedReport, _ label: String, sourceLocation: SourceLocation = #_sourceLocation) {
      #expect(report.exitStatus == .couldNotFinish, sourceLocation: sourceLocation)
      expectGolden(report.end.breakage, for: label, sourceLocation: sourceLocation)
      // The other shards are reported nevertheless.
      #expect(report.totals.urls > 0)
    }
    let all = try merge().totals.urls
    expect(try merge(without: 2), "without 2")
    let only = try #require(FinishedReport(mergingShards: [part("a", shard(7, of: 20))]))
    expect(only, "one of twenty")
    let twice = try merge(more: [part("again.json", shard(2))])
    expect(twice, "one twice")
    #expect(twice.totals.urls == all)
    expect(try merge(more: [part("2.json", shard(2))]), "one file twice")
    expect(try merge([3: shard(3) { $0.interruption = .terminate }]), "interrupted")
    expect(try merge([3: shard(3) { $0.breakage = "the disk is full" }]), "broken off")
    expect(try merge([1: shard(1) { $0.areManifestsRead = false }]), "not read to the end")
    let unreadable = ReportReadingError(path: "4.json", message: "is empty")
    expect(try merge(more: [ReportPart(path: "4.json", content: .failure(unreadable))]), "unreadable")
    expect(try merge(more: [part("all.json", makeRun([]).finish(makeEnd()))]), "a whole run")
    expect(try merge([1: shard(1, name: "catalog")]), "another job")
    expect(try merge([1: shard(1, digest: "4567")]), "another digest")
    expect(try merge([1: shard(1, by: "host")]), "another rule")
    expect(try merge(more: [part("6.json", shard(6, of: 6))]), "another count")
  }

  /// Shards that have read so many entries, each with that fingerprint; nil: it is not known.
  private func merge(lists: [(entries: UInt64, fingerprint: UInt64)?]) throws -> FinishedReport {
    let parts = lists.enumerated().map { offset, list in
      var report = shard(offset + 1, of: lists.count)
      report.job.shard?.list = list.map { ReportedList(entries: $0.entries, fingerprint: $0.fingerprint) }
      return part("\(offset + 1).json", report)
    }
    return try #require(FinishedReport(mergingShards: parts))
  }

  @Test func `shards that read different lists are reported by number`() throws {
    let cases: [([(entries: UInt64, fingerprint: UInt64)?], areTold: Bool)] = [
      ([(716, 1), (300, 2)], true),
      ([(716, 1), (716, 2)], true),
      ([(1, 1), (1, 2)], true),
      // The largest group comes first; shards whose list is unknown are omitted.
      ([(5, 1), (9000, 2), nil, (9000, 2)], true),
      ([(5, 1), (6, 2), (6, 3), (6, 2)], true),
      ([(5, 1), (5, 1)], false), ([nil, (5, 1)], false), ([nil, nil], false),
    ]
    for (lists, areTold) in cases {
      let merged = try merge(lists: lists)
      #expect((merged.end.breakage != nil) == areTold && (merged.exitStatus == .couldNotFinish) == areTold)
      if areTold {
        expectGolden(
          merged.end.breakage,
          for: lists.map { $0.map { "\($0.entries) #\($0.fingerprint)" } ?? "-" }.joined(separator: ", ")
        )
      }
    }
    let many = try #require(try merge(lists: (0..<13).map { ($0, $0) }).end.breakage)
    expectGolden(many)
  }

  @Test func `a passed deadline is judged by its rule`() throws {
    func late(_ rules: FailOn) throws -> FinishedReport {
      try merge(
        Dictionary(
          uniqueKeysWithValues: (1...3).map { index in
            (
              index,
              shard(index, failOn: rules) {
                $0.isPastDeadline = index == 2
                $0.areManifestsRead = index != 2
              }
            )
          }
        )
      )
    }
    var rules = FailOn()
    rules.failures = .never
    #expect(try late(rules).exitStatus == .beyondLimits)
    rules.unfinished = false
    #expect(try late(rules).exitStatus == .withinLimits)
  }

  @Test func `the placeholders of shards add up`() throws {
    func report(_ index: Int) -> FinishedReport {
      var report = shard(index)
      report.placeholders = [
        Placeholder(host: "a.example", checksum: Checksum(high: 1, low: 1), urls: 10, firstURL: "https://a.example/")
      ]
      return report
    }
    #expect(try merge([1: report(1), 2: report(2)]).placeholders.map(\.urls) == [20])
  }

  @Test func `reports without shards aren't treated as shards`() {
    #expect(FinishedReport(mergingShards: [part("a", makeRichReport())]) == nil)
  }
}
