import Base
import TestSupport
import Testing

@testable import ImageDownloading

/// Hosts and rates in the queue, with simulated times.
struct PacedQueueTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

  private func makeQueue(_ limits: DownloadLimits, openHosts: Int) -> DownloadQueue {
    var queue = DownloadQueue(concurrency: 100, perHost: 100, breaker: CircuitBreaker(failures: 2, rounds: 1))
    for host in 0..<openHosts {
      queue.insert(slot: host, host: host, priority: .normal, sequence: 0)
      _ = queue.next(now: MonotonicInstant(nanoseconds: 1))
      queue.resolved()
      queue.connected(host: host)
      queue.finished(host: host)
    }
    queue.setLimits(limits, now: MonotonicInstant(nanoseconds: 1))
    return queue
  }

  private func startAll(_ queue: inout DownloadQueue, _ now: MonotonicInstant) -> [Int] {
    var slots: [Int] = []
    while case .start(let slot, _) = queue.next(now: now) { slots.append(slot) }
    return slots
  }

  @Test func `a rate starts one at a time, in order and by class, and gives the next start time`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 100, rate: 10), openHosts: 2)
    for slot in 0..<4 {
      queue.insert(slot: slot, host: slot % 2, priority: slot == 3 ? .high : .normal, sequence: Int64(-slot))
    }
    #expect(startAll(&queue, start) == [3])
    #expect(queue.next(now: start) == .none(.rate))
    #expect(queue.nextStart == at(100))
    #expect(startAll(&queue, at(99)) == [])
    #expect(startAll(&queue, at(100)) == [2])
    #expect(startAll(&queue, at(1000)) == [1])
    #expect(startAll(&queue, at(1100)) == [0])
    #expect(queue.next(now: at(1100)) == .none(.empty))
    #expect(queue.nextStart == nil)
  }

  @Test(arguments: [DownloadOrder.fifo, .lifo])
  func `a per-host rate holds back only that host, in FIFO and LIFO`(order: DownloadOrder) {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 100, perHostRate: 10), openHosts: 3)
    for slot in 0..<9 {
      queue.insert(slot: slot, host: slot % 3, priority: .normal, sequence: order.sequence(ofArrival: Int64(slot)))
    }
    let rounds = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    let expected = order == .fifo ? rounds : rounds.reversed().map { $0.reversed() }
    #expect(startAll(&queue, start) == expected[0])
    #expect(queue.next(now: start) == .none(.rate))
    #expect(queue.nextStart == at(100))
    #expect(startAll(&queue, at(100)) == expected[1])
    #expect(startAll(&queue, at(200)) == expected[2])
  }

  @Test func `a rate without a free slot keeps the loop asleep`() {
    var queue = makeQueue(DownloadLimits(concurrency: 1, perHost: 8, rate: 10), openHosts: 1)
    for slot in 0..<2 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: 0) }
    #expect(startAll(&queue, start) == [0])
    #expect(queue.next(now: start) == .none(.concurrency))
    #expect(queue.nextStart == nil)
  }

  @Test func `a start without a request doesn't count for the rates`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 100, rate: 10, perHostRate: 5), openHosts: 1)
    for slot in 0..<50 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: Int64(slot)) }
    for slot in 0..<49 {
      #expect(queue.next(now: start) == .start(slot: slot, resolves: false))
      queue.finished(host: 0, wasRequested: false)
    }
    #expect(startAll(&queue, start) == [49])
  }

  @Test func `a paused host holds back only itself, keeps its order, and wakes at the end of the pause`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 100), openHosts: 2)
    for slot in 0..<6 { queue.insert(slot: slot, host: slot % 2, priority: .normal, sequence: Int64(-slot)) }
    queue.pause(0, until: at(5000), status: 429, now: start)
    #expect(startAll(&queue, start) == [5, 3, 1])
    #expect(queue.next(now: start) == .none(.paused))
    #expect(queue.nextStart == at(5000))
    // It asks for a longer pause.
    queue.pause(0, until: at(9000), status: 429, now: start)
    #expect(queue.nextStart == at(9000))
    #expect(startAll(&queue, at(8999)) == [])
    #expect(startAll(&queue, at(9000)) == [4, 2, 0])
  }

  @Test func `a paused host is tried by one request and resumes after a response`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 2), openHosts: 1)
    let failure = ImageFailure(.reset, isTransient: true, message: "")
    for slot in 0..<6 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: Int64(slot)) }
    #expect(startAll(&queue, start) == [0, 1])
    for change in [BreakerState.Change.none, .paused] {
      #expect(queue.record(.failed(failure), from: 0, now: start) == change)
      queue.finished(host: 0)
    }
    #expect(queue.next(now: start) == .none(.paused))
    #expect(queue.nextStart == at(30_000))
    #expect(startAll(&queue, at(30_000)) == [2])
    _ = queue.record(.responded(latencyNanoseconds: nil), from: 0, now: at(30_000))
    queue.finished(host: 0)
    #expect(startAll(&queue, at(30_000)) == [3, 4])
  }

  @Test func `a host's waiting downloads are found in order, including retries`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 1), openHosts: 2)
    for slot in 0..<8 { queue.insert(slot: slot, host: slot % 2, priority: .normal, sequence: Int64(-slot)) }
    queue.remove(slot: 4, host: 0)
    queue.insert(slot: 8, host: 0, priority: .high, sequence: 0, notBefore: at(1000))
    queue.insert(slot: 10, host: 0, priority: .high, sequence: 0, notBefore: at(1000))
    queue.remove(slot: 10, host: 0)
    #expect(queue.slots(waitingFor: 0) == [8, 6, 2, 0])
  }

  @Test func `a host's state outlives its downloads only if it matters`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 1), openHosts: 2)
    queue.pause(0, until: at(1000), status: 503, now: start)
    #expect(queue.settle(host: 0, now: start) == true)
    #expect(queue.settle(host: 1, now: start) == false)
    queue.insert(slot: 0, host: 0, priority: .normal, sequence: 0)
    queue.insert(slot: 1, host: 1, priority: .normal, sequence: 0)
    #expect(startAll(&queue, start) == [1])
    #expect(startAll(&queue, at(1000)) == [0])
  }

  @Test func `an adaptive limit never exceeds the host's limit and counts as full when reached`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 3, isAdaptive: true), openHosts: 1)
    for slot in 0..<20 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: Int64(slot)) }
    #expect(startAll(&queue, start) == [0, 1])
    #expect(queue.next(now: start) == .none(.hosts))
    for expected in [[2, 3], [4], [5]] {
      _ = queue.record(.responded(latencyNanoseconds: 1_000_000), from: 0, now: start)
      queue.finished(host: 0)
      #expect(startAll(&queue, start) == expected)
    }
    _ = queue.record(.busy(begun: start), from: 0, now: start)
    queue.finished(host: 0)
    #expect(startAll(&queue, start) == [])
    #expect(queue.running == 2)
  }

  @Test func `with random traffic, rates and pauses the best eligible download starts at the first moment`() {
    struct Waiting { var slot, host: Int, sequence: Int64 }
    var random = SeededRandom(seed: 11)
    var queue = makeQueue(DownloadLimits(concurrency: 500, perHost: 500, perHostRate: 100), openHosts: 8)
    var waiting: [Waiting] = []
    // The schedule holds for starts that are up to 5 ms late.
    var scheduled = [MonotonicInstant](repeating: MonotonicInstant(nanoseconds: 1), count: 8)
    var paused = [MonotonicInstant](repeating: start, count: 8)
    func mayStart(_ host: Int) -> MonotonicInstant { max(scheduled[host], paused[host]) }
    var now = start
    var slot = 0
    for _ in 0..<3000 {
      switch random.next() % 8 {
      case 0...5:
        let new = Waiting(slot: slot, host: Int(random.next() % 8), sequence: Int64(random.next() % 1_000_000))
        slot += 1
        waiting.append(new)
        queue.insert(slot: new.slot, host: new.host, priority: .normal, sequence: new.sequence)
      case 6:
        let host = Int(random.next() % 8)
        let until = now.advanced(by: .milliseconds(Int64(random.next() % 60)))
        queue.pause(host, until: until, status: 429, now: now)
        paused[host] = max(paused[host], until)
      default:
        // Sleeps, like the loop, until the queue's next start.
        guard let next = queue.nextStart else { continue }
        #expect(next == waiting.map { mayStart($0.host) }.min())
        now = max(now, next)
      }
      while case .start(let slot, _) = queue.next(now: now) {
        let best = waiting.filter { mayStart($0.host) <= now }.min { ($0.sequence, $0.slot) < ($1.sequence, $1.slot) }
        #expect(best?.slot == slot)
        guard let best else { break }
        let isLate = now.since(scheduled[best.host]) > .milliseconds(5)
        scheduled[best.host] = (isLate ? now : scheduled[best.host]).advanced(by: .milliseconds(10))
        waiting.removeAll { $0.slot == slot }
        queue.finished(host: best.host)
      }
      #expect(!waiting.contains { mayStart($0.host) <= now })
    }
  }
}
