import ImagePrimitives

extension Timestamp {
  /// The moment of `2026-11-21T09:00:00.000Z` or `2026-11-21T09:00:00Z`, as reports write it; nil for anything else.
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

  /// Days since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`), for years from 0 on.
  private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}
