public import Base

extension Freshness {
  /// The freshness that a response's headers give a private cache (RFC 9111, section 4.2), without heuristics if they give none.
  ///
  /// `max-age` overrides `Expires`; `s-maxage` is ignored. The response's age on receipt, from `Age`, `Date` and the duration of the
  /// request, is subtracted. A value that isn't a number or a date, such as `Expires: 0`, means stale. With `must-revalidate` a
  /// stale response may not be used.
  ///
  /// - Parameters:
  ///   - cacheControl: all `Cache-Control` headers, joined by commas.
  ///   - expires: the first `Expires` header.
  ///   - age: the first `Age` header.
  ///   - date: the first `Date` header.
  ///   - requested: when the request was made.
  ///   - received: when the response was received.
  public init(
    cacheControl: String?,
    expires: String? = nil,
    age: String? = nil,
    date: String? = nil,
    requested: Timestamp,
    received: Timestamp
  ) {
    var control = CacheControl()
    if let cacheControl { control.add(Array(cacheControl.utf8)[...]) }
    let bytes = { (text: String?) in text.map { Array($0.utf8)[...] } }
    self.init(control, expires: bytes(expires), age: bytes(age), date: bytes(date), requested: requested, received: received)
  }

  /// The freshness of a response with `headers`, for an ``ImageLoader`` that speaks HTTP.
  public init(_ headers: [HeaderField], requested: Timestamp, received: Timestamp) {
    let first = { (name: String) in headers.first { $0.name.equalsIgnoringCase(name) }?.value }
    self.init(
      cacheControl: headers.value(of: "Cache-Control"),
      expires: first("Expires"),
      age: first("Age"),
      date: first("Date"),
      requested: requested,
      received: received
    )
  }

  init(
    _ control: CacheControl,
    expires: ArraySlice<UInt8>?,
    age: ArraySlice<UInt8>?,
    date: ArraySlice<UInt8>?,
    requested: Timestamp,
    received: Timestamp
  ) {
    self.init(isStorable: !control.isNoStore, mustRevalidate: control.isNoCache, isImmutable: control.isImmutable)
    let dated = date.flatMap(HTTPDate.time)
    let span: Duration
    if let maxAge = control.maxAge {
      span = .seconds(maxAge)
    } else if let expires {
      // An invalid date means the past (RFC 9111, section 5.3).
      span = HTTPDate.time(expires).map { $0.since(dated ?? received) } ?? .zero
    } else {
      return
    }
    // RFC 9111, section 4.2.3: the apparent age, or the declared one plus the response's delay, whichever is greater.
    let apparentAge = dated.map { max(.zero, received.since($0)) } ?? .zero
    let declared =
      age.map { $0.prefix { $0 != UInt8(ascii: ",") } }.flatMap { CacheControl.seconds(CacheControl.trimmed($0)) } ?? 0
    let left = span - max(apparentAge, .seconds(declared) + max(.zero, received.since(requested)))
    lifetime = max(.zero, left)
    if !control.isMustRevalidate, let seconds = control.staleWhileRevalidate {
      staleWhileRevalidate = max(.zero, .seconds(seconds) + min(.zero, left))
    }
  }
}

/// The headers that limit how long a response may be reused.
package struct FreshnessHeaders: OptionSet, Sendable, Hashable {
  /// One bit per header.
  package let rawValue: UInt8

  /// Creates a set from its bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// `Cache-Control`.
  package static let cacheControl = FreshnessHeaders(rawValue: 1)
  /// `Expires`.
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

  /// Adds the directives of one header.
  mutating func add(_ header: ArraySlice<UInt8>) {
    var rest = header
    while !rest.isEmpty {
      let directive = Self.takeDirective(&rest)
      let equals = directive.firstIndex(of: UInt8(ascii: "="))
      let name = Self.trimmed(directive[..<(equals ?? directive.endIndex)])
      let value = equals.map { Self.trimmed(directive[($0 + 1)...]) }
      take(name, value)
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
    guard var digits = value else { return nil }
    let mark = UInt8(ascii: "\"")
    if digits.count >= 2, digits.first == mark, digits.last == mark { digits = trimmed(digits.dropFirst().dropLast()) }
    guard !digits.isEmpty else { return nil }
    var seconds: Int64 = 0
    for digit in digits {
      guard digit &- UInt8(ascii: "0") < 10 else { return nil }
      seconds = min(maximumSeconds, seconds * 10 + Int64(digit - UInt8(ascii: "0")))
    }
    return seconds
  }

  /// Removes and returns the text before the next unquoted comma.
  private static func takeDirective(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var isQuoted = false
    var index = rest.startIndex
    while index < rest.endIndex {
      switch rest[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: "\\") where isQuoted: index += 1
      case UInt8(ascii: ",") where !isQuoted:
        defer { rest = rest[(index + 1)...] }
        return rest[..<index]
      default: break
      }
      index += 1
    }
    defer { rest = [] }
    return rest
  }

  private static func `is`(_ name: ArraySlice<UInt8>, _ lowercased: StaticString) -> Bool {
    name.count == lowercased.utf8CodeUnitCount
      && name.withUnsafeBytes { ByteView($0).matchesIgnoringCase(lowercased) }
  }

  static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let rest = text.drop(while: \.isASCIIWhitespace)
    guard let last = rest.lastIndex(where: { !$0.isASCIIWhitespace }) else { return [] }
    return rest[...last]
  }
}
