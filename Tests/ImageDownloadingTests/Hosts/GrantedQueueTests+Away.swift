import ImagePrimitives
import Testing

@testable import ImageDownloading

/// The authority goes away and comes back.
extension GrantedQueueTests {
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
}
