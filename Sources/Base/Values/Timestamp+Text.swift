import Platform

extension Timestamp: LosslessStringConvertible {
  /// `2026-11-21T09:00:00.000Z` (ISO 8601, UTC).
  public var description: String { iso8601 }

  /// Parses `2026-11-21T09:00:00.000Z` or `2026-11-21T09:00:00Z`; nil for anything else.
  public init?(_ description: String) {
    let parsed = Array(description.utf8).withRawBytes { Timestamp(iso8601: $0) }
    guard let parsed else { return nil }
    self = parsed
  }

  /// The current time.
  public static var now: Timestamp { TimeSource.system.wall() }

  /// Creates a time from seconds since 1970 (UTC), as Foundation's `Date` has them, clamped to the range; NaN counts as 0.
  public init(timeIntervalSince1970 seconds: Double) {
    let milliseconds = (seconds * 1000).rounded()
    self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : milliseconds < 0 ? .min : 0))
  }

  /// Seconds since 1970 (UTC), as Foundation's `Date` has them.
  public var timeIntervalSince1970: Double { Double(milliseconds) / 1000 }

  package var iso8601: String {
    let milliseconds = String(1000 + written - second * 1000).dropFirst()
    return "\(text("%Y-%m-%dT%H:%M:%S")).\(milliseconds)Z"
  }

  /// `2026-11-21T09:00:00Z`: for times that are known to the second only.
  package var iso8601Seconds: String { text("%Y-%m-%dT%H:%M:%SZ") }

  package var dayText: String { text("%Y-%m-%d") }

  /// `Sat, 21 Nov 2026 09:00:00 +0000` (RFC 5322, section 3.3).
  package var rfc5322: String { text("%a, %d %b %Y %H:%M:%S +0000") }

  /// `2026-11-21 09:00 UTC`: for a person.
  package var shortText: String { text("%Y-%m-%d %H:%M UTC") }

  /// The years 1 to 9999, in milliseconds: the only ones with four digits, which readers expect.
  private static let writable: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

  /// Clamped, so that ``init(iso8601:)`` can read every written time.
  private var written: Int64 { min(max(milliseconds, Self.writable.lowerBound), Self.writable.upperBound) }

  /// Rounded down, also before 1970.
  private var second: Int64 { (written - (written % 1000 + 1000) % 1000) / 1000 }

  private func text(_ format: String) -> String {
    var (time, parts) = (time_t(second), tm())
    gmtime_r(&time, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      // %Y has fewer digits for years before 1000.
      let format =
        parts.tm_year < -900 ? format.replacing("%Y", with: String(String(11_900 + parts.tm_year).dropFirst())) : format
      return String(decoding: UnsafeRawBufferPointer(buffer)[..<strftime(buffer.baseAddress, 64, format, &parts)], as: UTF8.self)
    }
  }
}

extension Timestamp {
  /// Parses `2026-11-21T09:00:00.000Z` or `2026-11-21T09:00:00Z`, as reports write times; nil for anything else.
  package init?(iso8601 text: UnsafeRawBufferPointer) {
    guard text.count == 20 || text.count == 24 else { return nil }
    let layout: StaticString = text.count == 20 ? "0000-00-00T00:00:00Z" : "0000-00-00T00:00:00.000Z"
    for (index, byte) in text.enumerated() {
      let expected = layout.utf8Start[index]
      let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      guard expected == UInt8(ascii: "0") ? isDigit : byte == expected else { return nil }
    }
    func number(_ range: Range<Int>) -> Int64 { text[range].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) } }
    let (month, day) = (number(5..<7), number(8..<10))
    guard (1...12).contains(month), (1...31).contains(day) else { return nil }
    let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
    guard hour < 24, minute < 60, second < 60 else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(number(0..<4)) - 1900, Int32(month) - 1, Int32(day))
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
    self.init(milliseconds: Int64(timegm(&parts)) * 1000 + (text.count == 24 ? number(20..<23) : 0))
  }
}
