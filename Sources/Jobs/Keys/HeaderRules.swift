import ImageDownloading
import Base

/// The headers that a job may set.
enum HeaderRules {
  /// Headers of the connection and of message framing (RFC 9110, sections 7.2, 7.6.1, 8.6, 10.1.1), and those that prewarm sets to
  /// interpret responses.
  private static let reserved: Set<String> = [
    "connection", "content-encoding", "content-length", "expect", "host", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "accept-encoding", "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "range",
  ]
  private static let keys = ["accept": "request.accept", "user-agent": "request.user-agent"]

  /// The lowercase names that `request.headers` or a variant may not set.
  static func refusedNames(ofVariant: Bool) -> [String] { (ofVariant ? [] : keys.keys.sorted()) + reserved.sorted() }

  /// Why `request.headers` or a variant may not set that header; nil if it may.
  static func problem(name: String, ofVariant: Bool) -> String? {
    let lowered = name.lowercased()
    if !ofVariant, let key = keys[lowered] { return "'\(name)' has its own key; use \(key)" }
    if reserved.contains(lowered) { return "prewarm sets '\(name)' itself; remove it" }
    if name.isEmpty || !name.utf8.allSatisfy(isTokenByte) { return "'\(name)' isn't the name of a header" }
    return nil
  }

  /// Whether the text has no control characters except tabs (RFC 9110, section 5.5).
  static func isValue(_ text: String) -> Bool { text.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F } }

  /// Whether tokens may contain the byte (RFC 9110, section 5.6.2).
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    byte.isLetter || byte.isDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}

/// Hosts, ports and proxies that libcurl accepts.
enum ConnectionRules {
  /// `HOST:PORT`, the host in normal form, IPv6 addresses in brackets; nil for any other text.
  static func hostAndPort(_ text: String) -> (host: String, port: Int)? {
    guard let target = connectTarget("::\(text)"), let host = target.targetHost, let port = target.targetPort else { return nil }
    return (host, port)
  }

  /// `HOST:PORT:CONNECT-HOST:CONNECT-PORT`, any of them empty; nil for any other text.
  static func connectTarget(_ text: String) -> DownloadOptions.ConnectTarget? {
    var isInBrackets = false
    let parts = text.split(omittingEmptySubsequences: false) { character in
      if character == "[" || character == "]" { isInBrackets = character == "[" }
      return character == ":" && !isInBrackets
    }
    guard parts.count == 4 else { return nil }
    let (hosts, ports) = ([parts[0], parts[2]].map(host), [parts[1], parts[3]].map(port))
    let isRead = [hosts[0] != nil, ports[0] != nil, hosts[1] != nil, ports[1] != nil]
    guard zip(parts, isRead).allSatisfy({ $0.isEmpty || $1 }), isRead[2] || isRead[3] else { return nil }
    let target = DownloadOptions.ConnectTarget(host: hosts[0], port: ports[0], targetHost: hosts[1], targetPort: ports[1])
    return isValid { $0.connectTo = [target] } ? target : nil
  }

  /// Whether the text is `smtp://` or `smtps://`, a host, and perhaps a port and a name for EHLO.
  static func isMailServer(_ text: String) -> Bool {
    guard let scheme = ["smtp://", "smtps://"].first(where: text.hasPrefix) else { return false }
    let parts = text.dropFirst(scheme.count).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let isName = parts.count == 1 || parts[1].utf8.allSatisfy { $0.isLetter || $0.isDigit || ".-".utf8.contains($0) }
    return isName && (hostAndPort(String(parts[0])) ?? hostAndPort("\(parts[0]):25")) != nil
  }

  /// Whether libcurl accepts the URL as a proxy: a host with an optional scheme, user and port.
  static func isProxy(_ text: String) -> Bool { isValid { $0.proxy = .url(text) } }

  private static func isValid(_ change: (inout DownloadOptions.Connection) -> Void) -> Bool {
    var connection = DownloadOptions.Connection()
    change(&connection)
    return connection.invalidReason == nil
  }

  private static func port(_ text: Substring) -> Int? {
    Quantities.count(String(text)).flatMap { (1...65_535).contains($0) ? $0 : nil }
  }

  private static func host(_ text: Substring) -> String? {
    HostPattern.normalForm(of: text).map { String(decoding: $0, as: UTF8.self) }
  }
}
