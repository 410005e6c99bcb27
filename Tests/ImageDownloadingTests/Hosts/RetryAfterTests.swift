import Base
import Testing

@testable import ImageDownloading

/// Parsing `Retry-After`.
struct RetryAfterTests {
  private func wait(_ value: String, date: String? = nil) -> Duration? {
    // Sun, 06 Nov 1994 08:49:37 GMT
    let now = Timestamp(milliseconds: 784_111_777_000)
    return RetryAfter.wait(Array(value.utf8)[...], date: date.map { Array($0.utf8)[...] }, now: now)
  }

  @Test(
    arguments: [
      ("1", 1), ("120", 120), ("0", nil), ("", nil), ("-5", nil), ("soon", nil), ("1s", nil), (".5", nil), ("1.5.2", nil),
      ("1.5", 2), ("0.129", 1), ("3.000", 3), ("0.0", nil),
      ("99999999999999999999", 315_360_000),
    ]
  )
  func `seconds are read up to a limit, decimals rounded up`(value: String, seconds: Int?) {
    #expect(wait(value) == seconds.map { .seconds($0) })
  }

  @Test func `a date is measured against the response's Date, or else the local clock`() {
    #expect(wait("Sun, 06 Nov 1994 08:50:07 GMT") == .seconds(30))
    #expect(wait("Sunday, 06-Nov-94 08:50:07 GMT") == .seconds(30))
    #expect(wait("Sun, 06 Nov 1994 08:49:37 GMT") == nil)
    #expect(wait("Sun, 06 Nov 1994 08:00:00 GMT") == nil)
    #expect(wait("Fri, 01 Jan 2100 00:00:10 GMT", date: "Fri, 01 Jan 2100 00:00:00 GMT") == .seconds(10))
    #expect(wait("Sun, 06 Nov 1994 08:50:07 GMT", date: "nonsense") == .seconds(30))
    #expect(wait("Fri, 31 Dec 9999 23:59:59 GMT") == .seconds(315_360_000))
  }
}
