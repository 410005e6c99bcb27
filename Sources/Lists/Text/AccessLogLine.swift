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

  /// Returns nil if the line has another form.
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
