import ImagePrimitives
import TestSupport
import Testing

@testable import ImageDownloading

/// Workers that share both rates, by made-up times.
struct BothRatesTests {
  /// Who keeps to rates as shared ones are kept to: a start an interval, at the moment that is free.
  private struct Authority {
    var free: [Int?: Int] = [:]

    mutating func reserve(_ demand: DownloadQueue.StartDemand, at milliseconds: Int) -> Int {
      let first = max(milliseconds, free[demand.host] ?? 0)
      free[demand.host] = first + demand.count * Int(demand.intervalNanoseconds / 1_000_000)
      return first
    }
  }

  private func moment(_ milliseconds: Int) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000).advanced(by: .milliseconds(milliseconds))
  }

  private func worker(_ limits: DownloadLimits, hosts: Int, perHost: Int) -> DownloadQueue {
    var queue = DownloadQueue(concurrency: 100, perHost: 100)
    queue.setLimits(limits, authority: .granting, now: moment(0))
    for slot in 0..<(hosts * perHost) {
      queue.insert(slot: slot, host: slot % hosts, priority: .normal, sequence: Int64(slot))
    }
    return queue
  }

  @Test(
    "D1, D2: four workers with both rates, however slow, begin nearly as much as the slower of them allows",
    arguments: [(1.0, 1.0, 1), (1, 1, 3), (1, 0.5, 4), (0.5, 1, 1), (0.25, 0.25, 2), (2, 1, 1), (20, 1, 5), (1, 20, 2)]
  )
  func slowRates(rate: Double, perHostRate: Double, hosts: Int) {
    let limits = DownloadLimits(concurrency: 100, perHost: 100, rate: rate, perHostRate: perHostRate)
    var workers = (0..<4).map { _ in worker(limits, hosts: hosts, perHost: 1000) }
    var authority = Authority()
    var starts: [Int] = []
    let end = 200_000
    // A clock that wakes each of them late now and then.
    for time in stride(from: 0, to: end, by: 3) {
      for worker in workers.indices where (time / 3 + worker) % 7 != 0 {
        while case .start(let slot, let resolves) = workers[worker].next(now: moment(time)) {
          starts.append(time)
          if resolves { workers[worker].resolved() }
          workers[worker].connected(host: slot % hosts)
          workers[worker].finished(host: slot % hosts)
        }
        for demand in workers[worker].takeDemands(startsNew: true) {
          let first = authority.reserve(demand, at: time)
          let grant = StartGrant(
            origin: "",
            count: demand.count,
            first: moment(first),
            intervalNanoseconds: demand.intervalNanoseconds
          )
          workers[worker].grant(grant, to: demand.host, now: moment(time))
        }
      }
    }
    let allowed = min(rate, perHostRate * Double(hosts)) * Double(end) / 1000
    #expect(Double(starts.count) <= allowed + 1)
    #expect(Double(starts.count) >= allowed * 0.8, "\(starts.count) of \(allowed)")
  }
}
