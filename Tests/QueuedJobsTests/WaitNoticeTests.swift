import ImagePrimitives
import TestSupport
import Testing

@testable import QueuedJobs

@Suite struct WaitNoticeTests {
  private func at(_ milliseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: 0).advanced(by: .milliseconds(milliseconds))
  }

  @Test("a wait of a second is reported once") func whatLastsASecondIsToldOnce() {
    var notice = WaitNotice()
    #expect(notice.sentence("full", now: at(0)) == nil)
    #expect(notice.sentence("full", now: at(999)) == nil)
    expectGolden(notice.sentence("full", now: at(1000)))
    for moment in stride(from: Int64(1100), to: 100_000, by: 100) { #expect(notice.sentence("full", now: at(moment)) == nil) }
  }

  @Test("a shorter wait isn't reported") func whatPassesBeforeIsNotTold() {
    var notice = WaitNotice()
    for begin in stride(from: Int64(0), to: 10_000, by: 1000) {
      #expect(notice.sentence("away", now: at(begin)) == nil)
      #expect(notice.sentence("away", now: at(begin + 900)) == nil)
      #expect(notice.sentence(nil, now: at(begin + 950)) == nil)
    }
  }

  @Test("another reason is reported at once, and none twice") func anotherReasonIsToldAtOnceAndNoneTwice() {
    var notice = WaitNotice()
    _ = notice.sentence("away", now: at(0))
    #expect(notice.sentence("away", now: at(1000)) != nil)
    #expect(notice.sentence("loading", now: at(1100)) != nil)
    #expect(notice.sentence("away", now: at(1200)) == nil)
  }

  @Test("a recurring wait is reported again only after a while") func whatComesBackIsToldAgainOnlyAfterAWhile() {
    var notice = WaitNotice()
    func isReported(from begin: Int64) -> Bool {
      defer { _ = notice.sentence(nil, now: at(begin + 1100)) }
      return notice.sentence("full", now: at(begin)) == nil && notice.sentence("full", now: at(begin + 1000)) != nil
    }
    #expect(isReported(from: 0))
    #expect(!isReported(from: 5000))
    #expect(!isReported(from: 35_900))
    #expect(isReported(from: 66_900))
  }
}
