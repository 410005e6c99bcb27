public import Base
import CCurl

/// The headers of a response that the downloader reads, collected line by line as libcurl delivers them.
///
/// Finding each by name in libcurl would compare it with all headers; here a line's first letter decides.
struct ResponseFields {
  enum Name: UInt8 {
    case acceptRanges, age, cacheControl, contentEncoding, contentLength, contentRange, contentType, date, etag, expires
    case lastModified, location, retryAfter, transferEncoding, vary
    // The status of caches on the way.
    case bunnyCache, cacheStatus, cloudflareCacheStatus, serverTiming, xCache, xCacheStatus, xProxyCache
  }

  /// By first letter.
  private static let prefixes: [[(text: StaticString, name: Name)]] = {
    let all: [(text: StaticString, name: Name)] = [
      ("accept-ranges:", .acceptRanges), ("age:", .age), ("cache-control:", .cacheControl),
      ("content-encoding:", .contentEncoding),
      ("content-length:", .contentLength), ("content-range:", .contentRange), ("content-type:", .contentType), ("date:", .date),
      ("etag:", .etag), ("expires:", .expires), ("last-modified:", .lastModified), ("location:", .location),
      ("retry-after:", .retryAfter), ("transfer-encoding:", .transferEncoding), ("vary:", .vary), ("cdn-cache:", .bunnyCache),
      ("cache-status:", .cacheStatus), ("cf-cache-status:", .cloudflareCacheStatus), ("server-timing:", .serverTiming),
      ("x-cache:", .xCache), ("x-cache-status:", .xCacheStatus), ("x-proxy-cache:", .xProxyCache),
    ]
    return (UInt8(ascii: "a")...UInt8(ascii: "z")).map { letter in all.filter { $0.text.utf8Start[0] == letter } }
  }()

  private var bytes: [UInt8] = []
  private var values: [(name: Name, range: Range<Int>)] = []
  /// Whether the head has ended: trailers follow.
  private var isComplete = false
  /// Whether the last line was kept, so that a folded line continues it.
  private var lastIsOurs = false

  init() {}

  init(_ headers: [HeaderField]) {
    for header in headers { Array("\(header.name):\(header.value)".utf8).withUnsafeBytes { add($0) } }
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    values.removeAll(keepingCapacity: true)
    isComplete = false
    lastIsOurs = false
  }

  /// Adds a line of a head; a status line starts a new head.
  mutating func add(_ line: UnsafeRawBufferPointer) {
    guard let first = line.first else { return }
    switch first {
    case UInt8(ascii: "H") where ByteView(line).matches("HTTP/"): removeAll()
    case _ where isComplete: break
    case UInt8(ascii: "\r"), UInt8(ascii: "\n"): isComplete = true
    case UInt8(ascii: " "), UInt8(ascii: "\t"): addFolded(line)
    default:
      let letter = Int(first.asciiLowercased &- UInt8(ascii: "a"))
      let known = letter < Self.prefixes.count ? Self.prefixes[letter].first { ByteView(line).matchesIgnoringCase($0.text) } : nil
      lastIsOurs = known != nil
      guard let known else { return }
      let start = bytes.count
      bytes.append(contentsOf: line[known.text.utf8CodeUnitCount...].trimmed)
      values.append((known.name, start..<bytes.count))
    }
  }

  /// A continuation of the previous line, as old servers send (RFC 9112, section 5.2).
  private mutating func addFolded(_ line: UnsafeRawBufferPointer) {
    guard lastIsOurs, let last = values.indices.last else { return }
    bytes.append(UInt8(ascii: " "))
    bytes.append(contentsOf: line[...].trimmed)
    values[last].range = values[last].range.lowerBound..<bytes.count
  }

  /// Copies those values of `other` whose names this has none of.
  mutating func inherit(_ names: [Name], from other: ResponseFields) {
    for name in names where !has(name) {
      for value in other.values where value.name == name {
        let start = bytes.count
        bytes.append(contentsOf: other.bytes[value.range])
        values.append((name, start..<bytes.count))
      }
    }
  }

  // MARK: Values

  func has(_ name: Name) -> Bool { values.contains { $0.name == name } }

  /// The last value of that name.
  func bytes(_ name: Name) -> ArraySlice<UInt8>? { values.last { $0.name == name }.map { bytes[$0.range] } }

  /// The last value of that name, with invalid UTF-8 replaced.
  func last(_ name: Name) -> String? { bytes(name).map { String(decoding: $0, as: UTF8.self) } }

  /// All values of that name, in order, joined by commas.
  func joined(_ name: Name) -> String? {
    guard has(name) else { return nil }
    let all = values.lazy.filter { $0.name == name }.map { String(decoding: bytes[$0.range], as: UTF8.self) }
    return all.joined(separator: ", ")
  }

  /// The codings of the body in the order of their application (RFC 9110, section 8.4; RFC 9112, section 6.1), in lower case,
  /// without `identity` and `chunked`, which libcurl decodes once, however often it is named.
  var codings: [String] {
    (names(.contentEncoding) + names(.transferEncoding).filter { $0 != "chunked" }).filter { $0 != "identity" }
  }

  /// Whether the body marks its own end (RFC 9112, section 7.1).
  var isChunked: Bool { names(.transferEncoding).contains("chunked") }

  /// Whether the response declares several lengths that differ (Fetch, "extract a length"), which don't count in a chunked one.
  var hasConflictingLengths: Bool {
    let lengths = values.lazy.filter { $0.name == .contentLength }
    guard lengths.count > 1 || lengths.contains(where: { bytes[$0.range].contains(UInt8(ascii: ",")) }) else { return false }
    return !isChunked && Set(names(.contentLength)).count > 1
  }

  private func names(_ name: Name) -> [String] {
    guard let joined = joined(name) else { return [] }
    return joined.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
  }

  var cacheControl: CacheControl {
    var control = CacheControl()
    for value in values where value.name == .cacheControl { control.add(bytes[value.range]) }
    return control
  }

  /// How long the response may be reused, for a request at that time.
  func freshness(_ control: CacheControl, requested: Timestamp, received: Timestamp) -> Freshness {
    guard has(.cacheControl) || has(.expires) else { return Freshness() }
    let first = { (name: Name) in values.first { $0.name == name }.map { bytes[$0.range] } }
    let dated = first(.date).flatMap(HTTPDate.time)
    var freshness = Freshness(
      isStorable: !control.isNoStore,
      mustRevalidate: control.isNoCache,
      isImmutable: control.isImmutable,
      forbidsStale: control.isMustRevalidate
    )
    var span: Duration?
    if let maxAge = control.maxAge {
      span = .seconds(maxAge)
    } else if let expires = first(.expires) {
      // An invalid date means the past (RFC 9111, section 5.3).
      span = HTTPDate.time(expires).map { $0.since(dated ?? received) } ?? .zero
    }
    var missing = Duration.zero
    if let span {
      // RFC 9111, section 4.2.3: the apparent age, or the declared one plus the response's delay, whichever is greater.
      let apparentAge = dated.map { max(.zero, received.since($0)) } ?? .zero
      let declared = first(.age).flatMap { CacheControl.seconds($0.prefix { $0 != UInt8(ascii: ",") }.trimmed) } ?? 0
      let left = span - max(apparentAge, .seconds(declared) + max(.zero, received.since(requested)))
      freshness.lifetime = max(.zero, left)
      missing = min(.zero, left)
    }
    if !control.isMustRevalidate {
      freshness.staleWhileRevalidate = max(.zero, .seconds(span == nil ? 0 : control.staleWhileRevalidate ?? 0) + missing)
      freshness.staleIfError = max(.zero, .seconds(control.staleIfError ?? 0) + missing)
    }
    return freshness
  }
}

extension RandomAccessCollection<UInt8> where SubSequence: RandomAccessCollection<UInt8> {
  /// Without surrounding white space.
  var trimmed: SubSequence {
    let rest = drop(while: \.isASCIIWhitespace)
    guard let last = rest.lastIndex(where: { !$0.isASCIIWhitespace }) else { return self[endIndex...] }
    return self[rest.startIndex...last]
  }
}

extension ArraySlice<UInt8> {
  /// Without surrounding white space and then quotation marks.
  var unquoted: ArraySlice<UInt8> {
    let (text, mark) = (trimmed, UInt8(ascii: "\""))
    return text.count >= 2 && text.first == mark && text.last == mark ? text.dropFirst().dropLast() : text
  }

  /// Calls `body` with the parts between separators, except for those in quotation marks, in which a backslash escapes the next byte.
  func forEachPart(separatedBy separator: UInt8, _ body: (ArraySlice<UInt8>) -> Void) {
    var (start, isQuoted, isEscaped) = (startIndex, false, false)
    for index in indices {
      switch self[index] {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\") where isQuoted: isEscaped = true
      case UInt8(ascii: "\""): isQuoted.toggle()
      case separator where !isQuoted:
        body(self[start..<index])
        start = index + 1
      default: break
      }
    }
    body(self[start...])
  }
}

/// A header of a request or a response.
public struct HeaderField: Sendable, Hashable {
  /// The name as it was written; case is ignored in comparisons.
  public var name: String
  /// The value, without surrounding white space.
  public var value: String

  public init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

extension [HeaderField] {
  /// The values of all headers of that name, case ignored, joined by commas (RFC 9110, section 5.3); nil if there are none.
  public func value(of name: String) -> String? {
    let values = lazy.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

/// The status and headers of a response.
public struct ResponseHead: Sendable, Hashable {
  /// The HTTP status.
  public var status: Int
  /// The headers in the order of receipt, repeated names included.
  public var headers: [HeaderField]

  public init(status: Int, headers: [HeaderField] = []) {
    self.status = status
    self.headers = headers
  }
}

extension String {
  /// Whether both are equal, ignoring the case of ASCII letters.
  func equalsIgnoringCase(_ other: String) -> Bool {
    utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
  }
}

/// Classes of HTTP statuses (RFC 9110, section 15).
enum HTTPStatus {
  /// Such as `404 Not Found`.
  static func named(_ status: Int) -> String { "\(status)\(HTTPPhrases.phrase(of: status).map { " \($0)" } ?? "")" }

  /// Statuses with a `Location` to follow.
  static let redirects: Set<Int> = [301, 302, 303, 307, 308]

  /// Whether the server doesn't support the method, for this URL or at all (RFC 9110, sections 15.5.6 and 15.6.2).
  static func refusesMethod(_ status: Int) -> Bool { status == 405 || status == 501 }

  /// Whether a response to HEAD or a range may differ from a plain GET's: not 429, about earlier requests (RFC 6585).
  static func dependsOnMethod(_ status: Int) -> Bool { status != 429 }

  /// Whether the server asks for a pause (RFC 6585, section 4; RFC 9110, section 15.6.4).
  static func asksForPause(_ status: Int) -> Bool { status == 429 || status == 503 }

  static func isTransient(_ status: Int) -> Bool {
    status == 408 || status == 425 || status == 429 || (500...599).contains(status)
  }
}

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
    let fields = ResponseFields(headers)
    self = fields.freshness(fields.cacheControl, requested: requested, received: received)
  }
}

/// The directives of `Cache-Control` that matter to a private cache (RFC 9111, section 5.2.2; RFC 5861; RFC 8246).
struct CacheControl {
  /// The greatest number of seconds that isn't clamped (RFC 9111, section 1.2.2).
  static let maximumSeconds: Int64 = 1 << 31

  /// In seconds; zero if the server wrote something else than a number. The first of several counts (RFC 9111, section 4.2.1).
  private(set) var maxAge: Int64?
  private(set) var staleWhileRevalidate: Int64?
  private(set) var staleIfError: Int64?
  private(set) var isNoStore = false
  private(set) var isNoCache = false
  private(set) var isMustRevalidate = false
  private(set) var isImmutable = false
  /// `public`, or `s-maxage`, which implies it for requests with credentials.
  private(set) var isPublic = false
  private(set) var isPrivate = false

  /// Whether a response to a request with credentials may be reused for a request with others (RFC 9111, section 3.5).
  var isForAnySender: Bool { (isPublic || isMustRevalidate) && !isPrivate }

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
    } else if Self.is(name, "stale-if-error") {
      staleIfError = staleIfError ?? Self.seconds(value) ?? 0
    } else if Self.is(name, "no-store") {
      isNoStore = true
    } else if Self.is(name, "no-cache") {
      // A `no-cache` with field names may be treated as one without (RFC 9111, section 5.2.2.4).
      isNoCache = true
    } else if Self.is(name, "must-revalidate") {
      isMustRevalidate = true
    } else if Self.is(name, "immutable") {
      isImmutable = true
    } else if Self.is(name, "public") || Self.is(name, "s-maxage") {
      isPublic = true
    } else if Self.is(name, "private") {
      isPrivate = true
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
    if let time = preferredTime(text) { return time }
    let seconds = withUnsafeTemporaryAllocation(byteCount: text.count + 1, alignment: 1) { copy in
      copy.copyBytes(from: text)
      copy[text.count] = 0
      return curl_getdate(copy.baseAddress?.assumingMemoryBound(to: CChar.self), nil)
    }
    return seconds != -1 && range.contains(Int64(seconds)) ? Timestamp(milliseconds: Int64(seconds) * 1000) : nil
  }

  private static let months: [StaticString] = [
    " Jan ", " Feb ", " Mar ", " Apr ", " May ", " Jun ", " Jul ", " Aug ", " Sep ", " Oct ", " Nov ", " Dec ",
  ]

  /// That of the preferred form, `Sun, 06 Nov 1994 08:49:37 GMT`, for which libcurl takes nine calls of sscanf(3) and 6,000 instructions.
  private static func preferredTime(_ text: ArraySlice<UInt8>) -> Timestamp? {
    guard text.count == 29 else { return nil }
    return text.withUnsafeBytes { text in
      guard ByteView(text).matches(", ", at: 3), ByteView(text).matches(" GMT", at: 25),
        let month = months.firstIndex(where: { ByteView(text).matches($0, at: 7) })
      else { return nil }
      return withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { copy in
        copy.copyBytes(from: "0000-00-00T00:00:00Z".utf8)
        copy[5] += UInt8((month + 1) / 10)
        copy[6] += UInt8((month + 1) % 10)
        for index in 0..<4 { copy[index] = text[12 + index] }
        for index in 0..<2 { copy[8 + index] = text[5 + index] }
        for index in 0..<8 { copy[11 + index] = text[17 + index] }
        return Timestamp(iso8601: UnsafeRawBufferPointer(copy))
      }
    }
  }
}
