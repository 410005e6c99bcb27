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
  /// The word in capitals that the server's error begins with, such as `NOSCRIPT`; nil where the server said nothing.
  public let code: String?
  /// One sentence: what failed, where (user and password masked), and what to do.
  public let description: String

  init(_ kind: Kind, _ what: String, at address: RedisAddress, advice: String) {
    self.kind = kind
    code = nil
    description = "Redis at \(address) \(what); \(advice)"
  }

  /// What the server's error text means; it is quoted, without user and password.
  public init(answer: String, from address: RedisAddress) {
    let code = Self.code(of: answer)
    self.code = String(code)
    let advice: String
    (kind, advice) = Self.meaning(of: code, answer: answer)
    description = "Redis at \(address) answered \"\(address.masked(answer).quotable)\"; \(advice)"
  }

  /// The word in capitals that says what is wrong; before Redis 7 an error within a script stands behind words about the script.
  private static func code(of answer: String) -> Substring {
    let first = answer.prefix { $0 != " " }
    guard answer.hasPrefix("ERR Error running script") else { return first }
    let inner = answer.split(separator: " ").dropFirst().lazy.map { $0.drop { $0 == "-" } }
    return inner.first { $0.count > 2 && $0.allSatisfy { $0.isASCII && $0.isUppercase } } ?? first
  }

  private static func meaning(of code: Substring, answer: String) -> (Kind, String) {
    switch code {
    case "LOADING": (.unavailable, "it is loading its data")
    case "OOM":
      (.unavailable, "it has no memory left: raise its maxmemory; nothing is removed before the job is done and reported on")
    case "BUSY": (.unavailable, "it is busy with a script")
    case "READONLY": (.unavailable, "it is a replica: give the address of the primary")
    case "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN", "NOREPLICAS": (.unavailable, "its cluster is not whole at the moment")
    case "MISCONF": (.unavailable, "it cannot write to its disk")
    case "NOAUTH", "WRONGPASS": (.refused, "check user and password in the address, or in REDISCLI_AUTH")
    case "NOPERM": (.refused, "its user lacks a permission (ACL)")
    case "MOVED", "ASK", "CROSSSLOT": (.refused, "give the address of the cluster's node that holds the key")
    case "DENIED": (.refused, "it admits local clients alone (protected-mode)")
    case "WRONGTYPE": (.refused, "a key is used by something else: choose another name or another database")
    case "ERR" where answer.contains("max number of clients"): (.unavailable, "raise its maxclients")
    // What a script may not do is told in this way.
    case "ERR" where answer.contains("can't run this command"): (.refused, "its user lacks a permission (ACL)")
    case "ERR" where answer.contains("unknown command"): (.refused, "Redis \(RedisConnection.requiredVersion) or later is needed")
    default: (.refused, "check what the server is set to")
    }
  }
}
