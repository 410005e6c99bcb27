import Base
import TestSupport
import Testing

@testable import ImageDownloading

/// The accumulated times of the bottlenecks.
@Suite struct PipelineMeterTests {
  private let clock = ManualClock()
  private let meter: PipelineMeter

  init() { meter = PipelineMeter(time: clock.source) }

  private func pass(_ milliseconds: Int) { clock.advance(by: .milliseconds(milliseconds)) }

  private func milliseconds(_ bottleneck: Bottleneck) -> UInt64 { meter.times[bottleneck] / 1_000_000 }

  @Test func `each moment counts for its bottleneck`() {
    pass(1)
    meter.supply(.reading)
    pass(2)
    meter.supply(.working)
    pass(3)
    meter.loopWoke(0, at: clock.source.monotonic())
    meter.supply(.none)
    pass(4)
    meter.transfersSleep(limit: .hosts, running: 2, ofThem: 2)
    pass(5)
    meter.store(.writing)
    meter.transfersSleep(limit: .held, running: 2, ofThem: 2)
    pass(6)
    meter.setCodingThreads(2)
    meter.codingWasAdded()
    pass(7)
    meter.codingWasAdded()
    pass(8)
    meter.codingEnded()
    meter.codingEnded()
    meter.transfersSleep(limit: .empty, running: 0, ofThem: 0)
    meter.store(.idle)
    pass(9)
    #expect(milliseconds(.reading) == 2 && milliseconds(.lookingUp) == 3 && milliseconds(.transferring) == 4)
    #expect(milliseconds(.hosts) == 5 && milliseconds(.writing) == 13 && milliseconds(.coding) == 8)
    #expect(Bottleneck.allCases.reduce(0) { $0 + milliseconds($1) } == 35)
  }

  @Test func `the time up to now counts`() {
    meter.supply(.waiting)
    pass(5)
    let before = meter.times
    #expect(before[.input] == 5_000_000)
    pass(7)
    #expect(meter.times.since(before)[.input] == 7_000_000)
    #expect(meter.bottleneck == .input)
  }

  @Test func `a moment is counted once even if others have passed it`() {
    let woken = clock.source.monotonic()
    pass(5)
    meter.supply(.reading)
    // The clock was read before another thread was first.
    meter.loopWoke(0, at: woken)
    pass(5)
    #expect(Bottleneck.allCases.reduce(0) { $0 + milliseconds($1) } == 5)
  }
}
