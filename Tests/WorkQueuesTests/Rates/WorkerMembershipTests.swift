import ImagePrimitives
import Testing

@testable import WorkQueues

/// The part of the rates that a worker may use, with made-up times.
struct WorkerMembershipTests {
  private let whole = WorkerMembership.whole

  private func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 1_000_000_000_000 + UInt64(seconds * 1e9))
  }

  /// A worker with work that was granted that part at 0.
  private func member(part: Int, workers: Int = 2) -> WorkerMembership {
    var membership = WorkerMembership(now: at(0))
    membership.setHasWork(true, now: at(0))
    membership.advance(now: at(0))
    // The second heartbeat tells Redis the part.
    for _ in 0..<2 { beat(&membership, 0, granted: part, workers: workers) }
    return membership
  }

  private func beat(_ membership: inout WorkerMembership, _ seconds: Double, granted: Int, workers: Int = 2) {
    membership.sent(membership.heartbeat)
    membership.answered(part: granted, workers: workers, withWork: workers, sent: at(seconds), now: at(seconds))
  }

  @Test("a worker has no part before Redis grants one")
  func granted() {
    var membership = WorkerMembership(now: at(0))
    #expect(membership.part == 0 && membership.heartbeat == .init(hasWork: false, part: 0) && !membership.hasNews)
    membership.setHasWork(true, now: at(100))
    membership.advance(now: at(100))
    #expect(membership.hasNews && membership.heartbeat == .init(hasWork: true, part: 0) && membership.part == 0)
    beat(&membership, 100, granted: whole / 3, workers: 3)
    #expect(membership.part == whole / 3 && membership.workers == 3 && !membership.hasNews)
    // Others wait for the reply to a part that shrinks; a part that grows concerns no other worker.
    beat(&membership, 101, granted: whole / 4)
    #expect(membership.hasNews && membership.heartbeat.part == whole / 4)
    beat(&membership, 101, granted: whole / 2)
    #expect(!membership.hasNews && membership.part == whole / 2)
  }

  @Test("a worker gives up its part after a second without work, unless Redis is away")
  func idle() {
    var membership = member(part: whole)
    membership.setHasWork(false, now: at(1))
    membership.setHasWork(false, now: at(1.9))
    membership.advance(now: at(1.9))
    #expect(membership.heartbeat == .init(hasWork: true, part: whole))
    membership.setHasWork(true, now: at(1.95))
    membership.setHasWork(false, now: at(2))
    membership.advance(now: at(2.9))
    #expect(membership.part == whole)
    membership.lost(now: at(2.9))
    membership.advance(now: at(5))
    #expect(membership.part == whole)
    beat(&membership, 5, granted: whole)
    membership.advance(now: at(5))
    #expect(membership.heartbeat == .init(hasWork: false, part: 0) && membership.hasNews)
    beat(&membership, 5, granted: 0)
    membership.setHasWork(true, now: at(6))
    #expect(membership.hasNews && membership.heartbeat == .init(hasWork: true, part: 0))
  }

  @Test("a worker keeps its part for as long as Redis is away, and has none if it never got one")
  func away() {
    var membership = member(part: whole / 4)
    for second in stride(from: 1.0, to: 3600, by: 7) {
      membership.advance(now: at(second))
      membership.lost(now: at(second))
      #expect(membership.part == whole / 4)
    }
    beat(&membership, 3600, granted: whole / 4)
    #expect(membership.part == whole / 4)
    var newcomer = WorkerMembership(now: at(0))
    newcomer.setHasWork(true, now: at(0))
    for second in 1..<100 {
      newcomer.advance(now: at(Double(second)))
      newcomer.lost(now: at(Double(second)))
    }
    #expect(newcomer.part == 0)
  }

  @Test("a worker stopped for longer than its lease starts nothing until Redis replies")
  func stoodStill() {
    var membership = member(part: whole / 2)
    membership.advance(now: at(10))
    #expect(membership.part == whole / 2)
    membership.advance(now: at(10.1))
    #expect(membership.heartbeat == .init(hasWork: true, part: 0) && membership.hasNews)
    beat(&membership, 10.2, granted: whole / 3)
    #expect(membership.part == whole / 3)
    // It was stopped while Redis replied.
    membership.sent(membership.heartbeat)
    membership.answered(part: whole, workers: 1, withWork: 1, sent: at(11), now: at(30))
    #expect(membership.part == 0)
  }

  @Test("if Redis is away when a worker wakes, it waits no longer than necessary")
  func wakesWithoutRedis() {
    for isKnownToBeAway in [false, true] {
      var membership = member(part: whole / 2)
      if isKnownToBeAway { membership.lost(now: at(1)) }
      membership.advance(now: at(50))
      #expect(membership.part == 0)
      for second in stride(from: 50.0, to: 60, by: 3) {
        membership.lost(now: at(second))
        membership.advance(now: at(second))
        #expect(membership.part == 0)
      }
      membership.advance(now: at(60))
      #expect(membership.part == whole / 2)
      membership.lost(now: at(60.1))
      membership.advance(now: at(65))
      #expect(membership.part == whole / 2)
    }
  }

  @Test("a refused worker keeps its part, or takes an even one among the known workers")
  func refused() {
    var membership = member(part: whole / 4)
    membership.refused(workers: 9, now: at(1))
    #expect(membership.part == whole / 4 && membership.workers == 9)
    var newcomer = WorkerMembership(now: at(0))
    newcomer.refused(workers: nil, now: at(1))
    #expect(newcomer.part == whole)
    var other = WorkerMembership(now: at(0))
    other.refused(workers: 3, now: at(1))
    other.refused(workers: nil, now: at(1))
    #expect(other.part == whole / 3 && other.workers == 3)
    // A worker that was stopped doesn't know the others' parts.
    membership.refused(workers: nil, now: at(50))
    #expect(membership.part == 0)
  }
}
