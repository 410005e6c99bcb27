import Base
import Glibc

/// The date and time of a sitemap's `lastmod`, in any form of https://www.w3.org/TR/NOTE-datetime.
enum LastModified {
  /// Returns the moments that the text may mean, such as those of a year, month, day or minute; nil if it isn't a date.
  ///
  /// A time without a zone, which the note forbids, means UTC; a space may replace the `T`.
  static func moments(_ text: UnsafeRawBufferPointer) -> ClosedRange<Timestamp>? {
    var cursor = Cursor(text)
    guard let year = cursor.number(4) else { return nil }
    guard !cursor.isAtEnd else { return span(from: day(year, 1, 1), to: day(year + 1, 1, 1)) }
    guard cursor.take("-"), let month = cursor.number(2), 1...12 ~= month else { return nil }
    let nextMonth = day(year, month + 1, 1)
    guard !cursor.isAtEnd else { return span(from: day(year, month, 1), to: nextMonth) }
    guard cursor.take("-"), let date = cursor.number(2), date > 0, day(year, month, date) < nextMonth else { return nil }
    guard !cursor.isAtEnd else { return span(from: day(year, month, date), to: day(year, month, date + 1)) }
    guard cursor.take("T") || cursor.take("t") || cursor.take(" "), let hour = cursor.number(2), hour < 24, cursor.take(":"),
      let minute = cursor.number(2), minute < 60
    else { return nil }
    var moment = day(year, month, date) + Int64(hour * 3600 + minute * 60)
    var milliseconds: ClosedRange<Int64> = 0...59_999
    if cursor.take(":") {
      // A leap second counts as the first second of the next minute.
      guard let second = cursor.number(2), second <= 60 else { return nil }
      moment += Int64(second)
      milliseconds = 0...999
      if cursor.take(".") {
        guard let fraction = cursor.milliseconds() else { return nil }
        milliseconds = fraction...fraction
      }
    }
    guard let offset = cursor.zone(), cursor.isAtEnd else { return nil }
    let start = (moment - offset) * 1000
    return Timestamp(milliseconds: start + milliseconds.lowerBound)...Timestamp(milliseconds: start + milliseconds.upperBound)
  }

  private static func span(from start: Int64, to end: Int64) -> ClosedRange<Timestamp> {
    Timestamp(milliseconds: start * 1000)...Timestamp(milliseconds: end * 1000 - 1)
  }

  /// The start of a day in seconds since 1970; months and days beyond the last one are those of the next year or month.
  private static func day(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
    var time = tm()
    (time.tm_year, time.tm_mon, time.tm_mday) = (Int32(year - 1900), Int32(month - 1), Int32(day))
    return Int64(timegm(&time))
  }

  private struct Cursor {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ text: UnsafeRawBufferPointer) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ letter: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: letter) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func digit() -> Int? {
      guard let byte = rest.first, byte &- UInt8(ascii: "0") < 10 else { return nil }
      rest.removeFirst()
      return Int(byte - UInt8(ascii: "0"))
    }

    mutating func number(_ digits: Int) -> Int? {
      var value = 0
      for _ in 0..<digits {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    /// A fraction of a second, truncated to milliseconds.
    mutating func milliseconds() -> Int64? {
      guard var value = digit().map({ Int64($0) * 100 }) else { return nil }
      var weight: Int64 = 10
      while let digit = digit() {
        value += Int64(digit) * weight
        weight /= 10
      }
      return value
    }

    /// Seconds east of Greenwich.
    mutating func zone() -> Int64? {
      if isAtEnd || take("Z") || take("z") { return 0 }
      let sign: Int64 = take("-") ? -1 : 1
      guard sign < 0 || take("+"), let hours = number(2), hours < 24 else { return nil }
      // Some writers omit the colon, and some the minutes.
      if isAtEnd { return sign * Int64(hours) * 3600 }
      _ = take(":")
      guard let minutes = number(2), minutes < 60 else { return nil }
      return sign * (Int64(hours) * 3600 + Int64(minutes) * 60)
    }
  }
}

/// Judges whether the `lastmod` values of one sitemap can be the times of changes.
///
/// Some servers make a sitemap for each request and set the current time, and some write times that are yet to come. Such values
/// make every entry look new.
struct LastModifiedCheck {
  /// A value without a zone may be ahead by half a day.
  private static let futureTolerance = Duration.seconds(86_400)
  /// The time within which a sitemap is made and received.
  private static let requestTolerance = Duration.seconds(60)

  private let now: Timestamp
  /// Values with a time, close to that of reading.
  private var current = 0

  /// `now` is the time of reading.
  init(now: Timestamp) { self.now = now }

  /// Adds a value, by the moments that it may mean, to the remarks of its sitemap.
  mutating func add(_ moments: ClosedRange<Timestamp>, to remarks: inout ReadingRemarks) {
    remarks.dates += 1
    if !isPlausible(moments) { remarks.futureDates += 1 }
    let isTime = moments.upperBound.since(moments.lowerBound) <= .seconds(60)
    let request = now.advanced(by: .zero - Self.requestTolerance)...now.advanced(by: Self.requestTolerance)
    if isTime, moments.overlaps(request) { current += 1 }
    // One entry, or some of them, may have changed just now.
    remarks.requestDates = remarks.dates > 1 && current == remarks.dates ? current : 0
  }

  /// Whether a value isn't in the future.
  func isPlausible(_ moments: ClosedRange<Timestamp>) -> Bool { moments.lowerBound <= now.advanced(by: Self.futureTolerance) }
}
