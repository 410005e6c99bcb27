#if Queue
import ImagePrimitives

/// What stands between a caller and an answer of a Redis server.
public struct RedisError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What a caller may do about it.
  public enum Kind: Sendable, Hashable {
    /// The server cannot be reached or cannot serve now: to wait and to try again helps. A command that was sent may have been
    /// done.
    case unavailable
    /// The server will not do it, today or tomorrow, unless somebody changes it or the address.
    case refused
  }

  /// What a caller may do about it.
  public let kind: Kind
  /// The word in capitals that the server's error begins with, such as `NOSCRIPT`; `MAXCLIENTS` where it has as many clients as
  /// it admits, for which it has no word. Nil where the server said nothing.
  public let code: String?
  /// One sentence: what failed, where (user and password masked), and what to do.
  public let description: String

  init(_ kind: Kind, _ what: String, at address: RedisAddress, advice: String) {
    self.init(kind, code: nil, what, at: address, advice: advice)
  }

  private init(_ kind: Kind, code: Substring?, _ what: String, at address: RedisAddress, advice: String) {
    self.kind = kind
    self.code = code.map(String.init)
    description = "Redis at \(address) \(what); \(advice)"
  }

  /// What the server's error text means. Only one that nothing is known of is quoted, and that not where user or password stand
  /// in it.
  public init(answer: String, from address: RedisAddress) {
    let error = ServerError(answer)
    self.init(error, from: address) {
      guard !address.hasSecret(in: error.text) else {
        return "answered with an error that is not shown, as its text holds user or password"
      }
      return "answered \"\(error.text.quotable)\""
    }
  }

  /// What the server's error text means where it answers `AUTH`: that may repeat what it was asked with, and is never quoted.
  init(answerToAUTH answer: String, from address: RedisAddress) {
    self.init(ServerError(answer), from: address) { "lets nobody sign in (AUTH)" }
  }

  private init(_ error: ServerError, from address: RedisAddress, _ quoted: () -> String) {
    if let meaning = error.meaning(isSecret: { address.hasSecret(in: $0) }) {
      self.init(meaning.kind, code: error.code, meaning.what, at: address, advice: meaning.advice)
    } else {
      let isTaken = error.code == "WRONGTYPE"
      let advice =
        isTaken ? "a key is used by something else: choose another name or another database" : "check what the server is set to"
      self.init(.refused, code: error.code, quoted(), at: address, advice: advice)
    }
  }

  /// Whether to wait and to try again helps. A replica that was never a primary is a wrong address; one that has taken writes has
  /// lost its part to another server, and clients are led there, or it gets it back.
  ///
  /// - Parameter hasWritten: whether the caller has written there before.
  public func passes(hasWritten: Bool) -> Bool { kind == .unavailable && (hasWritten || code != "READONLY") }
}
#endif
