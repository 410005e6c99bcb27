import CCurl
public import Base

extension Freshness {
  /// The freshness that a response's headers give a private cache (RFC 9111, section 4.2), without heuristics if they give none.
  ///
  /// `max-age` overrides `Expires`; `s-maxage` is ignored. The response's age on receipt, from `Age`, `Date` and the duration of the
  /// request, is subtracted. A value that isn't a number or a date, such as `Expires: 0`, means stale. With `must-revalidate` a
  /// stale response may not be used.
  ///
  /// - Parameters:
  ///   - requested: when the request was made.
  ///   - received: when the response was received.
  public init(_ headers: [HeaderField], requested: Timestamp, received: Timestamp) {
    self = ResponseFields(headers).freshness(requested: requested, received: received)
  }
}

/// The headers that limit how long a response may be reused.
package struct FreshnessHeaders: OptionSet, Sendable, Hashable {
  /// One bit per header.
  package let rawValue: UInt8

  /// Creates a set from its bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let cacheControl = FreshnessHeaders(rawValue: 1)
  package static let expires = FreshnessHeaders(rawValue: 2)
}

/// The directives of `Cache-Control` that matter to a private cache (RFC 9111, section 5.2.2; RFC 5861; RFC 8246).
struct CacheControl {
  /// The greatest number of seconds that isn't clamped (RFC 9111, section 1.2.2).
  static let maximumSeconds: Int64 = 1 << 31

  /// In seconds; zero if the server wrote something else than a number. The first of several counts (RFC 9111, section 4.2.1).
  private(set) var maxAge: Int64?
  private(set) var staleWhileRevalidate: Int64?
  private(set) var isNoStore = false
  private(set) var isNoCache = false
  private(set) var isMustRevalidate = false
  private(set) var isImmutable = false

  mutating func add(_ header: ArraySlice<UInt8>) {
    header.forEachPart(separatedBy: UInt8(ascii: ",")) { directive in
      let equals = directive.firstIndex(of: UInt8(ascii: "="))
      take(directive[..<(equals ?? directive.endIndex)].trimmed, equals.map { directive[($0 + 1)...].trimmed })
    }
  }

  private mutating func take(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>?) {
    if Self.is(name, "max-age") {
      maxAge = maxAge ?? Self.seconds(value) ?? 0
    } else if Self.is(name, "stale-while-revalidate") {
      staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(value) ?? 0
    } else if Self.is(name, "no-store") {
      isNoStore = true
    } else if Self.is(name, "no-cache") {
      // A `no-cache` with field names may be treated as one without (RFC 9111, section 5.2.2.4).
      isNoCache = true
    } else if Self.is(name, "must-revalidate") {
      isMustRevalidate = true
    } else if Self.is(name, "immutable") {
      isImmutable = true
    }
  }

  /// A number of seconds, with or without quotation marks; nil for anything else.
  static func seconds(_ value: ArraySlice<UInt8>?) -> Int64? {
    guard let digits = value?.unquoted.trimmed, !digits.isEmpty else { return nil }
    var seconds: Int64 = 0
    for digit in digits {
      guard digit &- UInt8(ascii: "0") < 10 else { return nil }
      seconds = min(maximumSeconds, seconds * 10 + Int64(digit - UInt8(ascii: "0")))
    }
    return seconds
  }

  private static func `is`(_ name: ArraySlice<UInt8>, _ lowercased: StaticString) -> Bool {
    name.count == lowercased.utf8CodeUnitCount
      && name.withUnsafeBytes { ByteView($0).matchesIgnoringCase(lowercased) }
  }
}

/// Dates in HTTP's three forms (RFC 9110, section 5.6.7).
enum HTTPDate {
  /// The years 1 to 9999, in seconds: HTTP dates and reports have four digits for the year.
  private static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// The moment that a date names; nil for other text and outside the years 1 to 9999.
  static func time(_ text: ArraySlice<UInt8>) -> Timestamp? {
    let seconds = withUnsafeTemporaryAllocation(byteCount: text.count + 1, alignment: 1) { copy in
      copy.copyBytes(from: text)
      copy[text.count] = 0
      return curl_getdate(copy.baseAddress?.assumingMemoryBound(to: CChar.self), nil)
    }
    return seconds != -1 && range.contains(Int64(seconds)) ? Timestamp(milliseconds: Int64(seconds) * 1000) : nil
  }
}
