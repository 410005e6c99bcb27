import Base

extension Timestamp {
  /// `2026-11-21T09:00:00.000Z` (ISO 8601, UTC).
  package var iso8601: String { "\(date)T\(minute):\(digits(secondOfDay % 60)).\(digits(millisecond, width: 3))Z" }

  /// `2026-11-21T09:00:00Z`: for times that are known to the second only.
  var iso8601Seconds: String { "\(date)T\(minute):\(digits(secondOfDay % 60))Z" }

  /// `2026-11-21 09:00 UTC`: for a person.
  package var shortText: String { "\(date) \(minute) UTC" }

  /// The years 1 to 9999, in milliseconds: the only ones with four digits, which readers expect.
  private static let writable: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

  /// Clamped, so that ``init(iso8601:)`` can read every written time.
  private var written: Int64 { min(max(milliseconds, Self.writable.lowerBound), Self.writable.upperBound) }
  private var millisecond: Int64 { written - floorDivision(written, 1000) * 1000 }
  private var secondOfDay: Int64 {
    let seconds = floorDivision(written, 1000)
    return seconds - floorDivision(seconds, 86_400) * 86_400
  }
  private var minute: String { "\(digits(secondOfDay / 3600)):\(digits(secondOfDay / 60 % 60))" }

  /// The Gregorian date (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`): years start in March, so
  /// that the leap day is the last of its year.
  private var date: String {
    let days = floorDivision(written, 86_400_000) + 719_468
    let era = floorDivision(days, 146_097)
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return "\(digits(year, width: 4))-\(digits(month))-\(digits(day))"
  }
}

private func floorDivision(_ value: Int64, _ divisor: Int64) -> Int64 {
  value >= 0 ? value / divisor : -((-(value + 1)) / divisor) - 1
}

private func digits(_ value: Int64, width: Int = 2) -> String {
  let text = String(value)
  return String(repeating: "0", count: max(0, width - text.count)) + text
}

extension Timestamp {
  /// Parses `2026-11-21T09:00:00.000Z` or `2026-11-21T09:00:00Z`, as reports write times; nil for anything else.
  init?(iso8601 text: UnsafeRawBufferPointer) {
    guard text.count == 20 || text.count == 24 else { return nil }
    let layout = text.count == 20 ? "0000-00-00T00:00:00Z" : "0000-00-00T00:00:00.000Z"
    for (byte, expected) in zip(text, layout.utf8) {
      let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      guard expected == UInt8(ascii: "0") ? isDigit : byte == expected else { return nil }
    }
    func number(_ range: Range<Int>) -> Int64 { text[range].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) } }
    let (month, day) = (number(5..<7), number(8..<10))
    guard (1...12).contains(month), (1...31).contains(day) else { return nil }
    let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
    guard hour < 24, minute < 60, second < 60 else { return nil }
    let seconds = hour * 3600 + minute * 60 + second
    let days = Self.days(year: number(0..<4), month: month, day: day)
    self.init(milliseconds: (days * 86_400 + seconds) * 1000 + (text.count == 24 ? number(20..<23) : 0))
  }

  /// Days since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`), for years from 0.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
