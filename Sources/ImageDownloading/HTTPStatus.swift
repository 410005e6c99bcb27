/// What statuses mean (RFC 9110, section 15).
enum HTTPStatus {
  /// Those that send the client elsewhere by `Location`.
  static let redirects: Set<Int> = [301, 302, 303, 307, 308]

  /// Whether another try may find another answer.
  static func isTransient(_ status: Int) -> Bool {
    status == 408 || status == 425 || status == 429 || (500...599).contains(status)
  }
}
