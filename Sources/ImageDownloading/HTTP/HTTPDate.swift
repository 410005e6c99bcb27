import CCurl
import Platform
import Base

/// Dates in HTTP's three forms (RFC 9110, section 5.6.7).
enum HTTPDate {
  /// The years 1 to 9999, in seconds: HTTP dates and reports have four digits for the year.
  private static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// The moment that a date names; nil for other text and outside the years 1 to 9999.
  static func time(_ text: ArraySlice<UInt8>) -> Timestamp? {
    guard let seconds = preferredForm(text) ?? anyForm(text), range.contains(seconds) else { return nil }
    return Timestamp(milliseconds: seconds * 1000)
  }

  /// Parses the form of `Sun, 06 Nov 1994 08:49:37 GMT`, which nearly all servers send: libcurl's parser takes longer than all other
  /// work on a response's headers.
  private static func preferredForm(_ text: ArraySlice<UInt8>) -> Int64? {
    text.withUnsafeBytes { bytes in
      guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
        ByteView(bytes).matches(" GMT", at: 25), let month = month(bytes),
        let day = number(bytes, 5, 2), let year = number(bytes, 12, 4),
        let hour = number(bytes, 17, 2), let minute = number(bytes, 20, 2), let second = number(bytes, 23, 2),
        (1...31).contains(day), hour < 24, minute < 60, second <= 60, year >= 1970
      else { return nil }
      return ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    }
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int) -> Int64? {
    var value: Int64 = 0
    for digit in bytes[start..<(start + count)] {
      guard digit &- UInt8(ascii: "0") < 10 else { return nil }
      value = value * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return value
  }

  /// Starting at 1.
  private static func month(_ bytes: UnsafeRawBufferPointer) -> Int64? {
    let names: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
    for month in 0..<12 where memcmp(bytes.baseAddress! + 8, names.utf8Start + month * 3, 3) == 0 { return Int64(month + 1) }
    return nil
  }

  /// Days since 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap day comes last.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month > 2 ? year : year - 1
    let monthsSinceMarch = (month + 9) % 12
    let daysBefore = year * 365 + year / 4 - year / 100 + year / 400
    return daysBefore + (153 * monthsSinceMarch + 2) / 5 + day - 1 - 719_468
  }

  /// Parses any form that libcurl knows.
  private static func anyForm(_ text: ArraySlice<UInt8>) -> Int64? {
    let seconds = withUnsafeTemporaryAllocation(byteCount: text.count + 1, alignment: 1) { copy in
      copy.copyBytes(from: text)
      copy[text.count] = 0
      return curl_getdate(copy.baseAddress?.assumingMemoryBound(to: CChar.self), nil)
    }
    return seconds == -1 ? nil : Int64(seconds)
  }
}
