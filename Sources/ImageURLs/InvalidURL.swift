/// Why a text is not a URL that can be fetched.
public struct InvalidURL: Error, Sendable, Hashable {
  /// The rule that the text breaks.
  public enum Reason: Sendable, Hashable {
    case empty, tooLong, controlCharacter, relative, scheme, credentials, host, port
  }

  /// The rule that the text breaks.
  public let reason: Reason
  /// One sentence on it, which repeats nothing of the text and so holds no secret.
  public let message: String

  init(_ reason: Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }
}
