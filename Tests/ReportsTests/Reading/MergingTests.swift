import Base
@testable import Reports
import TestSupport
import Testing

/// Reports of several runs as one.
@Suite struct MergingTests {
  private func half(_ remainder: Int) -> [Sample] {
    makeSamples().enumerated().filter { $0.offset % 2 == remainder }.map(\.element)
  }

  @Test func `two merged halves equal the whole run, histograms included`() {
    let whole = makeRun(makeSamples()).finish(makeEnd())
    let merged = FinishedReport(merging: [makeRun(half(0)).finish(makeEnd()), makeRun(half(1)).finish(makeEnd())])
    #expect(merged.totals == whole.totals && merged.traffic == whole.traffic && merged.formats == whole.formats)
    #expect(merged.hosts.map(\.host) == whole.hosts.map(\.host) && merged.hosts.map(\.latency) == whole.hosts.map(\.latency))
    #expect(merged.hosts.map(\.totals) == whole.hosts.map(\.totals))
    #expect(merged.hosts.map(\.remoteCaches) == whole.hosts.map(\.remoteCaches))
    #expect(merged.manifests == whole.manifests && merged.standings == whole.standings)
    let counts = merged.failureGroups.map { [$0.failed, $0.blacklisted, $0.counting] }
    #expect(counts == whole.failureGroups.map { [$0.failed, $0.blacklisted, $0.counting] })
    #expect(merged.failures.count == whole.failures.count && merged.job.name == "homepage")
    #expect(merged.end.duration == .seconds(2))
    #expect(merged.verdict == whole.verdict && !whole.verdict.reasons.isEmpty)
  }

  @Test func `bottlenecks are weighted by duration, and unknown if one is unknown`() {
    func report(_ shares: [(String, Double)], after: Duration) -> FinishedReport {
      makeRun([]).finish(makeEnd(after: after) { $0.bottlenecks = shares.map { BottleneckShare(name: $0, fraction: $1) } })
    }
    let short = report([("network", 0.5), ("cpu", 0.25)], after: .seconds(1))
    let long = report([("disk", 0.75), ("cpu", 0.25)], after: .seconds(3))
    let merged = FinishedReport(merging: [short, long]).end.bottlenecks
    #expect(merged.map(\.name) == ["disk", "cpu", "network"])
    #expect(merged.map(\.fraction) == [0.5625, 0.25, 0.125])
    #expect(FinishedReport(merging: [short, report([], after: .seconds(1))]).end.bottlenecks.isEmpty)
    #expect(FinishedReport(merging: [short, report([("cpu", 1)], after: .zero)]).end.bottlenecks.isEmpty)
  }

  @Test func `entries beyond the lists are counted as omitted`() {
    func report(_ first: Int) -> FinishedReport {
      makeRun(
        (first..<first + 800).map { number in
          let failure = ImageFailure(.dns, message: "no such host")
          let host = "h\(number).example.com"
          return Sample(result: EntryResult(.failed, details: .init(failure: failure)), url: "https://\(host)/", host: host)
        }
      ).finish(makeEnd())
    }
    let merged = FinishedReport(merging: [report(0), report(600)])
    #expect(merged.failures.count == 1600 && merged.failuresOmitted == 0)
    #expect(merged.hosts.count == 1000 && merged.hostsOmitted == 400)
    #expect(merged.hosts[0].totals.urls == 2)
    expectGolden(merged.verdict.reasons.joined(separator: "\n"))
    let group = merged.failureGroups[0]
    #expect(group.count == 1600 && group.hosts.count == 8 && group.examples.count == 10)
    #expect(group.hosts.reduce(0) { $0 + $1.count } + group.elsewhere == 1600)
  }

  @Test func `the worst ending counts, and each is shown with its job's name if they differ`() {
    let good = makeRun([]).finish(makeEnd())
    var bad = makeRun([], name: "catalog").finish(makeEnd())
    bad.verdict.reasons = ["9 bad"]
    let broken = makeRun([]).finish(makeEnd { $0.breakage = "the disk is full" })
    let stopped = makeRun([]).finish(makeEnd { $0.interruption = .interrupt })
    let ended = makeRun([]).finish(makeEnd { $0.interruption = .terminate })
    #expect(FinishedReport(merging: [good, good]).exitStatus == .withinLimits)
    #expect(FinishedReport(merging: [good, bad]).exitStatus == .beyondLimits)
    #expect(FinishedReport(merging: [bad, broken, good]).exitStatus == .couldNotFinish)
    #expect(FinishedReport(merging: [stopped, broken]).exitStatus == .interrupted)
    #expect(FinishedReport(merging: [stopped, ended]).exitStatus == .terminated)
    let merged = FinishedReport(merging: [bad, broken])
    #expect(merged.job.name == "merged" && merged.job.file == nil)
    #expect(merged.end.breakage == "homepage: the disk is full")
    expectGolden(merged.verdict.reasons.joined(separator: "\n"))
  }

  @Test func `times span the runs, durations add up, and the cache is the last run's if shared`() {
    func report(_ entries: UInt64, directory: String = "/cache", after: Duration) -> FinishedReport {
      var report = makeRun([]).finish(
        makeEnd(after: after) {
          $0.cache = CacheSummary(directory: directory, namespace: "default", entries: entries, bodyBytes: 1, diskBytes: 2)
          $0.cache?.trimmedEntries = 3
          $0.blacklist = BlacklistSummary(entries: entries, added: 2, removed: 1)
        }
      )
      report.startedAt = nineOClock.advanced(by: after)
      return report
    }
    let merged = FinishedReport(merging: [report(20, after: .seconds(9)), report(10, after: .seconds(4))])
    #expect(merged.startedAt == nineOClock.advanced(by: .seconds(4)))
    #expect(merged.end.finishedAt == nineOClock.advanced(by: .seconds(9)) && merged.end.duration == .seconds(13))
    #expect(merged.end.cache?.entries == 20 && merged.end.cache?.trimmedEntries == 6)
    #expect(merged.end.blacklist == BlacklistSummary(entries: 20, added: 4, removed: 2))
    #expect(
      FinishedReport(merging: [report(1, after: .seconds(1)), report(1, directory: "/other", after: .seconds(1))]).end.cache
        == nil
    )
    #expect(FinishedReport(merging: [report(1, after: .seconds(1)), report(1, after: .zero)]).end.duration == .zero)
  }

  @Test func `the merged report lists as many placeholders as a run, those with most URLs`() {
    let reports = (0..<3).map { number -> FinishedReport in
      var report = makeRun([]).finish(makeEnd())
      report.placeholders = (0..<100).map { place in
        Placeholder(
          host: "host\(number).example.com",
          checksum: Checksum(high: 1, low: UInt64(place)),
          urls: UInt64(10 + place * 3 + number),
          firstURL: "https://a.example/"
        )
      }
      return report
    }
    #expect(FinishedReport(merging: reports).placeholders.map(\.urls) == (210..<310).reversed().map { $0 })
  }

  @Test func `duplicates and timeline are dropped, and a placeholder keeps its largest count`() {
    var other = makeRichReport()
    other.placeholders[0].urls = 99
    let merged = FinishedReport(merging: [makeRichReport(), other])
    #expect(merged.duplicates == nil && merged.timeline == nil)
    #expect(merged.placeholders.map(\.urls) == [99, 10])
    #expect(merged.requests == makeRichReport().requests && merged.failOn == makeRichReport().failOn)
  }
}
