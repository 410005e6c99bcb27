import Base
import TestSupport
import Testing

@testable import Reports

@Suite struct RunReportTests {
  @Test func `totals add up for the run, its manifests and its hosts`() {
    let run = makeRun(manifests: ["a.txt", "b.txt"])
    var random = SystemRandomNumberGenerator()
    for line in 1...5000 {
      let outcome = LoadOutcome.allCases.randomElement(using: &random)!
      let host = "host\(Int.random(in: 0..<40, using: &random)).example.com"
      run.record(EntryResult(outcome), host: host, manifest: line % 2, line: UInt64(line))
    }
    let report = run.finish(makeEnd())
    #expect(report.totals.urls == 5000)
    #expect(report.manifests.map(\.totals.urls) == [2500, 2500])
    #expect(report.hosts.reduce(0) { $0 + $1.totals.urls } == 5000)
    for part in [
      \OutcomeTotals.hitMemory, \.hitDisk, \.downloaded, \.revalidated, \.checked, \.failed, \.blacklisted, \.skipped,
      \.cancelled,
    ] {
      #expect(report.manifests.reduce(0) { $0 + $1.totals[keyPath: part] } == report.totals[keyPath: part])
      #expect(report.hosts.reduce(0) { $0 + $1.totals[keyPath: part] } == report.totals[keyPath: part])
    }
  }

  @Test func `a shared transfer is counted once`() {
    let run = makeRun()
    var result = EntryResult.downloaded(bytes: 1000, milliseconds: 5)
    run.record(result)
    result.isShared = true
    run.record(result, line: 2, count: 3)
    var hit = EntryResult.make(.hitDisk) { $0.bytes = 500 }
    run.record(hit, line: 5)
    hit.isShared = true
    run.record(hit, line: 6)
    let traffic = run.finish(makeEnd()).traffic
    #expect(run.totals.downloaded == 4)
    #expect(traffic.cachedBytes == 500)
    #expect(traffic.receivedBytes == 1000)
    #expect(traffic.storedBytes == 1000)
    #expect(traffic.attempts == 1)
    #expect(traffic.latency.count == 1)
  }

  @Test func `only the first 10,000 failures are kept, and those that fit into 16 MiB`() {
    let run = makeRun()
    run.record(.failed(ImageFailure(.timeout, message: "no answer")), count: 10_003)
    let report = run.finish(makeEnd())
    let long = makeRun()
    long.record(
      .failed(ImageFailure(.timeout, message: "")),
      url: "https://a.example/" + String(repeating: "a", count: 64 << 10),
      count: 500
    )
    #expect((200...260).contains(long.finish(makeEnd()).failures.count))
    #expect(report.failures.map(\.line) == Array(1...10_000))
    #expect(report.failuresOmitted == 3)
    #expect(report.failureGroups.map(\.count) == [10_003])
    #expect(report.failureGroups[0].examples.map(\.line) == Array(1...10))
  }

  @Test func `a blacklisted entry is listed as blacklisted`() {
    let run = makeRun()
    run.record(.failed(ImageFailure(.empty, message: "no bytes"), outcome: .blacklisted))
    run.record(.failed(ImageFailure(.empty, message: "no bytes"), isBlacklisted: true))
    run.record(.failed(ImageFailure(.timeout, message: "no answer")))
    #expect(run.finish(makeEnd()).failures.map(\.isBlacklisted) == [true, true, false])
  }

  @Test func `the first entry to expire sets fresh-until`() {
    let run = makeRun()
    run.record(EntryResult(.hitDisk))
    run.record(EntryResult(.checked))
    #expect(run.freshUntil == nil)
    let outcomes: [(LoadOutcome, Int)] = [(.hitMemory, 40), (.downloaded, 20), (.revalidated, 10), (.hitDisk, 30)]
    for (outcome, seconds) in outcomes {
      run.record(EntryResult.make(outcome) { $0.freshUntil = nineOClock.advanced(by: .seconds(seconds)) })
    }
    run.record(.failed(ImageFailure(.timeout, message: "no answer")))
    #expect(run.freshUntil == nineOClock.advanced(by: .seconds(10)))
  }

  @Test func `bytes of revalidated images count as from the cache`() {
    let run = makeRun()
    run.record(EntryResult.make(.revalidated) { ($0.bytes, $0.attempts, $0.durationNanoseconds) = (700, 1, 1_000_000) })
    let traffic = run.finish(makeEnd()).traffic
    #expect((traffic.cachedBytes, traffic.receivedBytes, traffic.storedBytes, traffic.attempts) == (700, 0, 0, 1))
  }

  @Test func `hosts beyond the table are counted and not kept`() {
    let run = makeRun()
    for host in 0..<HostTally.hostLimit + 7 { run.record(EntryResult(.hitDisk), host: "h\(host).example.com") }
    run.record(EntryResult(.hitDisk), host: "h5.example.com")
    let report = run.finish(makeEnd())
    #expect(report.totals.hitDisk == UInt64(HostTally.hostLimit) + 8)
    #expect(report.hosts.count == 1000)
    #expect(report.hosts[0].host == "h5.example.com")
    #expect(report.hosts[0].totals.urls == 2)
    #expect(report.hostsOmitted == UInt64(HostTally.hostLimit) + 7 - 1000)
  }

  @Test func `hosts are sorted by entries and then by name`() {
    let run = makeRun()
    for (host, count) in [("b.example.com", 2), ("a.example.com", 2), ("c.example.com", 9), ("", 4)] {
      run.record(EntryResult(.hitDisk), host: host, count: count)
    }
    let report = run.finish(makeEnd())
    #expect(report.hosts.map(\.host) == ["c.example.com", "a.example.com", "b.example.com"])
  }

  @Test func `failures are grouped by kind and status, largest first`() {
    let run = makeRun()
    let missing = ImageFailure(.httpStatus, status: 404, message: "the server answered 404 Not Found")
    run.record(.failed(ImageFailure(.httpStatus, status: 410, message: "gone")), count: 2)
    run.record(.failed(missing), count: 3)
    run.record(.failed(missing, outcome: .blacklisted), host: "b.example.com", count: 4)
    // Statuses distinguish only failures of the kind http-status.
    run.record(.failed(ImageFailure(.empty, status: 200, message: "no bytes")))
    run.record(.failed(ImageFailure(.empty, status: 203, message: "no bytes")))
    run.record(EntryResult(.blacklisted))
    let groups = run.finish(makeEnd()).failureGroups
    #expect(groups.map(\.title) == ["http-status 404", "empty", "http-status 410", "blacklisted"])
    #expect(groups[0].failed == 3)
    #expect(groups[0].blacklisted == 4)
    #expect(groups[0].hosts == [HostCount(host: "b.example.com", count: 4), HostCount(host: "img.example.com", count: 3)])
  }

  @Test func `equal warnings make one line`() {
    let run = makeRun()
    run.record(EntryResult(.downloaded, details: .init(warnings: ["image/jpg means image/jpeg"])), line: 4, count: 3)
    run.record(EntryResult(.downloaded, details: .init(warnings: ["no content type"])), line: 9)
    let report = run.finish(makeEnd { $0.warnings = ["the cache is on a network file system"] })
    expectGolden(report.warnings.joined(separator: "\n"))
  }

  @Test(
    arguments: [
      (Interruption.interrupt, "a manifest broke", Reports.ExitStatus.interrupted), (.terminate, nil, .terminated),
      (nil, "a manifest broke", .couldNotFinish), (nil, nil, .beyondLimits),
    ] as [(Interruption?, String?, Reports.ExitStatus)]
  )
  func `a signal precedes a breakage, and that the verdict`(_ row: (Interruption?, String?, Reports.ExitStatus)) {
    let run = makeRun()
    run.record(.failed(ImageFailure(.timeout, message: "no answer")))
    let end = makeEnd {
      $0.interruption = row.0
      $0.breakage = row.1
    }
    #expect(run.finish(end).exitStatus == row.2)
  }

  @Test func `the greatest exit status is the worst`() {
    #expect([Reports.ExitStatus.withinLimits, .couldNotFinish, .beyondLimits].max() == .couldNotFinish)
    #expect([Reports.ExitStatus.interrupted, .couldNotFinish].max() == .interrupted)
    #expect([Reports.ExitStatus.withinLimits, .beyondLimits].max() == .beyondLimits)
  }
}
