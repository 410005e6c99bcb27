import Base
import TestSupport
import Testing

@testable import ImageDownloading

/// Rates that change while requests run, with simulated times.
struct RateChangeTests {
  private func moment(_ milliseconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000).advanced(by: .milliseconds(milliseconds))
  }

  @Test func `the elapsed part of the wait for the next start becomes the same part of the new wait`() {
    var rate = StartRate()
    rate.start(at: moment(0), intervalNanoseconds: 100_000_000)
    rate.change(from: 100_000_000, to: 1_000_000_000, now: moment(75))
    #expect(rate.next == moment(325))
    // To almost never, and back.
    rate.change(from: 1_000_000_000, to: 1_000_000_000_000_000_000, now: moment(75))
    rate.change(from: 1_000_000_000_000_000_000, to: 100_000_000, now: moment(5000))
    #expect(rate.next == moment(5025))
    rate.change(from: 100_000_000, to: 0, now: moment(5000))
    #expect(rate.next == moment(5000))
    // A start that is already due stays so.
    rate.change(from: 0, to: 1_000_000_000, now: moment(6000))
    #expect(rate.next == moment(5000))
  }

  @Test(arguments: 0..<4)
  func `downloaders with changing parts of the rates start in any second at most what the rates allow, plus one each`(seed: Int) {
    let (workers, hosts, seconds) = (4, 2, 60)
    let limits = DownloadLimits(concurrency: 1000, perHost: 1000, rate: 20, perHostRate: 12)
    var random = SeededRandom(seed: UInt64(seed))
    var queues = (0..<workers).map { _ in
      var queue = DownloadQueue(concurrency: 1000, perHost: 1000)
      for slot in 0..<2000 { queue.insert(slot: slot, host: slot % hosts, priority: .normal, sequence: Int64(slot)) }
      return queue
    }
    /// In hundredths.
    var parts = [Int](repeating: 25, count: workers)
    func setParts(_ now: Int) {
      for (worker, part) in parts.enumerated() {
        var own = limits
        own.rate = max(1e-9, 20 * Double(part) / 100)
        own.perHostRate = max(1e-9, 12 * Double(part) / 100)
        queues[worker].setLimits(own, now: moment(now))
      }
    }
    setParts(0)
    var starts: [(time: Int, host: Int)] = []
    for time in stride(from: 0, to: seconds * 1000, by: 3) {
      // In some seconds all parts change constantly, in others none does.
      if time / 5000 % 2 == 0, Int.random(in: 0..<10, using: &random) == 0 {
        let cuts = (0..<3).map { _ in Int.random(in: 0...100, using: &random) }.sorted()
        parts = [cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], 100 - cuts[2]]
        setParts(time)
      }
      for worker in queues.indices {
        while case .start(let slot, let resolves) = queues[worker].next(now: moment(time)) {
          starts.append((time, slot % hosts))
          if resolves { queues[worker].resolved() }
          queues[worker].connected(host: slot % hosts)
          queues[worker].finished(host: slot % hosts)
        }
      }
    }
    func mostInASecond(_ times: [Int]) -> Int {
      var first = 0
      return times.indices.reduce(0) { most, last in
        while times[first] <= times[last] - 1000 { first += 1 }
        return max(most, last - first + 1)
      }
    }
    #expect(mostInASecond(starts.map(\.time)) <= 20 + workers)
    for host in 0..<hosts { #expect(mostInASecond(starts.filter { $0.host == host }.map(\.time)) <= 12 + workers) }
    // At least 90 % of the rate is used.
    #expect(Double(starts.count) >= 0.9 * 20 * Double(seconds), "\(starts.count)")
  }
}
