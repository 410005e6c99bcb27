import Base

/// Reads the lines of an access log in any of its forms: quoted requests (``AccessLogLine``), the W3C extended format, and JSON.
final class LogLines {
  enum Line {
    /// A request; its target is nil if it isn't a successful GET, and `isEscaped` if it has a log's escapes.
    case request(target: UnsafeRawBufferPointer?, isEscaped: Bool)
    /// A directive of the W3C extended format, or a comment.
    case directive
    case other
  }

  private let scratch = GrowingBytes()
  /// The name of the JSON field with the URL, if the user chose one.
  private let urlName: [UInt8]?
  private var extended: ExtendedFields?
  /// The target that consists of several fields.
  private let joined = GrowingBytes()

  init(_ columns: URLList.Columns) { urlName = columns.url == URLList.Columns().url ? nil : Array(columns.url.utf8) }

  /// The target is valid until the next line is read.
  func read(_ line: UnsafeRawBufferPointer) -> Line {
    if line.first == UInt8(ascii: "#") {
      if line.starts(with: "#Fields:".utf8) { extended = ExtendedFields(line.dropFirst(8)) }
      return .directive
    }
    if let extended { return extended.read(line, into: joined) }
    if line.first != UInt8(ascii: "{"), let parsed = AccessLogLine(line) {
      return .request(target: parsed.target, isEscaped: true)
    }
    // A syslog, or Caddy's console format, writes a prefix.
    guard let brace = line.firstIndex(of: UInt8(ascii: "{")) else { return .other }
    return read(json: UnsafeRawBufferPointer(rebasing: line[brace...]))
  }

  private func read(json: UnsafeRawBufferPointer) -> Line {
    var cursor = JSONCursor(json, scratch: scratch)
    var fields = JSONLogFields(urlName: urlName)
    do throws(JSONError) {
      guard try fields.read(&cursor, path: []) else { return .other }
    } catch {
      return .other
    }
    // Container runtimes wrap a line of another form.
    if fields.target == nil, let message = fields.message, let parsed = AccessLogLine(message) {
      return .request(target: parsed.target, isEscaped: true)
    }
    guard let target = fields.target, fields.isLog || urlName != nil else { return .other }
    guard fields.isGood else { return .request(target: nil, isEscaped: false) }
    joined.removeAll()
    joined.append(target)
    if let query = fields.query, query.first != UInt8(ascii: "-"), !target.contains(UInt8(ascii: "?")) {
      if query.first != UInt8(ascii: "?") { joined.append("?") }
      joined.append(query)
    }
    return .request(target: joined.bytes, isEscaped: false)
  }

  /// Whether a JSON object is a line of an access log, not a list's row with a URL.
  static func isLog(json: UnsafeRawBufferPointer) -> Bool {
    guard case .request = LogLines(URLList.Columns()).read(json: json) else { return false }
    return true
  }
}

/// The fields of a log in the W3C extended format, as IIS and CloudFront write it.
///
///     #Fields: date time cs-method cs-uri-stem cs-uri-query sc-status
struct ExtendedFields {
  private var method: Int?
  private var stem: Int?
  private var uri: Int?
  private var query: Int?
  private var status: Int?
  private var count = 0
  /// CloudFront encodes the percent signs of targets once more.
  private var isEncodedTwice = false

  init(_ names: Slice<UnsafeRawBufferPointer>) {
    for name in names.split(whereSeparator: Self.isBlank) {
      let index = count
      count += 1
      switch String(decoding: name, as: UTF8.self) {
      case "cs-method": method = index
      case "cs-uri-stem": stem = index
      case "cs-uri": uri = index
      case "cs-uri-query": query = index
      case "sc-status": status = index
      case "x-edge-location", "x-edge-result-type": isEncodedTwice = true
      default: break
      }
    }
  }

  func read(_ line: UnsafeRawBufferPointer, into joined: GrowingBytes) -> LogLines.Line {
    let fields = line.split(whereSeparator: Self.isBlank)
    guard fields.count >= count, let stem = stem ?? uri else { return .other }
    if let method, !fields[method].elementsEqual("GET".utf8) { return .request(target: nil, isEscaped: false) }
    if let status, !LogRequest.isGood(fields[status]) { return .request(target: nil, isEscaped: false) }
    joined.removeAll()
    append(fields[stem], to: joined)
    if let query, self.stem != nil, !fields[query].elementsEqual("-".utf8) {
      joined.append("?")
      append(fields[query], to: joined)
    }
    return .request(target: joined.bytes, isEscaped: false)
  }

  private func append(_ text: Slice<UnsafeRawBufferPointer>, to joined: GrowingBytes) {
    var rest = text
    while isEncodedTwice, let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
      joined.append(UnsafeRawBufferPointer(rebasing: rest[...percent]))
      rest = rest[(percent + 1)...]
      if rest.starts(with: "25".utf8) { rest = rest.dropFirst(2) }
    }
    joined.append(UnsafeRawBufferPointer(rebasing: rest))
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

/// The request in a line of JSON, found by the names that servers, load balancers and CDNs use.
struct JSONLogFields {
  private enum Role {
    case target, query, method, status, request, message
  }

  /// Deeper than any log nests its request.
  private static let maximumDepth = 4
  /// In lower case, and by the ends of names with dots: Caddy's `request.uri`, Google's `httpRequest.requestUrl`.
  private static let names: [(name: StaticString, role: Role)] = [
    ("uri", .target), ("url", .target), ("path", .target), ("request_uri", .target), ("requesturi", .target),
    ("requesturl", .target), ("request_url", .target), ("requestpath", .target), ("request_path", .target), ("reqpath", .target),
    ("clientrequesturi", .target), ("clientrequestpath", .target), ("cs-uri-stem", .target), ("cs_uri_stem", .target),
    ("url.original", .target), ("url.path", .target), (":path", .target), ("original_path", .target), ("http_path", .target),
    ("http.url", .target), ("uri_path", .target),
    ("cs-uri-query", .query), ("cs_uri_query", .query), ("query_string", .query), ("querystr", .query), ("args", .query),
    ("url.query", .query), ("query", .query),
    ("method", .method), ("request_method", .method), ("requestmethod", .method), ("reqmethod", .method), ("verb", .method),
    ("clientrequestmethod", .method), ("cs-method", .method), ("cs_method", .method), ("httpmethod", .method),
    ("http_method", .method), (":method", .method),
    ("status", .status), ("status_code", .status), ("statuscode", .status), ("response_status", .status),
    ("response_code", .status), ("responsecode", .status), ("edgeresponsestatus", .status), ("downstreamstatus", .status),
    ("sc-status", .status), ("sc_status", .status), ("httpstatuscode", .status), ("http_status", .status),
    ("http_status_code", .status), ("code", .status),
    ("request", .request), ("request_line", .request), ("requestline", .request),
    ("log", .message), ("message", .message), ("msg", .message), ("textpayload", .message),
  ]

  private let urlName: [UInt8]?
  private(set) var target: UnsafeRawBufferPointer?
  private(set) var query: UnsafeRawBufferPointer?
  private(set) var message: UnsafeRawBufferPointer?
  private var method: UnsafeRawBufferPointer?
  private var status: UnsafeRawBufferPointer?
  private var isLine = false

  init(urlName: [UInt8]?) { self.urlName = urlName }

  /// Whether it has more of a request than its URL.
  var isLog: Bool { method != nil && status != nil || isLine && status != nil }

  /// Whether it is a successful GET, as far as it is known.
  var isGood: Bool {
    if let method, !method.elementsEqual("GET".utf8) { return false }
    return status.map { LogRequest.isGood($0[...]) } ?? true
  }

  /// Reads an object whose names follow `path`; returns false if no object comes next.
  mutating func read(_ cursor: inout JSONCursor, path: [UInt8]) throws(JSONError) -> Bool {
    var next = self
    defer { self = next }
    return try cursor.fields { name, cursor throws(JSONError) in
      let whole = path + name
      let child = whole + [UInt8(ascii: ".")]
      if cursor.current == UInt8(ascii: "{") {
        if path.count(where: { $0 == UInt8(ascii: ".") }) < Self.maximumDepth { _ = try next.read(&cursor, path: child) }
        return
      }
      try next.readField(whole, &cursor)
    }
  }

  private mutating func readField(_ name: [UInt8], _ cursor: inout JSONCursor) throws(JSONError) {
    if let urlName, name == urlName {
      target = try cursor.string()
      isLine = false
      return setLine()
    }
    guard let role = Self.role(of: name) else { return }
    guard let value = try cursor.scalar(skipsOthers: true), !value.isEmpty else { return }
    switch role {
    case .target where urlName == nil && (value.first == UInt8(ascii: "/") || value.starts(with: "http".utf8)):
      target = target ?? value
    case .query: query = query ?? value
    case .method where value.allSatisfy { 0x41...0x5a ~= $0 }: method = method ?? value
    case .status where LogRequest.isStatus(value[...]): status = status ?? value
    case .request where urlName == nil:
      if LogRequest.begins(value[...]) {
        target = value
        setLine()
      }
    case .message: message = message ?? value
    case .target, .request, .method, .status: break
    }
  }

  /// The chosen field may be a request line.
  private mutating func setLine() {
    guard let line = target, LogRequest.begins(line[...]) else { return }
    let space = line.firstIndex(of: UInt8(ascii: " ")) ?? line.count
    method = UnsafeRawBufferPointer(rebasing: line[..<space])
    target = LogRequest.target(of: line[...]) ?? UnsafeRawBufferPointer(rebasing: line[..<0])
    query = nil
    isLine = true
  }

  private static func role(of name: [UInt8]) -> Role? {
    let name = name.map { 0x41...0x5a ~= $0 ? $0 | 0x20 : $0 }
    return names.first { known in
      let count = known.name.utf8CodeUnitCount
      guard name.count >= count, name.count == count || name[name.count - count - 1] == UInt8(ascii: ".") else { return false }
      return name.suffix(count).elementsEqual(UnsafeBufferPointer(start: known.name.utf8Start, count: count))
    }?.role
  }
}

/// One line of an access log that quotes requests, or of Squid's own log.
///
/// The common and the combined format of Apache and nginx have a time, the request and its status; any fields may be before and
/// after, such as a virtual host, forwarded addresses, a user name with spaces or the prefix of a syslog. Load balancers (AWS,
/// HAProxy) write the status before the request. Servers escape quotes in values that visitors choose, so these can't
/// imitate a request.
///
///     192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /hero.jpg HTTP/1.1" 200 5120 "https://…" "Mozilla/5.0 …"
struct AccessLogLine {
  typealias Text = Slice<UnsafeRawBufferPointer>

  /// The target of a successful GET; nil for any other request.
  let target: UnsafeRawBufferPointer?

  init?(_ line: UnsafeRawBufferPointer) {
    var rest = line[...]
    while let open = rest.firstIndex(of: UInt8(ascii: "\"")) {
      guard let close = Self.closingQuote(in: line[(open + 1)...]) else { break }
      let request = line[(open + 1)..<close]
      let isRequest = LogRequest.begins(request)
      // A broken request is quoted, too, and follows the time.
      if isRequest || line[..<open].hasSuffix("] "), let status = Self.status(after: line[(close + 1)...]) {
        target = LogRequest.isGood(status) ? LogRequest.target(of: request) : nil
        return
      }
      if isRequest || request.first == UInt8(ascii: "-"), let status = Self.status(before: line[..<open]) {
        target = LogRequest.isGood(status) ? LogRequest.target(of: request) : nil
        return
      }
      rest = line[(close + 1)...]
    }
    guard let squid = Self.squidRequest(in: line) else { return nil }
    target = squid.isGood ? squid.target : nil
  }

  private static func closingQuote(in text: Text) -> Int? {
    var isEscaped = false
    return text.firstIndex { byte in
      if byte == UInt8(ascii: "\""), !isEscaped { return true }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      return false
    }
  }

  /// The status that follows a request directly.
  private static func status(after rest: Text) -> Text? {
    guard rest.first == UInt8(ascii: " ") else { return nil }
    let status = rest.dropFirst().prefix { $0 != UInt8(ascii: " ") }
    return LogRequest.isStatus(status) ? status : nil
  }

  /// The status that precedes a request: HAProxy writes it after several durations, AWS before the target's status and two sizes.
  private static func status(before text: Text) -> Text? {
    let fields = text.split(separator: UInt8(ascii: " "))
    if let times = fields.firstIndex(where: isDurations), times + 1 < fields.count, LogRequest.isStatus(fields[times + 1]) {
      return fields[times + 1]
    }
    let last = fields.suffix(4)
    guard last.count == 4, let status = last.first, LogRequest.isStatus(status), last.suffix(2).allSatisfy(LogRequest.isNumber)
    else { return nil }
    return status
  }

  /// Whether the field is like HAProxy's `10/0/30/69/109`; -1 means that there was no such phase.
  private static func isDurations(_ field: Text) -> Bool {
    field.count(where: { $0 == UInt8(ascii: "/") }) >= 3
      && field.allSatisfy { $0 &- UInt8(ascii: "0") < 10 || "/-+".utf8.contains($0) }
  }

  /// Squid's own format: `1286536309.450    327 192.0.2.7 TCP_MISS/200 4310 GET http://… - DIRECT/… image/jpeg`.
  private static func squidRequest(in line: UnsafeRawBufferPointer) -> (target: UnsafeRawBufferPointer?, isGood: Bool)? {
    let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 7)
    guard fields.count >= 7, fields[0].allSatisfy({ $0 == UInt8(ascii: ".") || $0 &- UInt8(ascii: "0") < 10 }),
      LogRequest.isNumber(fields[1]), LogRequest.isNumber(fields[4]), let slash = fields[3].lastIndex(of: UInt8(ascii: "/"))
    else { return nil }
    let status = fields[3][(slash + 1)...]
    guard LogRequest.isStatus(status) else { return nil }
    let isGet = fields[5].elementsEqual("GET".utf8)
    return (isGet ? UnsafeRawBufferPointer(rebasing: fields[6]) : nil, LogRequest.isGood(status))
  }
}

/// The parts of a logged request.
enum LogRequest {
  typealias Text = Slice<UnsafeRawBufferPointer>

  private static let maximumMethodBytes = 20

  /// Whether the text is a method and a target (RFC 9112 section 3), with the version or without it as in HTTP/0.9.
  static func begins(_ request: Text) -> Bool {
    let method = request.prefix { 0x41...0x5a ~= $0 || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    guard 3...maximumMethodBytes ~= method.count, request[method.endIndex...].first == UInt8(ascii: " ") else { return false }
    let target = request[(method.endIndex + 1)...]
    return target.first == UInt8(ascii: "/") || target.starts(with: "http".utf8) || hasVersion(target)
  }

  private static func hasVersion(_ text: Text) -> Bool {
    text.lastIndex(of: UInt8(ascii: " ")).map { text[$0...].starts(with: " HTTP/".utf8) } ?? false
  }

  /// The part of a GET between the method and the version, which HTTP/0.9 lacks. Spaces in it are the client's error.
  static func target(of request: Text) -> UnsafeRawBufferPointer? {
    guard request.starts(with: "GET ".utf8) else { return nil }
    let rest = request.dropFirst(4)
    let end = hasVersion(rest) ? rest.lastIndex(of: UInt8(ascii: " ")) : nil
    let target = UnsafeRawBufferPointer(rebasing: rest[..<(end ?? rest.endIndex)])
    return target.isEmpty ? nil : target
  }

  static func isNumber(_ text: Text) -> Bool { !text.isEmpty && text.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } }

  static func isStatus(_ text: Text) -> Bool { text.count == 3 && isNumber(text) }

  /// Whether that status means that the image exists.
  static func isGood(_ status: Text) -> Bool {
    status.elementsEqual("200".utf8) || status.elementsEqual("206".utf8) || status.elementsEqual("304".utf8)
  }
}

extension Slice<UnsafeRawBufferPointer> {
  fileprivate func hasSuffix(_ text: StaticString) -> Bool {
    count >= text.utf8CodeUnitCount
      && suffix(text.utf8CodeUnitCount).elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
