import Base

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
  /// Statuses with a `Location` to follow.
  static let redirects: Set<Int> = [301, 302, 303, 307, 308]

  /// Whether the server doesn't support the method, for this URL or at all (RFC 9110, sections 15.5.6 and 15.6.2).
  static func refusesMethod(_ status: Int) -> Bool { status == 405 || status == 501 }

  /// Whether a response to HEAD or to a request for a range may differ from that to a plain GET: for all but one, which is about earlier
  /// requests (RFC 6585, section 4).
  static func dependsOnMethod(_ status: Int) -> Bool { status != 429 }

  /// Whether the server asks for a pause (RFC 6585, section 4; RFC 9110, section 15.6.4).
  static func asksForPause(_ status: Int) -> Bool { status == 429 || status == 503 }

  /// Whether a retry may succeed.
  static func isTransient(_ status: Int) -> Bool {
    status == 408 || status == 425 || status == 429 || (500...599).contains(status)
  }
}
