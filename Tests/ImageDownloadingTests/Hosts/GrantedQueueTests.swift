import ImagePrimitives
import TestSupport
import Testing

@testable import ImageDownloading

/// What an authority grants, in the queue, by made-up times.
struct GrantedQueueTests {
  private let start = MonotonicInstant(nanoseconds: 1_000_000_000)

  private func at(_ milliseconds: Int) -> MonotonicInstant { start.advanced(by: .milliseconds(milliseconds)) }

  /// A queue whose hosts, 0 and so on, have connected, and that keeps to these rates by grants.
  private func makeQueue(rate: Double? = nil, perHostRate: Double? = nil, concurrency: Int = 100, hosts: Int = 1) -> DownloadQueue
  {
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

  private func add(_ count: Int, to queue: inout DownloadQueue, hosts: Int = 1) {
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

  private func startAll(_ queue: inout DownloadQueue, _ now: MonotonicInstant, startsNew: Bool = true) -> [Int] {
    var slots: [Int] = []
    while case .start(let slot, _) = queue.next(now: now, startsNew: startsNew) { slots.append(slot) }
    return slots
  }

  private func demand(_ host: Int?, _ count: Int, milliseconds: UInt64) -> DownloadQueue.StartDemand {
    .init(host: host, count: count, intervalNanoseconds: milliseconds * 1_000_000)
  }

  private func grant(_ count: Int, from first: MonotonicInstant, milliseconds: UInt64) -> StartGrant {
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

  @Test("D1: while the authority is away, each keeps to its part of the rates; once it is back, all is granted again")
  func away() {
    var queue = makeQueue(perHostRate: 10)
    add(5, to: &queue)
    #expect(startAll(&queue, start) == [])
    #expect(queue.takeDemands(startsNew: true).count == 1)
    queue.setAuthority(.away(workers: 4), now: start)
    #expect(startAll(&queue, start) == [0])
    #expect(queue.nextStart == at(400))
    #expect(startAll(&queue, at(400)) == [1])
    #expect(queue.takeDemands(startsNew: true) == [])
    queue.setAuthority(.granting, now: at(401))
    #expect(startAll(&queue, at(900)) == [])
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 1, milliseconds: 100)])
    queue.grant(grant(1, from: at(950), milliseconds: 100), to: 0, now: at(900))
    #expect(startAll(&queue, at(950)) == [2])
  }

  @Test("D1: an authority that is away and back in turns lets nobody begin more than its part of the rates")
  func awayInTurns() {
    var queue = makeQueue(rate: 20, perHostRate: 10)
    add(5, to: &queue)
    _ = startAll(&queue, start)
    var starts: [Int] = []
    for time in stride(from: 0, to: 1000, by: 50) {
      queue.setAuthority(.away(workers: 4), now: at(time))
      if !startAll(&queue, at(time)).isEmpty { starts.append(time) }
      queue.setAuthority(.granting, now: at(time + 10))
      #expect(startAll(&queue, at(time + 10)) == [])
      _ = queue.takeDemands(startsNew: true)
    }
    #expect(starts == [0, 400, 800])
  }

  @Test("D1: what was granted is lost with the authority, whose other workers begin by themselves from then on")
  func lostGrants() {
    var queue = makeQueue(perHostRate: 50)
    add(9, to: &queue)
    _ = startAll(&queue, start)
    _ = queue.takeDemands(startsNew: true)
    queue.grant(grant(5, from: start, milliseconds: 20), to: 0, now: start)
    #expect(startAll(&queue, start) == [0])
    queue.setAuthority(.away(workers: 4), now: at(10))
    #expect(startAll(&queue, at(79)) == [])
    queue.setAuthority(.granting, now: at(79))
    #expect(startAll(&queue, at(100)) == [])
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 5, milliseconds: 20)])
  }

  @Test("D1: without the authority each worker begins in a phase of its own, and no more for being told again")
  func phases() {
    for (phase, first) in [(0.0, 1000), (0.5, 1150), (0.75, 1225)] {
      var queue = makeQueue(rate: 10, perHostRate: 10)
      add(3, to: &queue)
      _ = startAll(&queue, start)
      queue.setAuthority(.away(workers: 4, phase: phase), now: at(1000))
      queue.setAuthority(.away(workers: 4, phase: phase), now: at(1100))
      #expect(startAll(&queue, at(first - 1)) == [])
      #expect(startAll(&queue, at(max(first, 1100))) == [0])
      #expect(startAll(&queue, at(max(first, 1100) + 399)) == [])
      #expect(startAll(&queue, at(max(first, 1100) + 400)) == [1])
    }
  }

  @Test("D1: while others may miss the authority, a start needs a grant, and its time by one's own part of the rate")
  func returning() {
    var queue = makeQueue(perHostRate: 50)
    add(9, to: &queue)
    queue.setAuthority(.away(workers: 4), now: start)
    #expect(startAll(&queue, start) == [0])
    queue.setAuthority(.returning(workers: 4), now: at(10))
    // It asks when its time has come, so that nothing granted is lost until then, and for no more than its part.
    #expect(startAll(&queue, at(79)) == [])
    #expect(queue.takeDemands(startsNew: true) == [])
    #expect(queue.nextStart == at(80))
    #expect(startAll(&queue, at(80)) == [])
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 1, milliseconds: 20)])
    queue.grant(grant(1, from: at(95), milliseconds: 20), to: 0, now: at(81))
    #expect(startAll(&queue, at(94)) == [])
    #expect(startAll(&queue, at(95)) == [1])
    #expect(queue.nextStart == at(175))
    // Then all is granted, in batches again.
    queue.setAuthority(.granting, now: at(100))
    #expect(startAll(&queue, at(120)) == [])
    #expect(queue.takeDemands(startsNew: true) == [demand(0, 5, milliseconds: 20)])
    queue.grant(grant(5, from: at(121), milliseconds: 20), to: 0, now: at(120))
    #expect(startAll(&queue, at(121)) == [2])
    #expect(startAll(&queue, at(141)) == [3])
  }

  @Test("D1: with both rates, one's part of each is kept to while others may miss the authority")
  func returningWithBothRates() {
    var queue = makeQueue(rate: 1, perHostRate: 2)
    add(3, to: &queue)
    queue.setAuthority(.returning(workers: 3), now: start)
    var (now, starts) = (start, [MonotonicInstant]())
    while starts.count < 3, now < at(20_000) {
      if !startAll(&queue, now).isEmpty { starts.append(now) }
      for demand in queue.takeDemands(startsNew: true) {
        queue.grant(grant(demand.count, from: now, milliseconds: 500), to: demand.host, now: now)
      }
      now = now.advanced(by: .milliseconds(100))
    }
    #expect(starts.count == 3 && starts[1].since(starts[0]) >= .seconds(3) && starts[2].since(starts[1]) >= .seconds(3))
    #expect(now < at(7000))
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
