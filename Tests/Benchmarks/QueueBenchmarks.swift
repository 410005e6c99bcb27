import ImageDownloading
import ImageManaging
import Base

/// The order of downloads, and the prefetcher's state machine.
enum QueueBenchmarks {
  static var all: [Benchmark] {
    [
      queue("queue-one-host", hosts: 1, perHost: 64),
      queue("queue-many-hosts", hosts: 1_000, perHost: 8),
      queue("queue-rates", hosts: 100, perHost: 8, intervalNanoseconds: 1_000_000),
      prefetchState,
    ]
  }

  private static let downloads = 20_000

  /// Queues, starts and ends downloads, up to 64 at once.
  private static func queue(_ name: String, hosts: Int, perHost: Int, intervalNanoseconds: UInt64 = 0) -> Benchmark {
    Benchmark(name: name, operations: downloads) { _ in
      {
        var queue = DownloadQueue(concurrency: 64, perHost: perHost)
        queue.rules.intervalNanoseconds = intervalNanoseconds
        var now = MonotonicInstant(nanoseconds: 1)
        for slot in 0..<downloads {
          queue.insert(slot: slot, host: slot % hosts, priority: .normal, sequence: Int64(slot))
        }
        var ended = 0
        var running: [Int] = []
        while ended < downloads {
          while case .start(let slot, let resolves) = queue.next(now: now) {
            if resolves { queue.resolved() }
            queue.connected(host: slot % hosts)
            running.append(slot)
          }
          for slot in running { queue.finished(host: slot % hosts) }
          ended += running.count
          running.removeAll(keepingCapacity: true)
          now = queue.nextStart ?? now
        }
      }
    }
  }

  /// Reads batches, of which a quarter must be fetched.
  private static var prefetchState: Benchmark {
    Benchmark(name: "prefetch-state", operations: 10_000) { _ in
      {
        let now = MonotonicInstant(nanoseconds: 1)
        var state = PrefetchState(window: 65_536, deadline: now.advanced(by: .seconds(3600)))
        var batches = 0
        while batches < 10_000 {
          switch state.next(now: now) {
          case .read(let maximum):
            batches += 1
            state.read(pending: maximum / 4, source: .open)
          case .wait: state.completed(512)
          case .cancel, .end: preconditionFailure("nothing ends the run")
          }
        }
      }
    }
  }
}
