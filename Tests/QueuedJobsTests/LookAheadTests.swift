import ImagePrimitives
import Testing

@testable import QueuedJobs

/// The number of entries that a worker holds.
@Suite struct LookAheadTests {
  private func moment(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

  @Test("the look-ahead follows the entries finished in a quarter of a second") func itFollowsWhatWasFinishedInAQuarterOfASecond()
  {
    var lookAhead = LookAhead(least: 128, now: moment(0))
    lookAhead.finish(1000)
    lookAhead.adapt(now: moment(249))
    #expect(lookAhead.entries == 128)
    lookAhead.adapt(now: moment(250))
    #expect(lookAhead.entries == 1000)
    lookAhead.finish(1_000_000)
    lookAhead.adapt(now: moment(600))
    #expect(lookAhead.entries == LookAhead.most)
    lookAhead.adapt(now: moment(900))
    #expect(lookAhead.entries == 128)
  }
}
