import Base
import TestSupport
import Testing

@testable import ImageDownloading

/// The schedule of starts, with simulated times.
struct StartRateTests {
  private static let interval = StartRate.intervalNanoseconds(ofRate: 50)

  /// Starts as soon as allowed, delayed by `lateness`; returns the times.
  private func starts(_ count: Int, lateness: (Int) -> Duration) -> [MonotonicInstant] {
    var rate = StartRate()
    var now = MonotonicInstant(nanoseconds: 1_000_000_000)
    return (0..<count).map { index in
      now = max(now, rate.next).advanced(by: lateness(index))
      rate.start(at: now, intervalNanoseconds: Self.interval)
      return now
    }
  }

  @Test func `50 per second is one start every 20 ms, and without a rate there is no interval`() {
    #expect(Self.interval == 20_000_000)
    #expect(StartRate.intervalNanoseconds(ofRate: nil) == 0)
    #expect(StartRate.intervalNanoseconds(ofRate: 1e-30) == 1_000_000_000_000_000_000)
    #expect(StartRate.intervalNanoseconds(ofRate: 3) == 333_333_334)
  }

  @Test func `slightly late starts don't lower the rate or bring starts closer together`() {
    var random = SeededRandom(seed: 3)
    let times = starts(1001) { _ in .microseconds(Int64.random(in: 0...4_900, using: &random)) }
    let taken = times[1000].since(times[0])
    #expect(taken >= .seconds(20) - .milliseconds(5) && taken <= .seconds(20) + .milliseconds(5))
    for (earlier, later) in zip(times, times.dropFirst()) {
      #expect(later.since(earlier) >= .milliseconds(15))
    }
  }

  @Test func `unused starts are lost: after a break the starts are no closer together`() {
    let times = starts(100) { $0 == 50 ? .seconds(30) : .zero }
    for (earlier, later) in zip(times, times.dropFirst()) {
      #expect(later.since(earlier) >= .milliseconds(20))
    }
  }

  @Test func `a new interval counts from the last start, and an undone start doesn't count`() {
    let now = MonotonicInstant(nanoseconds: 1_000_000_000)
    var rate = StartRate()
    rate.start(at: now, intervalNanoseconds: 60_000_000_000)
    rate.change(from: 60_000_000_000, to: Self.interval, now: now)
    #expect(rate.next == now.advanced(by: .milliseconds(20)))
    rate.takeBack(intervalNanoseconds: Self.interval)
    #expect(rate.next == now)
    rate.change(from: Self.interval, to: 0, now: now)
    rate.start(at: now, intervalNanoseconds: 0)
    #expect(rate.next <= now)
    rate.start(at: now, intervalNanoseconds: Self.interval)
    rate.change(from: Self.interval, to: 3 * Self.interval, now: now)
    #expect(rate.next == now.advanced(by: .milliseconds(60)))
  }
}
