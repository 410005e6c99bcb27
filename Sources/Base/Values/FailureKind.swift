/// The kind of failure that ended a request, named as in reports.
public enum FailureKind: UInt8, Sendable, CaseIterable, Hashable {
  // The network.
  case dns, connect, timeout, stalled, reset, truncated, hostDown, tls
  // The server's response.
  case httpStatus, redirects, tooLarge, contentType, remoteCache, refusedAddress, robots
  // The bytes.
  case notAnImage, empty, undecodable, size, format, dimensions, animated, placeholder
  // The entry, the cache, prewarm itself.
  case invalidURL, cacheWrite, `internal`
  // The image differs from what its list says.
  case expectation

  /// The name in reports and job files, such as `not-an-image`.
  public var name: String { Self.names[Int(rawValue)] }
  private static let names = allCases.map { hyphenated("\($0)") }

  /// Whether this machine is to blame, so that nothing is known about the URL: visitors may well see its image.
  public var isFaultOfMachine: Bool { self == .cacheWrite || self == .internal }

  /// The kind with that name; nil for other text.
  public init?(name: some StringProtocol) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}

/// Why a request failed: the kind, the HTTP status if there is one, and a sentence for people.
public struct ImageFailure: Error, Sendable, Hashable, CustomStringConvertible {
  public var kind: FailureKind
  /// The HTTP status, if the server sent one.
  public var status: Int?
  /// Whether the failure may be temporary, so that a retry makes sense.
  public var isTransient: Bool
  /// One sentence without secrets; text from outside isn't escaped yet.
  public var message: String
  /// The structured reason; nil if the message has everything that is known.
  package var reason: FailureReason?

  public var description: String { message }

  public init(_ kind: FailureKind, status: Int? = nil, isTransient: Bool = false, message: String) {
    (self.kind, self.status, self.isTransient, self.message) = (kind, status, isTransient, message)
  }

  /// A failure with that reason, worded for users of the library.
  package init(_ reason: FailureReason, status: Int? = nil, isTransient: Bool = false) {
    self.init(reason.kind, status: status, isTransient: isTransient, message: "\(reason)")
    self.reason = reason
  }
}

/// A name of Swift in lower case, with hyphens between its words: `hitMemory` becomes `hit-memory`.
package func hyphenated(_ name: String) -> String {
  name.indices.reduce(into: "") { text, index in
    if index > name.startIndex, name[index].isUppercase, name[name.index(before: index)].isLowercase { text += "-" }
    text += name[index].lowercased()
  }
}

package enum HTTPPhrases {
  /// The phrase of a status; nil for one that isn't in the IANA HTTP Status Code Registry.
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
  /// The text shortened for quotation in a message, since a server may have written it: at most 200 characters, ending in "…" if
  /// shortened.
  ///
  /// Characters are Unicode scalars here, which keeps it below a kilobyte.
  public var quotable: String {
    let maximumCharacters = 200
    guard !unicodeScalars.dropFirst(maximumCharacters).isEmpty else { return String(self) }
    var text = String.UnicodeScalarView(unicodeScalars.prefix(maximumCharacters - 1))
    text.append("…")
    return String(text)
  }
}
