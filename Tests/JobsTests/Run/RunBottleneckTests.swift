import ImageDownloading
import Reports
import TestSupport
import Testing

@testable import Jobs

/// Bottlenecks of a run with 32 transfers and one second, unless stated otherwise.
@Suite struct RunBottleneckTests {
  private func bound(
    _ milliseconds: [Bottleneck: UInt64],
    peak: Int = 32,
    keys: String = "",
    duration: Duration = .seconds(1)
  ) throws -> RunBottleneck {
    var times = BottleneckTimes()
    for (bottleneck, count) in milliseconds { times[bottleneck] = count * 1_000_000 }
    return RunBottleneck(times, peakRunning: peak, job: try job(shortestJob + keys), duration: duration)
  }

  private func sentence(_ bottleneck: Bottleneck, keys: String = "") throws -> String? {
    try bound([bottleneck: 900], keys: keys).sentence
  }

  @Test func `the largest bottleneck is named with advice`() throws {
    expectGolden(try bound([.concurrency: 300, .hosts: 400, .writing: 290], peak: 8).sentence)
    expectGolden(try bound([.concurrency: 900, .hosts: 90]).sentence)
  }

  @Test func `related bottlenecks add up, with advice for the largest part`() throws {
    let bound = try bound([.hosts: 400, .lookingUp: 150, .transferring: 160, .checking: 140])
    expectGolden(bound.sentence)
    #expect(bound.shares == [BottleneckShare(name: "cpu", fraction: 0.45), BottleneckShare(name: "per-host", fraction: 0.4)])
  }

  @Test(arguments: Bottleneck.allCases) func `every bottleneck has a name`(bottleneck: Bottleneck) throws {
    let words = [
      Bottleneck.input: "manifest", .reading: "manifest", .lookingUp: "cpu", .concurrency: "network", .hosts: "per-host",
      .slowHosts: "per-host", .rate: "rate", .pause: "rate", .retry: "network", .answers: "network", .transferring: "cpu",
      .coding: "decoding",
      .writing: "disk", .checking: "cpu",
    ]
    let bound = try bound([bottleneck: 800])
    #expect(bound.sentence?.prefix { $0 != ":" } == words[bottleneck].map { $0[...] })
    #expect(bound.shares.map(\.name) == [words[bottleneck]])
  }

  @Test func `a bottleneck of a quarter of the run or less isn't named`() throws {
    #expect(try bound([.concurrency: 250]).sentence == nil)
    #expect(try bound([.concurrency: 251]).sentence != nil)
    #expect(try bound([.concurrency: 250]).shares == [BottleneckShare(name: "network", fraction: 0.25)])
  }

  @Test func `a very short run gets no advice`() throws {
    #expect(try bound([.hosts: 50], duration: .milliseconds(60)).sentence == nil)
    #expect(try bound([.hosts: 51], duration: .milliseconds(60)).sentence != nil)
  }

  @Test func `a share never exceeds the run`() throws {
    #expect(try bound([.hosts: 2000]).shares == [BottleneckShare(name: "per-host", fraction: 1)])
    #expect(try bound([:], duration: .zero).shares.isEmpty)
  }

  @Test func `the advice names the job's own keys`() throws {
    expectGolden(try sentence(.coding), for: "coding")
    expectGolden(try sentence(.coding, keys: "verify: {decode: full}\n"), for: "coding, verify: {decode: full}")
    expectGolden(try sentence(.coding, keys: "verify: {strict: true}\n"), for: "coding, verify: {strict: true}")
    #expect(try sentence(.reading)?.contains("lifo") == false)
    expectGolden(try sentence(.reading, keys: "prefetch: {order: lifo}\n"), for: "reading, prefetch: {order: lifo}")
    expectGolden(try sentence(.rate, keys: "prefetch: {per-host-rate: 5/s}\n"), for: "rate, prefetch: {per-host-rate: 5/s}")
    expectGolden(try sentence(.rate, keys: "prefetch: {rate: 5/s}\n"), for: "rate, prefetch: {rate: 5/s}")
    expectGolden(try sentence(.pause), for: "pause")
  }

  @Test func `the advice never exceeds the job's transfer limit`() throws {
    // An earlier job of the command may have used more.
    #expect(try bound([.hosts: 500], peak: 64).sentence?.hasPrefix("per-host: 32 of 32 ") == true)
  }
}
