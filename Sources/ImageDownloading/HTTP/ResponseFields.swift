import Base

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

  private var bytes: [UInt8] = []
  private var values: [(name: Name, range: Range<Int>)] = []
  /// Whether the head has ended: trailers follow.
  private var isComplete = false
  /// Whether the last line was kept, so that a folded line continues it.
  private var lastIsOurs = false

  init() {}

  /// The headers of a head that a hook modified.
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
    switch first.asciiLowercased {
    case UInt8(ascii: "h") where ByteView(line).matches("HTTP/"): removeAll()
    case _ where isComplete: break
    case UInt8(ascii: "\r"), UInt8(ascii: "\n"): isComplete = true
    case UInt8(ascii: " "), UInt8(ascii: "\t"): addFolded(line)
    case UInt8(ascii: "a"):
      add(line, .age, "age:")
      if !lastIsOurs { add(line, .acceptRanges, "accept-ranges:") }
    case UInt8(ascii: "c"):
      add(line, .cacheControl, "cache-control:")
      if !lastIsOurs { add(line, .contentType, "content-type:") }
      if !lastIsOurs { add(line, .contentLength, "content-length:") }
      if !lastIsOurs { add(line, .contentEncoding, "content-encoding:") }
      if !lastIsOurs { add(line, .contentRange, "content-range:") }
      if !lastIsOurs { add(line, .cacheStatus, "cache-status:") }
      if !lastIsOurs { add(line, .cloudflareCacheStatus, "cf-cache-status:") }
      if !lastIsOurs { add(line, .bunnyCache, "cdn-cache:") }
    case UInt8(ascii: "d"): add(line, .date, "date:")
    case UInt8(ascii: "e"):
      add(line, .etag, "etag:")
      if !lastIsOurs { add(line, .expires, "expires:") }
    case UInt8(ascii: "l"):
      add(line, .lastModified, "last-modified:")
      if !lastIsOurs { add(line, .location, "location:") }
    case UInt8(ascii: "r"): add(line, .retryAfter, "retry-after:")
    case UInt8(ascii: "s"): add(line, .serverTiming, "server-timing:")
    case UInt8(ascii: "t"): add(line, .transferEncoding, "transfer-encoding:")
    case UInt8(ascii: "v"): add(line, .vary, "vary:")
    case UInt8(ascii: "x"):
      add(line, .xCache, "x-cache:")
      if !lastIsOurs { add(line, .xCacheStatus, "x-cache-status:") }
      if !lastIsOurs { add(line, .xProxyCache, "x-proxy-cache:") }
    default: lastIsOurs = false
    }
  }

  private mutating func add(_ line: UnsafeRawBufferPointer, _ name: Name, _ prefix: StaticString) {
    lastIsOurs = ByteView(line).matchesIgnoringCase(prefix)
    guard lastIsOurs else { return }
    let start = bytes.count
    append(line[prefix.utf8CodeUnitCount...])
    values.append((name, start..<bytes.count))
  }

  /// A continuation of the previous line, as old servers send (RFC 9112, section 5.2).
  private mutating func addFolded(_ line: UnsafeRawBufferPointer) {
    guard lastIsOurs, let last = values.indices.last else { return }
    bytes.append(UInt8(ascii: " "))
    append(line[...])
    values[last].range = values[last].range.lowerBound..<bytes.count
  }

  private mutating func append(_ value: Slice<UnsafeRawBufferPointer>) {
    let rest = value.drop(while: \.isASCIIWhitespace)
    guard let last = rest.lastIndex(where: { !$0.isASCIIWhitespace }) else { return }
    bytes.append(contentsOf: rest[...last])
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

  /// All values of that name, split at commas, in lower case.
  private func names(_ name: Name) -> [String] {
    guard let joined = joined(name) else { return [] }
    return joined.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
  }

  /// The headers that set the freshness.
  var freshnessHeaders: FreshnessHeaders {
    var headers: FreshnessHeaders = []
    if has(.cacheControl) { headers.insert(.cacheControl) }
    if has(.expires) { headers.insert(.expires) }
    return headers
  }

  /// How long the response may be reused from now on, if its request began `duration` ago.
  func freshness(_ time: TimeSource, taking duration: Duration) -> Freshness {
    guard !freshnessHeaders.isEmpty else { return Freshness() }
    var control = CacheControl()
    for value in values where value.name == .cacheControl { control.add(bytes[value.range]) }
    let first = { (name: Name) in values.first { $0.name == name }.map { bytes[$0.range] } }
    let received = time.wall()
    return Freshness(
      control,
      expires: first(.expires),
      age: first(.age),
      date: first(.date),
      requested: received.advanced(by: .zero - duration),
      received: received
    )
  }
}
