import Glibc
import Base
import Testing

/// Arithmetic with extreme times.
struct TimeTests {
  private static let first = Timestamp(milliseconds: .min)
  private static let last = Timestamp(milliseconds: .max)

  @Test func `differences of timestamps are clamped`() {
    #expect(Self.last.since(Self.first) == .milliseconds(Int64.max))
    #expect(Self.first.since(Self.last) == .milliseconds(Int64.min))
    #expect(Timestamp(milliseconds: 5).since(Timestamp(milliseconds: 8)) == .milliseconds(-3))
    #expect(Timestamp(milliseconds: -1).since(Self.last) == .milliseconds(Int64.min))
  }

  @Test func `sums of timestamps and durations are clamped`() {
    let longest = Duration.seconds(Int64.max)
    #expect(Self.last.advanced(by: longest) == Self.last)
    #expect(Self.first.advanced(by: .zero - longest) == Self.first)
    #expect(MonotonicInstant(nanoseconds: .max).advanced(by: longest).nanoseconds == .max)
  }

  @Test(arguments: [Int.min, Int.max, Int.max / 1000 + 1]) func `times of files are clamped`(seconds: Int) {
    let expected = seconds < 0 ? Int64.min : .max
    #expect(Timestamp(timespec(tv_sec: seconds, tv_nsec: 0)).milliseconds == expected)
  }
}
