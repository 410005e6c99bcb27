import Testing

@testable import ImageDownloading

/// The number of transfers that a host bears, found by made-up answers.
struct AdaptiveLimitTests {
  /// Lets the host answer rounds of as many requests as are allowed, each in `latency` milliseconds for so many at once; as one
  /// ends the next begin.
  private func run(_ limit: inout AdaptiveLimit, rounds: Int, upTo maximum: Int = 64, latency: (Int) -> Double) -> [Int] {
    (0..<rounds).map { _ in
      let running = limit.transfers
      for _ in 0..<running {
        limit.succeed(latencyNanoseconds: UInt64(latency(running) * 1e6), running: limit.transfers, upTo: maximum)
      }
      return limit.transfers
    }
  }

  @Test("D15: a host that answers well gets more and more, up to its limit")
  func grows() {
    var limit = AdaptiveLimit()
    let found = run(&limit, rounds: 20, upTo: 24) { _ in 20 }
    #expect(found[0] == 4 && found.last == 24)
    #expect(found == found.sorted())
  }

  @Test("D15: what is not used up does not grow")
  func unusedDoesNotGrow() {
    var limit = AdaptiveLimit()
    for _ in 0..<100 { limit.succeed(latencyNanoseconds: 1_000_000, running: 1, upTo: 64) }
    #expect(limit.transfers == 2)
  }

  @Test("D15: a failure halves it once for all that was under way, and it grows by one a round from there")
  func halves() {
    var limit = AdaptiveLimit()
    _ = run(&limit, rounds: 3) { _ in 20 }
    #expect(limit.transfers == 16)
    for _ in 0..<16 { limit.fail(running: 16) }
    #expect(limit.transfers == 8)
    #expect(run(&limit, rounds: 3) { _ in 20 } == [8, 9, 10])
  }

  @Test("D15: it never falls below one, nor stays there for what passes")
  func atLeastOne() {
    var limit = AdaptiveLimit()
    for _ in 0..<10 { limit.fail(running: 1) }
    #expect(limit.transfers == 1)
    #expect(run(&limit, rounds: 10) { _ in 20 }.last! > 3)
  }

  @Test("D15: where answers get slower with their number, it stays near what the host does at once")
  func risingLatency() {
    // Eight at once take 20 ms, and more of them wait for one another.
    var limit = AdaptiveLimit()
    let found = run(&limit, rounds: 400) { 20 * max(1, Double($0) / 8) }
    #expect(found.dropFirst(10).allSatisfy { (6...30).contains($0) })
  }

  @Test("D15: a host that is slow by itself is not taken for an overloaded one for ever")
  func slowFromNowOn() {
    var limit = AdaptiveLimit()
    _ = run(&limit, rounds: 10, upTo: 8) { _ in 20 }
    let found = run(&limit, rounds: 200, upTo: 8) { _ in 500 }
    #expect(found.contains(1))
    #expect(found.last == 8)
  }
}
