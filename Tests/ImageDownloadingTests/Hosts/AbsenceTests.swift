import ImagePrimitives
import TestSupport
import Testing

@testable import ImageDownloading

/// Several workers' queues with one authority that goes away and comes back, which each of them notices in its own time, by
/// made-up times.
struct AbsenceTests {
  /// What grants starts an interval apart, and has forgotten all when it is back.
  private struct Authority {
    var isThere = true
    var free = MonotonicInstant(nanoseconds: 0)

    mutating func grant(_ demand: DownloadQueue.StartDemand, now: MonotonicInstant) -> StartGrant {
      let first = max(now, free)
      let interval = demand.intervalNanoseconds
      free = first.advanced(by: .nanoseconds(Int64(interval) * Int64(demand.count)))
      return StartGrant(origin: "", count: demand.count, first: first, intervalNanoseconds: interval)
    }
  }

  private struct Worker {
    var queue: DownloadQueue
    /// What it is told next, and when.
    var news: [(time: Int, authority: StartAuthority)] = []
  }

  /// The times of all starts in milliseconds, with absences from a millisecond to another.
  private func starts(workers count: Int, rate: Double, absences: [(Int, Int)], until end: Int, seed: UInt64) -> [Int] {
    var random = SeededRandom(seed: seed)
    let begin = MonotonicInstant(nanoseconds: 1_000_000_000)
    var authority = Authority()
    var workers = (0..<count).map { _ in
      var queue = DownloadQueue(concurrency: 1000, perHost: 1000)
      queue.setLimits(
        DownloadLimits(concurrency: 1000, perHost: 1000, perHostRate: rate),
        authority: .granting,
        now: MonotonicInstant(nanoseconds: 1)
      )
      for slot in 0..<8 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: 0) }
      return Worker(queue: queue)
    }
    for (down, up) in absences {
      for worker in workers.indices {
        // A look's time at most until the loss is noticed; until the return what a backoff takes, and seven seconds more.
        let lost = down + Int.random(in: 0...100, using: &random)
        let back = up + Int.random(in: 0...min(5000, 2 * (up - down)), using: &random)
        let phase = Double.random(in: 0..<1, using: &random)
        workers[worker].news.removeAll { $0.time >= down }
        workers[worker].news += [
          (lost, .away(workers: count, phase: phase)), (back, .returning(workers: count)), (back + 7000, .granting),
        ]
      }
    }
    var starts: [Int] = []
    for time in stride(from: 0, to: end, by: 2) {
      let now = begin.advanced(by: .milliseconds(time))
      if absences.contains(where: { $0.0 == time }) { authority.isThere = false }
      if absences.contains(where: { $0.1 == time }) { authority = Authority() }
      for worker in workers.indices.shuffled(using: &random) {
        while let news = workers[worker].news.first, news.time <= time {
          workers[worker].queue.setAuthority(news.authority, now: now)
          workers[worker].news.removeFirst()
        }
        while case .start(let slot, let resolves) = workers[worker].queue.next(now: now) {
          starts.append(time)
          if resolves { workers[worker].queue.resolved() }
          workers[worker].queue.connected(host: 0)
          workers[worker].queue.finished(host: 0)
          workers[worker].queue.insert(slot: slot, host: 0, priority: .normal, sequence: 0)
        }
        for demand in workers[worker].queue.takeDemands(startsNew: true) where authority.isThere {
          workers[worker].queue.grant(authority.grant(demand, now: now), to: demand.host, now: now)
        }
      }
    }
    return starts
  }

  /// The most of any second.
  private func most(_ starts: [Int]) -> Int {
    var (most, first) = (0, 0)
    for (last, time) in starts.enumerated() {
      while starts[first] <= time - 1000 { first += 1 }
      most = max(most, last - first + 1)
    }
    return most
  }

  @Test(
    "D1: in no second do all together begin more than the rate and a few, however the authority goes and comes back",
    // The more workers there are, the less evenly their phases are spread by chance.
    arguments: [(4, 40.0, 44), (2, 40, 44), (12, 40, 48), (4, 200, 212), (5, 2, 5)]
  )
  func absences(workers: Int, rate: Double, limit: Int) {
    for seed in 1...2 as ClosedRange<UInt64> {
      let absences = [(3000, 10_000), (24_000, 25_000), (27_000, 28_000), (30_000, 30_300)]
      let starts = starts(workers: workers, rate: rate, absences: absences, until: 46_000, seed: seed)
      let most = most(starts)
      #expect(most <= limit, "seed \(seed)")
      // While it is there for long, hardly any start is lost, and in all not many are.
      let settled = starts.count { (40_000..<46_000).contains($0) }
      #expect(settled >= Int(rate * 6 * 0.95), "seed \(seed)")
      #expect(starts.count >= Int(rate * 46 * 0.8), "seed \(seed)")
    }
  }
}
