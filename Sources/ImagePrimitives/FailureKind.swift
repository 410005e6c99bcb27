/// What kind of failure ended a request; the names are those of reports.
public enum FailureKind: UInt8, Sendable, CaseIterable, Hashable {
  // The network.
  case dns, connect, timeout, stalled, reset, truncated, hostDown, tls
  // The server's answer.
  case httpStatus, redirects, tooLarge, contentType, remoteCache, refusedAddress, robots
  // The bytes.
  case notAnImage, empty, undecodable, size, format, dimensions, animated, placeholder
  // The entry, the cache, ourselves.
  case invalidURL, cacheWrite, `internal`

  /// The name in reports and job files, such as `not-an-image`.
  public var name: String {
    switch self {
    case .dns: "dns"
    case .connect: "connect"
    case .timeout: "timeout"
    case .stalled: "stalled"
    case .reset: "reset"
    case .truncated: "truncated"
    case .hostDown: "host-down"
    case .tls: "tls"
    case .httpStatus: "http-status"
    case .redirects: "redirects"
    case .tooLarge: "too-large"
    case .contentType: "content-type"
    case .remoteCache: "remote-cache"
    case .refusedAddress: "refused-address"
    case .robots: "robots"
    case .notAnImage: "not-an-image"
    case .empty: "empty"
    case .undecodable: "undecodable"
    case .size: "size"
    case .format: "format"
    case .dimensions: "dimensions"
    case .animated: "animated"
    case .placeholder: "placeholder"
    case .invalidURL: "invalid-url"
    case .cacheWrite: "cache-write"
    case .internal: "internal"
    }
  }

  /// The kind of that name; nil for any other text.
  public init?(name: some StringProtocol) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}

/// Why one request failed: the kind, the server's status if it answered, and one sentence for a person.
public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind, which decides on retries and the blacklist.
  public var kind: FailureKind
  /// The HTTP status, where the server gave one.
  public var status: Int?
  /// Whether it may heal by itself, so that trying again makes sense.
  public var isTransient: Bool
  /// One sentence without secrets; text from outside in it is not escaped yet.
  public var message: String
  /// What it is by; nil if the message tells all that is known.
  public var reason: FailureReason?

  /// The sentence.
  public var description: String { message }

  /// A failure of that kind.
  public init(_ kind: FailureKind, status: Int? = nil, isTransient: Bool = false, message: String) {
    self.kind = kind
    self.status = status
    self.isTransient = isTransient
    self.message = message
  }

  /// A failure by that reason, worded for users of the library.
  public init(_ reason: FailureReason, status: Int? = nil, isTransient: Bool = false) {
    self.init(reason.kind, status: status, isTransient: isTransient, message: "\(reason)")
    self.reason = reason
  }
}

/// The phrases of HTTP statuses, for sentences that a person reads.
package enum HTTPPhrases {
  /// The phrase of a status; nil for one that is not registered (IANA HTTP Status Code Registry).
  package static func phrase(of status: Int) -> String? { phrases[status] }

  private static let phrases: [Int: String] = [
    200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content",
    206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
    300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 305: "Use Proxy",
    307: "Temporary Redirect", 308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout",
    409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
    414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
    421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
    426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
    451: "Unavailable For Legal Reasons",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 505: "HTTP Version Not Supported", 506: "Variant Also Negotiates", 507: "Insufficient Storage",
    508: "Loop Detected", 511: "Network Authentication Required",
  ]
}

extension StringProtocol {
  /// What a sentence quotes of it where a server wrote it: at most 200 characters, of which the last is "…" where it was cut.
  ///
  /// Characters are Unicode scalars here, so that it stays below a kilobyte, whatever it is made of.
  public var quotable: String {
    let maximumCharacters = 200
    guard !unicodeScalars.dropFirst(maximumCharacters).isEmpty else { return String(self) }
    var text = String.UnicodeScalarView(unicodeScalars.prefix(maximumCharacters - 1))
    text.append("…")
    return String(text)
  }
}
