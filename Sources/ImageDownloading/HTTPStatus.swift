/// What statuses mean (RFC 9110, section 15).
enum HTTPStatus {
  /// Those that send the client elsewhere by `Location`.
  static let redirects: Set<Int> = [301, 302, 303, 307, 308]

  /// Whether the server says that it does not know the method, here or at all (RFC 9110, sections 15.5.6 and 15.6.2).
  static func refusesMethod(_ status: Int) -> Bool { status == 405 || status == 501 }

  /// Whether the server wants to be left alone for a while (RFC 6585, section 4; RFC 9110, section 15.6.4).
  static func asksForPause(_ status: Int) -> Bool { status == 429 || status == 503 }

  /// Whether another try may find another answer.
  static func isTransient(_ status: Int) -> Bool {
    status == 408 || status == 425 || status == 429 || (500...599).contains(status)
  }
}
