import Base
import TestSupport
import Testing

@testable import ImageDownloading

/// The order of waiting downloads, without clock and sockets.
struct DownloadQueueTests {
  private let now = MonotonicInstant(nanoseconds: 1_000)

  private func makeQueue(concurrency: Int = 100, perHost: Int = 100, openHosts: Int = 0) -> DownloadQueue {
    var queue = DownloadQueue(concurrency: concurrency, perHost: perHost)
    queue.openHosts(openHosts)
    return queue
  }

  @Test func `a host at its limit holds back only itself`() {
    var queue = makeQueue(perHost: 2, openHosts: 2)
    for slot in 0..<5 { queue.insert(slot: slot, host: 0, priority: .veryHigh, sequence: Int64(slot)) }
    for slot in 5..<7 { queue.insert(slot: slot, host: 1, priority: .low, sequence: Int64(slot)) }
    #expect(queue.startAll(now) == [0, 1, 5, 6])
    #expect(queue.next(now: now) == .none(.hosts))
    queue.finished(host: 0)
    #expect(queue.startAll(now) == [2])
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
    #expect(queue.startAll(now) == [1])
    queue.finished(host: 0)
    #expect(queue.startAll(later) == [0])
    #expect(queue.nextStart == nil)
  }

  @Test func `a due retry without a free slot doesn't keep the loop awake`() {
    var queue = makeQueue(concurrency: 1, openHosts: 1)
    queue.insert(slot: 1, host: 0, priority: .normal, sequence: 1)
    #expect(queue.startAll(now) == [1])
    queue.insert(slot: 0, host: 0, priority: .normal, sequence: 0, notBefore: now)
    #expect(queue.next(now: now) == .none(.concurrency))
    #expect(queue.nextStart == nil)
  }

  @Test func `a new host starts one transfer, and others once it has connected`() {
    var queue = makeQueue()
    queue.insert(0..<4, host: 0)
    #expect(queue.startAll(now) == [0])
    queue.resolved()
    #expect(queue.startAll(now) == [])
    queue.connected(host: 0)
    #expect(queue.startAll(now) == [1, 2, 3])
  }

  @Test func `a host whose first connection failed starts its other transfers`() {
    var queue = makeQueue()
    queue.insert(0..<4, host: 0)
    #expect(queue.startAll(now) == [0])
    queue.resolved()
    queue.finished(host: 0, failedToConnect: true)
    #expect(queue.next(now: now) == .start(slot: 1, resolves: true))
    #expect(queue.startAll(now) == [2, 3])
  }

  @Test func `at most 32 names are resolved at once`() {
    var queue = makeQueue(openHosts: 1)
    for slot in 0..<40 { queue.insert(slot: slot, host: slot + 1, priority: .normal, sequence: Int64(slot)) }
    queue.insert(slot: 40, host: 0, priority: .low, sequence: 0)
    #expect(queue.startAll(now) == Array(0..<32) + [40])
    queue.resolved()
    #expect(queue.startAll(now) == [32])
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
    queue.insert(0..<3, host: 0)
    queue.remove(slot: 0, host: 0)
    queue.remove(slot: 2, host: 0)
    queue.remove(slot: 2, host: 0)
    queue.insert(slot: 2, host: 0, priority: .normal, sequence: 9)
    queue.insert(slot: 3, host: 0, priority: .normal, sequence: 0, notBefore: now.advanced(by: .seconds(1)))
    queue.remove(slot: 3, host: 0)
    #expect(queue.nextStart == nil)
    #expect(queue.waiting == 2)
    #expect(queue.startAll(now) == [1, 2])
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

/// Hosts and rates in the queue, with simulated times.
struct PacedQueueTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

  private func makeQueue(_ limits: DownloadLimits, openHosts: Int) -> DownloadQueue {
    var queue = DownloadQueue(concurrency: 100, perHost: 100, breaker: CircuitBreaker(failures: 2, batchTries: 1))
    queue.openHosts(openHosts)
    queue.setLimits(limits, now: MonotonicInstant(nanoseconds: 1))
    return queue
  }

  @Test func `a rate starts one at a time, in order and by class, and gives the next start time`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 100, rate: 10), openHosts: 2)
    for slot in 0..<4 {
      queue.insert(slot: slot, host: slot % 2, priority: slot == 3 ? .high : .normal, sequence: Int64(-slot))
    }
    #expect(queue.startAll(start) == [3])
    #expect(queue.next(now: start) == .none(.rate))
    #expect(queue.nextStart == at(100))
    #expect(queue.startAll(at(99)) == [])
    #expect(queue.startAll(at(100)) == [2])
    #expect(queue.startAll(at(1000)) == [1])
    #expect(queue.startAll(at(1100)) == [0])
    #expect(queue.next(now: at(1100)) == .none(.empty))
    #expect(queue.nextStart == nil)
  }

  @Test func `a host may run its own number of transfers, more or fewer than others`() {
    var queue = DownloadQueue(concurrency: 100, perHost: 100)
    queue.openHosts(3)
    queue.setLimits(DownloadLimits(concurrency: 100, perHost: 2), now: start) { [.init(perHost: 3), .init(perHost: 1), nil][$0] }
    for slot in 0..<15 { queue.insert(slot: slot, host: slot % 3, priority: .normal, sequence: Int64(slot)) }
    #expect(queue.startAll(start) == [0, 1, 2, 3, 5, 6])
    #expect(queue.next(now: start) == .none(.hosts))
    queue.finished(host: 1)
    #expect(queue.startAll(start) == [4])
  }

  @Test func `a rate without a free slot keeps the loop asleep`() {
    var queue = makeQueue(DownloadLimits(concurrency: 1, perHost: 8, rate: 10), openHosts: 1)
    for slot in 0..<2 { queue.insert(slot: slot, host: 0, priority: .normal, sequence: 0) }
    #expect(queue.startAll(start) == [0])
    #expect(queue.next(now: start) == .none(.concurrency))
    #expect(queue.nextStart == nil)
  }

  @Test func `a start without a request doesn't count for the rates`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 100, rate: 10, perHostRate: 5), openHosts: 1)
    queue.insert(0..<50, host: 0)
    for slot in 0..<49 {
      #expect(queue.next(now: start) == .start(slot: slot, resolves: false))
      queue.finished(host: 0, wasRequested: false)
    }
    #expect(queue.startAll(start) == [49])
  }

  @Test func `a paused host holds back only itself, keeps its order, and wakes at the end of the pause`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 100), openHosts: 2)
    for slot in 0..<6 { queue.insert(slot: slot, host: slot % 2, priority: .normal, sequence: Int64(-slot)) }
    queue.pause(0, until: at(5000), status: 429, now: start)
    #expect(queue.startAll(start) == [5, 3, 1])
    #expect(queue.next(now: start) == .none(.paused))
    #expect(queue.nextStart == at(5000))
    // It asks for a longer pause.
    queue.pause(0, until: at(9000), status: 429, now: start)
    #expect(queue.nextStart == at(9000))
    #expect(queue.startAll(at(8999)) == [])
    #expect(queue.startAll(at(9000)) == [4, 2, 0])
  }

  @Test func `a paused host is tried by one request and resumes after a response`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 2), openHosts: 1)
    let failure = ImageFailure(.reset, isTransient: true, message: "")
    queue.insert(0..<6, host: 0)
    #expect(queue.startAll(start) == [0, 1])
    for change in [BreakerState.Change.none, .paused] {
      #expect(queue.record(.failed(failure), to: .ofBatch(), from: 0, now: start) == change)
      queue.finished(host: 0)
    }
    #expect(queue.next(now: start) == .none(.paused))
    #expect(queue.nextStart == at(30_000))
    #expect(queue.startAll(at(30_000)) == [2])
    _ = queue.record(.responded(latencyNanoseconds: nil), to: .ofBatch(isTry: true), from: 0, now: at(30_000))
    queue.finished(host: 0)
    #expect(queue.startAll(at(30_000)) == [3, 4])
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
    #expect(queue.startAll(start) == [1])
    #expect(queue.startAll(at(1000)) == [0])
  }

  @Test func `an adaptive limit never exceeds the host's limit and counts as full when reached`() {
    var queue = makeQueue(DownloadLimits(concurrency: 100, perHost: 4, isAdaptive: true), openHosts: 1)
    queue.insert(0..<20, host: 0)
    #expect(queue.startAll(start) == [0, 1, 2, 3])
    #expect(queue.next(now: start) == .none(.hosts))
    _ = queue.record(.busy, to: .ofBatch(), from: 0, now: start)
    for _ in 0..<2 {
      queue.finished(host: 0)
      #expect(queue.startAll(start) == [])
    }
    queue.finished(host: 0)
    #expect(queue.startAll(start) == [4])
    #expect(queue.next(now: start) == .none(.slowHosts))
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

extension DownloadQueue {
  /// Makes the first hosts known as connected.
  fileprivate mutating func openHosts(_ count: Int) {
    for host in 0..<count {
      insert(slot: host, host: host, priority: .normal, sequence: 0)
      _ = next(now: MonotonicInstant(nanoseconds: 1))
      resolved()
      connected(host: host)
      finished(host: host)
    }
  }

  fileprivate mutating func insert(_ slots: Range<Int>, host: Int) {
    for slot in slots { insert(slot: slot, host: host, priority: .normal, sequence: Int64(slot)) }
  }

  /// Starts everything that may start now.
  fileprivate mutating func startAll(_ now: MonotonicInstant) -> [Int] {
    var slots: [Int] = []
    while case .start(let slot, _) = next(now: now) { slots.append(slot) }
    return slots
  }
}
