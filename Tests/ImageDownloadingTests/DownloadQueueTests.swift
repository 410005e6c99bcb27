import Base
import TestSupport
import Testing

@testable import ImageDownloading

/// The order of waiting downloads, without clock and sockets.
struct DownloadQueueTests {
  private let now = MonotonicInstant(nanoseconds: 1_000)

  /// Starts everything that may start now.
  private func startAll(_ queue: inout DownloadQueue, now: MonotonicInstant? = nil) -> [Int] {
    var slots: [Int] = []
    while case .start(let slot, _) = queue.next(now: now ?? self.now) { slots.append(slot) }
    return slots
  }

  private func makeQueue(concurrency: Int = 100, perHost: Int = 100, openHosts: Int = 0) -> DownloadQueue {
    var queue = DownloadQueue(concurrency: concurrency, perHost: perHost)
    for host in 0..<openHosts {
      queue.insert(slot: host, host: host, priority: .normal, sequence: 0)
      _ = queue.next(now: now)
      queue.resolved()
      queue.connected(host: host)
      queue.finished(host: host)
    }
    return queue
  }

  @Test func `a higher class starts first, whatever its sequence`() {
    var queue = makeQueue(openHosts: 2)
    for (slot, priority) in LoadPriority.allCases.reversed().enumerated() {
      queue.insert(slot: slot, host: slot % 2, priority: priority, sequence: Int64(slot))
    }
    #expect(startAll(&queue) == [4, 3, 2, 1, 0])
  }

  @Test func `a host at its limit holds back only itself`() {
    var queue = makeQueue(perHost: 2, openHosts: 2)
    for slot in 0..<5 { queue.insert(slot: slot, host: 0, priority: .veryHigh, sequence: Int64(slot)) }
    for slot in 5..<7 { queue.insert(slot: slot, host: 1, priority: .low, sequence: Int64(slot)) }
    #expect(startAll(&queue) == [0, 1, 5, 6])
    #expect(queue.next(now: now) == .none(.hosts))
    queue.finished(host: 0)
    #expect(startAll(&queue) == [2])
  }

  @Test func `a retry waiting for its time doesn't wait for its host`() {
    var queue = makeQueue(perHost: 2, openHosts: 1)
    queue.insert(slot: 0, host: 0, priority: .normal, sequence: 0, notBefore: now.advanced(by: .seconds(1)))
    #expect(queue.next(now: now) == .none(.notYet))
  }

  @Test func `a waiting retry holds no slot and keeps its position`() {
    var queue = makeQueue(concurrency: 1, openHosts: 1)
    let later = now.advanced(by: .seconds(1))
    queue.insert(slot: 0, host: 0, priority: .normal, sequence: 0, notBefore: later)
    queue.insert(slot: 1, host: 0, priority: .normal, sequence: 1)
    queue.insert(slot: 2, host: 0, priority: .normal, sequence: 2)
    #expect(queue.nextStart == later)
    #expect(startAll(&queue) == [1])
    queue.finished(host: 0)
    #expect(startAll(&queue, now: later) == [0])
    #expect(queue.nextStart == nil)
  }

  @Test func `a due retry without a free slot doesn't keep the loop awake`() {
    var queue = makeQueue(concurrency: 1, openHosts: 1)
    queue.insert(slot: 1, host: 0, priority: .normal, sequence: 1)
    #expect(startAll(&queue) == [1])
    queue.insert(slot: 0, host: 0, priority: .normal, sequence: 0, notBefore: now)
    #expect(queue.next(now: now) == .none(.concurrency))
    #expect(queue.nextStart == nil)
  }

  @Test func `a new host starts one transfer, and others once it has connected`() {
    var queue = makeQueue()
    for slot in 0..<4 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: Int64(slot)) }
    #expect(startAll(&queue) == [0])
    queue.resolved()
    #expect(startAll(&queue) == [])
    queue.connected(host: 0)
    #expect(startAll(&queue) == [1, 2, 3])
  }

  @Test func `a host whose first connection failed starts its other transfers`() {
    var queue = makeQueue()
    for slot in 0..<4 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: Int64(slot)) }
    #expect(startAll(&queue) == [0])
    queue.resolved()
    queue.finished(host: 0, failedToConnect: true)
    #expect(queue.next(now: now) == .start(slot: 1, resolves: true))
    #expect(startAll(&queue) == [2, 3])
  }

  @Test func `at most 32 names are resolved at once`() {
    var queue = makeQueue(openHosts: 1)
    for slot in 0..<40 { queue.insert(slot: slot, host: slot + 1, priority: .normal, sequence: Int64(slot)) }
    queue.insert(slot: 40, host: 0, priority: .low, sequence: 0)
    #expect(startAll(&queue) == Array(0..<32) + [40])
    queue.resolved()
    #expect(startAll(&queue) == [32])
  }

  @Test func `redirect continuations come first, even if nothing new may start`() {
    var queue = makeQueue(concurrency: 1, openHosts: 1)
    queue.insert(slot: 0, host: 0, priority: .veryHigh, sequence: -9)
    #expect(queue.next(now: now, startsNew: false) == .none(.held))
    queue.insert(slot: 1, host: 0, priority: .veryLow, sequence: 9, continues: true)
    #expect(queue.next(now: now, startsNew: false) == .start(slot: 1, resolves: false))
  }

  @Test func `a removed download doesn't start, and its slot is reused`() {
    var queue = makeQueue(openHosts: 1)
    for slot in 0..<3 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: Int64(slot)) }
    queue.remove(slot: 0, host: 0)
    queue.remove(slot: 2, host: 0)
    queue.remove(slot: 2, host: 0)
    queue.insert(slot: 2, host: 0, priority: .normal, sequence: 9)
    queue.insert(slot: 3, host: 0, priority: .normal, sequence: 0, notBefore: now.advanced(by: .seconds(1)))
    queue.remove(slot: 3, host: 0)
    #expect(queue.nextStart == nil)
    #expect(queue.waiting == 2)
    #expect(startAll(&queue) == [1, 2])
    #expect(queue.next(now: now) == .none(.empty))
  }

  @Test func `random traffic over many hosts always starts the best eligible download`() {
    struct Waiting { var slot, host: Int, priority: LoadPriority, sequence: Int64 }
    var random = SeededRandom(seed: 42)
    var queue = DownloadQueue(concurrency: 12, perHost: 3)
    var waiting: [Waiting] = []
    var running: [Int: Int] = [:]  // slot: host
    var isOpen = Set<Int>()
    var free = Array(0..<500)
    for _ in 0..<20_000 {
      switch random.next() % 4 {
      case 0, 1:
        guard let slot = free.popLast() else { continue }
        let priority = LoadPriority.allCases.randomElement(using: &random)!
        let new = Waiting(
          slot: slot,
          host: Int(random.next() % 20),
          priority: priority,
          sequence: Int64(random.next() % 1_000_000)
        )
        waiting.append(new)
        queue.insert(slot: slot, host: new.host, priority: new.priority, sequence: new.sequence)
      case 2:
        guard let (slot, host) = running.randomElement(using: &random) else { continue }
        if isOpen.insert(host).inserted {
          queue.resolved()
          queue.connected(host: host)
        }
        queue.finished(host: host)
        running[slot] = nil
        free.append(slot)
      default:
        guard random.next() % 8 == 0, let index = waiting.indices.randomElement(using: &random) else { continue }
        let removed = waiting.remove(at: index)
        queue.remove(slot: removed.slot, host: removed.host)
        free.append(removed.slot)
      }
      while case .start(let slot, _) = queue.next(now: now) {
        let best = waiting.filter { candidate in
          running.values.count { $0 == candidate.host } < (isOpen.contains(candidate.host) ? 3 : 1)
        }.min { ($1.priority, $0.sequence) < ($0.priority, $1.sequence) }
        #expect(best?.slot == slot)
        waiting.removeAll { $0.slot == slot }
        running[slot] = best?.host
      }
      #expect(queue.running == running.count && queue.waiting == waiting.count)
      #expect(running.count <= 12)
    }
  }
}
