#if Queue
import ImagePrimitives

/// Why a Redis server gave no result.
public struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What a caller can do about an error.
  public enum Kind: Sendable, Hashable {
    /// The server can't be reached or can't serve now: a later retry may succeed. A command that was sent may have been executed.
    case unavailable
    /// The server rejects the command permanently, unless its configuration or the address changes.
    case refused
  }

  /// What a caller can do about it.
  public let kind: Kind
  /// The upper-case word that the server's error begins with, such as `NOSCRIPT`; `MAXCLIENTS` if it has reached its limit of clients,
  /// for which it has no word. Nil if the server sent no error.
  public let code: String?
  /// One sentence: what failed, where (with user and password masked), and what to do.
  public let description: String

  init(_ kind: Kind, _ what: String, at address: RedisAddress, advice: String) {
    self.init(kind, code: nil, what, at: address, advice: advice)
  }

  private init(_ kind: Kind, code: Substring?, _ what: String, at address: RedisAddress, advice: String) {
    self.kind = kind
    self.code = code.map(String.init)
    description = "Redis at \(address) \(what); \(advice)"
  }

  /// Creates the error for the server's error text. Only unknown texts are quoted, unless they contain user or password.
  public init(answer: String, from address: RedisAddress) {
    let error = ServerError(answer)
    self.init(error, from: address) {
      guard !address.hasSecret(in: error.text) else {
        return "replied with an error that isn't shown, as its text contains the user or the password"
      }
      return "replied '\(error.text.quotable)'"
    }
  }

  /// Creates the error for a reply to `AUTH`: that may repeat the arguments, and is never quoted.
  init(replyToAUTH reply: String, from address: RedisAddress) {
    self.init(ServerError(reply), from: address) { "rejects the authentication (AUTH)" }
  }

  private init(_ error: ServerError, from address: RedisAddress, _ quoted: () -> String) {
    if let meaning = error.meaning(isSecret: { address.hasSecret(in: $0) }) {
      self.init(meaning.kind, code: error.code, meaning.what, at: address, advice: meaning.advice)
    } else {
      let isKeyInUse = error.code == "WRONGTYPE"
      let advice =
        isKeyInUse ? "another program uses a key: choose another name or database" : "check the server's configuration"
      self.init(.refused, code: error.code, quoted(), at: address, advice: advice)
    }
  }

  /// Whether a later retry may succeed. A replica that was never a primary is a wrong address. One that has accepted writes was demoted:
  /// clients will be redirected, or it becomes the primary again.
  ///
  /// - Parameter hasWritten: whether the caller has written there before.
  public func passes(hasWritten: Bool) -> Bool { kind == .unavailable && (hasWritten || code != "READONLY") }
}
#endif
