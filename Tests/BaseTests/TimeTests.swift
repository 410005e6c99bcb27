import Base
import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct BackoffTests {
  @Test func `backoff doubles up to its maximum`() {
    let backoff = Backoff(initial: .milliseconds(500), maximum: .seconds(3))
    #expect(
      (0..<5).map { backoff.limit(beforeRetry: $0) } == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3)]
    )
    #expect(backoff.limit(beforeRetry: 1_000_000) == .seconds(3))
    #expect(backoff.limit(beforeRetry: -1) == .milliseconds(500))
    #expect(Backoff(initial: .zero, maximum: .seconds(3)).limit(beforeRetry: 9) == .zero)
  }
}

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

  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_000_000_000_123, "2001-09-09T01:46:40.123Z"), (-1, "1969-12-31T23:59:59.999Z"),
    ]
  )
  func `a timestamp is printed and read as ISO 8601, and has the seconds of a Date`(milliseconds: Int64, text: String) {
    let time = Timestamp(milliseconds: milliseconds)
    #expect("\(time)" == text && Timestamp(text) == time && Timestamp("yesterday") == nil)
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    #expect(abs(time.timeIntervalSince1970 - date.timeIntervalSince1970) < 1e-6)
    #expect(Timestamp(timeIntervalSince1970: date.timeIntervalSince1970) == time)
  }

  @Test func `seconds beyond the range of timestamps are clamped`() {
    #expect(Timestamp(timeIntervalSince1970: 1e300) == Self.last && Timestamp(timeIntervalSince1970: -.infinity) == Self.first)
    #expect(Timestamp(timeIntervalSince1970: .nan) == Timestamp(milliseconds: 0))
  }

  @Test(arguments: [Int.min, Int.max, Int.max / 1000 + 1]) func `times of files are clamped`(seconds: Int) {
    let expected = seconds < 0 ? Int64.min : .max
    #expect(Timestamp(timespec(tv_sec: seconds, tv_nsec: 0)).milliseconds == expected)
  }
}

struct Base64Tests {
  @Test func `Base64 agrees with Foundation's`() {
    var random = SeededRandom(seed: 5)
    for count in 0..<67 {
      let bytes = random.bytes(count)
      let expected = Data(bytes).base64EncodedString()
      #expect(String(decoding: bytes.base64, as: UTF8.self) == expected)
      #expect(Array(base64: Array(expected.utf8)) == bytes)
      let urlSafe = expected.replacing("+", with: "-").replacing("/", with: "_")
      for isPadded in [true, false] {
        var text = Array("x".utf8)
        text.append(base64URL: bytes, isPadded: isPadded)
        #expect(String(decoding: text, as: UTF8.self) == "x" + (isPadded ? urlSafe : urlSafe.replacing("=", with: "")))
      }
    }
    for text in ["A", "AA", "AAA", "AA==\n", " AA==", "A===", "====", "AB==", "AA=A", "AA-_"] {
      #expect([UInt8](base64: Array(text.utf8)) == nil)
    }
  }
}
