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

  /// The sentence.
  public var description: String { message }

  /// A failure of that kind.
  public init(_ kind: FailureKind, status: Int? = nil, isTransient: Bool = false, message: String) {
    self.kind = kind
    self.status = status
    self.isTransient = isTransient
    self.message = message
  }
}
