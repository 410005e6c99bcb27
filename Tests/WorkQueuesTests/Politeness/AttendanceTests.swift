import ImagePrimitives
import Testing

@testable import WorkQueues

/// How many workers there are, and who is back, by made-up times.
struct AttendanceTests {
  private func at(_ seconds: Int) -> MonotonicInstant { MonotonicInstant(nanoseconds: UInt64(seconds) * 1_000_000_000) }

  private func makeAttendance() -> Attendance { Attendance(returnInterval: .seconds(7)) }

  @Test("D1: while Redis is there, the workers are as many as it says, and nothing is news")
  func present() {
    var attendance = makeAttendance()
    #expect(attendance.workers == 1 && !attendance.isAway)
    for count in [4, 2, 3] {
      attendance.hear(workers: count)
      #expect(attendance.answer(now: at(count)) == .none)
      #expect(attendance.workers == count)
    }
  }

  @Test("D1: who is back counts on those that were there until all must be back, and then on those that are")
  func returning() {
    var attendance = makeAttendance()
    attendance.hear(workers: 4)
    #expect(attendance.lose() == true)
    #expect(attendance.isAway)
    #expect(attendance.lose() == false)
    // The first that is back, of those that the server knows.
    attendance.hear(workers: 1)
    #expect(attendance.answer(now: at(10)) == .returned(workers: 4))
    #expect(!attendance.isAway)
    attendance.hear(workers: 3)
    #expect(attendance.answer(now: at(16)) == .none)
    #expect(attendance.answer(now: at(17)) == .othersReturned)
    attendance.hear(workers: 3)
    #expect(attendance.answer(now: at(17)) == .none)
    #expect(attendance.workers == 3)
  }

  @Test("D1: workers that come while some may still miss Redis make all parts smaller")
  func newcomers() {
    var attendance = makeAttendance()
    attendance.hear(workers: 2)
    #expect(attendance.lose() == true)
    // Of an answer that refused something else.
    attendance.hear(workers: 3)
    #expect(attendance.lose() == true)
    #expect(attendance.lose() == false)
    #expect(attendance.answer(now: at(0)) == .returned(workers: 3))
    attendance.hear(workers: 5)
    #expect(attendance.answer(now: at(1)) == .returned(workers: 5))
    #expect(attendance.answer(now: at(2)) == .none)
  }

  @Test("D1: a loss before all must be back keeps the number, and the time begins anew with the next return")
  func lostAgain() {
    var attendance = makeAttendance()
    attendance.hear(workers: 4)
    #expect(attendance.lose() == true)
    #expect(attendance.answer(now: at(0)) == .returned(workers: 4))
    attendance.hear(workers: 1)
    #expect(attendance.lose() == true)
    #expect(attendance.workers == 4)
    #expect(attendance.answer(now: at(5)) == .returned(workers: 4))
    #expect(attendance.answer(now: at(11)) == .none)
    #expect(attendance.answer(now: at(12)) == .othersReturned)
  }
}
