import ImagePrimitives
import TestSupport
import Testing

@testable import ImageDownloading

/// What an authority grants, in the queue, by made-up times.
struct GrantedQueueTests {
  let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

  /// A queue whose hosts, 0 and so on, have connected, and that keeps to these rates by grants.
  func makeQueue(rate: Double? = nil, perHostRate: Double? = nil, concurrency: Int = 100, hosts: Int = 1) -> DownloadQueue {
    var queue = DownloadQueue(concurrency: concurrency, perHost: 100)
    for host in 0..<hosts {
      queue.insert(slot: host, host: host, priority: .normal, sequence: 0)
      _ = queue.next(now: MonotonicInstant(nanoseconds: 1))
      queue.resolved()
      queue.connected(host: host)
      queue.finished(host: host)
    }
    let limits = DownloadLimits(concurrency: concurrency, perHost: 100, rate: rate, perHostRate: perHostRate)
    queue.setLimits(limits, authority: .granting, now: MonotonicInstant(nanoseconds: 1))
    return queue
  }

  func add(_ count: Int, to queue: inout DownloadQueue, hosts: Int = 1) {
    for slot in 0..<count { queue.insert(slot: slot, host: slot % hosts, priority: .normal, sequence: Int64(slot)) }
  }

  /// A queue of one host, at which so many wait and have asked for their starts.
  private func makeAskingQueue(waiting count: Int, rate: Double? = nil, perHostRate: Double) -> DownloadQueue {
    var queue = makeQueue(rate: rate, perHostRate: perHostRate)
    add(count, to: &queue)
    _ = queue.next(now: start)
    _ = queue.takeDemands(startsNew: true)
    return queue
  }

  func startAll(_ queue: inout DownloadQueue, _ now: MonotonicInstant, startsNew: Bool = true) -> [Int] {
    var slots: [Int] = []
    while case .start(let slot, _) = queue.next(now: now, startsNew: startsNew) { slots.append(slot) }
    return slots
  }

  func demand(_ host: Int?, _ count: Int, milliseconds: UInt64) -> DownloadQueue.StartDemand {
    .init(host: host, count: count, intervalNanoseconds: milliseconds * 1_000_000)
  }

  func grant(_ count: Int, from first: MonotonicInstant, milliseconds: UInt64) -> StartGrant {
    StartGrant(origin: "", count: count, first: first, intervalNanoseconds: milliseconds * 1_000_000)
  }

  @Test("D1: what waits asks for a start once, sleeps until it has come, and asks for the next when that is used")
  func oneAtATime() {
    var queue = makeQueue(perHostRate: 10)
    add(3, to: &queue)
    #expect(startAll(&queue, start) == [])
    #expect(queue.next(now: start) == .none(.rate))
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 1, milliseconds: 100)])
    #expect(queue.takeDemands(startsNew: true) == [])
    #expect(queue.nextStart == nil)
    queue.grant(grant(1, from: at(30), milliseconds: 100), to: 0, now: start)
    #expect(startAll(&queue, start) == [])
    #expect(queue.nextStart == at(30))
    #expect(queue.takeDemands(startsNew: true) == [])
    #expect(startAll(&queue, at(30)) == [0])
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 1, milliseconds: 100)])
    queue.grant(grant(1, from: at(500), milliseconds: 100), to: 0, now: at(31))
    #expect(startAll(&queue, at(499)) == [])
    #expect(startAll(&queue, at(500)) == [1])
  }

  @Test("D1: at higher rates a tenth of a second's starts are asked for at once, and never more than wait")
  func batches() {
    var queue = makeQueue(perHostRate: 50)
    add(7, to: &queue)
    #expect(startAll(&queue, start) == [])
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 5, milliseconds: 20)])
    queue.grant(grant(5, from: at(10), milliseconds: 20), to: 0, now: start)
    for (slot, time) in [10, 30, 50, 70, 90].enumerated() {
      #expect(startAll(&queue, at(time - 1)) == [])
      #expect(queue.takeDemands(startsNew: true) == [])
      #expect(queue.nextStart == at(time))
      #expect(startAll(&queue, at(time)) == [slot])
    }
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 2, milliseconds: 20)])
  }

  @Test("D1: nothing is asked for at hosts that have no room or nothing that waits, nor while all transfers are used")
  func noNeed() {
    var queue = makeQueue(perHostRate: 10, concurrency: 1, hosts: 2)
    add(4, to: &queue, hosts: 2)
    #expect(startAll(&queue, start) == [])
    #expect(queue.takeDemands(startsNew: true).count == 2)
    queue.grant(grant(1, from: start, milliseconds: 100), to: 0, now: start)
    #expect(startAll(&queue, start) == [0])
    #expect(queue.next(now: start) == .none(.concurrency))
    #expect(queue.takeDemands(startsNew: true) == [])
    queue.finished(host: 0)
    queue.remove(slot: 2, host: 0)
    #expect(startAll(&queue, start) == [])
    #expect(queue.takeDemands(startsNew: true) == [])
  }

  @Test("D1: a start that could not be used for a second is lost, and another is asked for")
  func lost() {
    var queue = makeQueue(perHostRate: 10, concurrency: 1, hosts: 2)
    add(2, to: &queue, hosts: 2)
    #expect(startAll(&queue, start) == [])
    _ = queue.takeDemands(startsNew: true)
    for host in 0...1 { queue.grant(grant(1, from: start, milliseconds: 100), to: host, now: start) }
    #expect(startAll(&queue, start) == [0])
    queue.finished(host: 0)
    #expect(queue.next(now: at(1001)) == .none(.rate))
    #expect(queue.takeDemands(startsNew: true) == [demand(1, 1, milliseconds: 100)])
    // One that comes too late is none.
    queue.grant(grant(1, from: start, milliseconds: 100), to: 1, now: at(1001))
    #expect(queue.next(now: at(1001)) == .none(.rate))
    #expect(queue.takeDemands(startsNew: true) == [demand(1, 1, milliseconds: 100)])
    queue.grant(grant(1, from: at(1001), milliseconds: 100), to: 1, now: at(1001))
    #expect(startAll(&queue, at(2001)) == [1])
  }

  @Test("D1: starts that have come late come no closer to one another")
  func noBursts() {
    var queue = makeAskingQueue(waiting: 5, perHostRate: 50)
    queue.grant(grant(5, from: start, milliseconds: 20), to: 0, now: start)
    // The thread wakes when all have been due for long.
    #expect(startAll(&queue, at(500)) == [0])
    #expect(queue.nextStart == at(520))
    #expect(startAll(&queue, at(520)) == [1])
    #expect(startAll(&queue, at(539)) == [])
    #expect(startAll(&queue, at(540)) == [2])
  }

  @Test("D2: the rate over all is granted to the best of what waits, of any host")
  func wholeRate() {
    var queue = makeQueue(rate: 10, hosts: 2)
    add(4, to: &queue, hosts: 2)
    #expect(queue.next(now: start) == .none(.rate))
    #expect(queue.takeDemands(startsNew: true) == [demand(nil, 1, milliseconds: 100)])
    #expect(queue.nextStart == nil)
    queue.grant(grant(1, from: at(5), milliseconds: 100), to: nil, now: start)
    #expect(queue.next(now: start) == .none(.rate))
    #expect(queue.nextStart == at(5))
    queue.insert(slot: 9, host: 1, priority: .high, sequence: 0)
    #expect(startAll(&queue, at(5)) == [9])
    #expect(queue.takeDemands(startsNew: true) == [demand(nil, 1, milliseconds: 100)])
  }

  @Test("D1: with both rates each start has a grant of both")
  func bothRates() {
    var queue = makeQueue(rate: 10, perHostRate: 10)
    add(2, to: &queue)
    _ = queue.next(now: start)
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 1, milliseconds: 100)])
    queue.grant(grant(1, from: start, milliseconds: 100), to: 0, now: start)
    #expect(startAll(&queue, start) == [])
    #expect(queue.takeDemands(startsNew: true) == [demand(nil, 1, milliseconds: 100)])
    queue.grant(grant(1, from: at(40), milliseconds: 100), to: nil, now: start)
    #expect(startAll(&queue, at(40)) == [0])
    #expect(startAll(&queue, at(40)) == [])
  }

  @Test("D1: a start of which no request came is used by another")
  func takenBack() {
    var queue = makeAskingQueue(waiting: 2, rate: 10, perHostRate: 10)
    queue.grant(grant(1, from: start, milliseconds: 100), to: 0, now: start)
    queue.grant(grant(1, from: start, milliseconds: 100), to: nil, now: start)
    #expect(queue.next(now: start) == .start(slot: 0, resolves: false))
    queue.finished(host: 0, wasRequested: false)
    #expect(startAll(&queue, start) == [1])
  }

  @Test("D15: a host that rests asks for nothing, and what it was granted is lost meanwhile")
  func rest() {
    var queue = makeAskingQueue(waiting: 2, perHostRate: 10)
    queue.grant(grant(1, from: at(10), milliseconds: 100), to: 0, now: start)
    queue.rest(0, until: at(5000), status: 429, now: start)
    #expect(startAll(&queue, at(4999)) == [])
    #expect(queue.takeDemands(startsNew: true) == [])
    #expect(queue.nextStart == at(5000))
    #expect(queue.next(now: at(5000)) == .none(.rate))
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 1, milliseconds: 100)])
  }

  @Test("D15: a host that nothing was ever asked of may be told to rest")
  func restOfUnknown() {
    var queue = makeQueue()
    queue.rest(7, until: at(100), status: 503, now: start)
    queue.insert(slot: 0, host: 7, priority: .normal, sequence: 0)
    #expect(startAll(&queue, at(99)) == [])
    #expect(startAll(&queue, at(100)) == [0])
  }

  @Test("D11: while nothing new may start, only what continues asks")
  func onlyWhatContinues() {
    var queue = makeQueue(perHostRate: 10, hosts: 2)
    queue.insert(slot: 0, host: 0, priority: .normal, sequence: 0)
    queue.insert(slot: 1, host: 1, priority: .normal, sequence: 0, continues: true)
    #expect(startAll(&queue, start, startsNew: false) == [])
    #expect(queue.takeDemands(startsNew: false) == [demand(1, 1, milliseconds: 100)])
    #expect(queue.takeDemands(startsNew: false) == [])
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 1, milliseconds: 100)])
  }

  @Test("without an authority nobody is asked, and a rate is one's own")
  func noAuthority() {
    var queue = makeQueue(perHostRate: 10)
    queue.setLimits(DownloadLimits(concurrency: 100, perHost: 100, rate: 5, perHostRate: 10), now: start)
    add(3, to: &queue)
    #expect(startAll(&queue, start) == [0])
    #expect(startAll(&queue, at(200)) == [1])
    #expect(queue.takeDemands(startsNew: true) == [])
  }

  @Test("a host with a request for starts under way is kept until it is answered")
  func keptWhileAsked() {
    var queue = makeAskingQueue(waiting: 1, perHostRate: 10)
    queue.remove(slot: 0, host: 0)
    #expect(queue.settle(host: 0, now: start) == true)
    queue.grant(grant(1, from: at(50), milliseconds: 100), to: 0, now: start)
    queue.insert(slot: 1, host: 0, priority: .normal, sequence: 0)
    #expect(startAll(&queue, at(50)) == [1])
    queue.finished(host: 0)
    #expect(queue.settle(host: 0, now: at(150)) == false)
  }

  @Test("D1, D2: random traffic and grants: no start without a grant or before it, and none is left where something could use it")
  func randomTraffic() {
    struct Grant { var first: MonotonicInstant, left: Int }
    let hosts = 6
    var random = SeededRandom(seed: 29)
    var queue = makeQueue(perHostRate: 50, hosts: hosts)
    var waiting: [Int: Int] = [:]
    var granted = [Grant](repeating: Grant(first: start, left: 0), count: hosts)
    var asked = [Int](repeating: 0, count: hosts)
    var (now, slot, starts) = (start, 0, 0)
    for _ in 0..<4000 {
      switch random.next() % 8 {
      case 0...4:
        let host = Int(random.next() % UInt64(hosts))
        queue.insert(slot: slot, host: host, priority: .normal, sequence: Int64(random.next() % 1000))
        waiting[slot] = host
        slot += 1
      case 5:
        guard let host = asked.indices.filter({ asked[$0] > 0 }).randomElement(using: &random) else { continue }
        let first = now.advanced(by: .milliseconds(Int64(random.next() % 80)))
        queue.grant(
          StartGrant(origin: "", count: asked[host], first: first, intervalNanoseconds: 20_000_000),
          to: host,
          now: now
        )
        #expect(granted[host].left == 0 || now.since(granted[host].first) > .seconds(1))
        granted[host] = Grant(first: first, left: asked[host])
        asked[host] = 0
      default: now = queue.nextStart.map { max(now, $0) } ?? now.advanced(by: .milliseconds(1))
      }
      while case .start(let slot, _) = queue.next(now: now) {
        guard let host = waiting.removeValue(forKey: slot) else { return }
        starts += 1
        #expect(granted[host].left > 0 && granted[host].first <= now)
        granted[host].left -= 1
        granted[host].first = granted[host].first.advanced(by: .milliseconds(20))
        queue.finished(host: host)
      }
      for demand in queue.takeDemands(startsNew: true) {
        guard let host = demand.host else { return }
        #expect(asked[host] == 0 && granted[host].left == 0)
        #expect((1...5).contains(demand.count) && demand.count <= waiting.values.count { $0 == host })
        asked[host] = demand.count
      }
      for host in Set(waiting.values) { #expect(asked[host] > 0 || granted[host].left > 0) }
    }
    #expect(starts > 1000)
  }
}
