#if Queue
import ImagePrimitives

/// The parsed text of a server's error: untrusted, so only known parts go into messages.
///
/// Errors of commands in a script contain further words about the script, which differ between versions.
struct ServerError {
  /// Not a word of the server's; see ``code``.
  static let tooManyClients: Substring = "MAXCLIENTS"
  private static let forbidden: Substring = "NOPERM"

  /// The upper-case word of the error. For two errors that Redis reports as `ERR` it is `MAXCLIENTS`, if the limit of clients is
  /// reached, or `NOPERM`, if a script runs a command that its user may not.
  let code: Substring
  /// Code and sentence, without the words about the script.
  let text: Substring

  init(_ answer: String) {
    let text = Self.withoutScript(answer)
    self.text = text
    let first = text.prefix { $0 != " " }
    code =
      if first != "ERR" {
        first
      } else if text.contains("max number of clients") {
        Self.tooManyClients
      } else if text.contains("The user executing the script can't") || text.contains("ACL failure in script") {
        Self.forbidden
      } else {
        first
      }
  }

  /// The text between the first two quotes after `words`, if it is the name of a command.
  func command(behind words: String) -> Substring? {
    guard let match = text.firstRange(of: words) else { return nil }
    let quoted = text[match.upperBound...].drop { !$0.isQuote }.dropFirst()
    let name = quoted.prefix { $0.isASCII && ($0.isLetter || $0 == "|" || $0 == "-") }
    return name.isEmpty || quoted.dropFirst(name.count).first?.isQuote != true ? nil : name
  }

  /// Redis 6.2: `ERR Error running script (call to f_SHA): @user_script:1: @user_script: 1: -OOM command not allowed`;
  /// from 7.0: `OOM command not allowed script: SHA, on @user_script:1.`
  private static func withoutScript(_ answer: String) -> Substring {
    var text = Substring(answer)
    if let end = text.ranges(of: " script: ").last, text[end.upperBound...].contains(", on @user_script") {
      text = text[..<end.lowerBound]
    }
    guard text.hasPrefix("ERR Error running script"), let match = text.ranges(of: "user_script:").last else { return text }
    return text[match.upperBound...].drop { $0.isNumber || $0 == " " || $0 == ":" || $0 == "-" }
  }
}

extension Character {
  fileprivate var isQuote: Bool { self == "'" || self == "`" }
}

extension ServerError {
  /// The meaning of an error, in our own words.
  struct Meaning {
    let kind: RedisError.Kind
    /// The predicate of a sentence, after the server's address.
    let what: String
    let advice: String

    fileprivate static func passing(_ what: String, _ advice: String) -> Meaning {
      Meaning(kind: .unavailable, what: what, advice: advice)
    }
    fileprivate static func lasting(_ what: String, _ advice: String) -> Meaning {
      Meaning(kind: .refused, what: what, advice: advice)
    }
  }

  /// Nil for an unknown error. From the server's text it takes only a command's name or the system's reason, and not if that
  /// `isSecret`.
  func meaning(isSecret: (Substring) -> Bool) -> Meaning? {
    switch code {
    case "OOM":
      .passing(
        "has reached its memory limit and rejects writes (OOM)",
        "raise its maxmemory or remove other data"
      )
    case "MISCONF":
      .passing(
        "cannot write to its disk\(diskError(isSecret)) and rejects writes (MISCONF)",
        "check its log and free disk space there"
      )
    case "LOADING": .passing("is loading its data (LOADING)", "wait until it is ready")
    case "BUSY": .passing("is busy with a script (BUSY)", "wait, or end the script with SCRIPT KILL")
    case "READONLY": .passing("is a replica and rejects writes (READONLY)", "use the address of the primary")
    case "MASTERDOWN": .passing("is a replica without its primary (MASTERDOWN)", "use the address of the primary")
    case "NOREPLICAS":
      .passing(
        "has fewer replicas than it needs for a write (NOREPLICAS)",
        "check its replicas and its min-replicas-to-write"
      )
    case "TRYAGAIN", "CLUSTERDOWN": .passing("belongs to a cluster that is incomplete (\(code))", "check its other nodes")
    case Self.tooManyClients: .passing("has reached its limit of clients", "raise its maxclients")
    case "NOAUTH": .lasting("requires a password (NOAUTH)", "set REDISCLI_AUTH, or put user and password into the address")
    case "WRONGPASS": .lasting("rejects user and password (WRONGPASS)", "check them in the address or in REDISCLI_AUTH")
    case "NOPERM": .lasting("forbids its user \(forbiddenThing(isSecret)) (NOPERM)", "grant that user the permission (ACL)")
    case "DENIED": .lasting("accepts local clients only (DENIED)", "set a password or protected-mode in its configuration")
    case "MOVED", "ASK", "CROSSSLOT":
      .lasting("belongs to a cluster and doesn't have the key (\(code))", "use the address of the node that has it")
    case "ERR": meaningOfSentence(isSecret)
    default: nil
    }
  }

  private func meaningOfSentence(_ isSecret: (Substring) -> Bool) -> Meaning? {
    if text.contains("without any password configured") || text.contains("but no password is set") {
      return .lasting("requires no password", "remove it from the address and from REDISCLI_AUTH")
    }
    if text.contains("DB index is out of range") {
      return .lasting("has no database with that number", "choose another or raise its setting databases")
    }
    // Arguments that the server repeats may be secret.
    guard text.hasPrefix("ERR unknown command") || text.hasPrefix("ERR Unknown Redis command") else { return nil }
    let name = command(behind: "unknown command").flatMap { isSecret($0) ? nil : "the command \($0)" }
    return .lasting(
      "doesn't know \(name ?? "a command")",
      "upgrade it to \(RedisConnection.requiredVersion) or later, without renamed commands"
    )
  }

  private func forbiddenThing(_ isSecret: (Substring) -> Bool) -> String {
    if let name = command(behind: "permissions to run the"), !isSecret(name) { return "the command \(name)" }
    return text.contains("key") ? "a key" : text.contains("channel") ? "a channel" : "a command"
  }

  /// The system's reason, if the server reports it: `MISCONF Errors writing to the AOF file: No space left on device`.
  private func diskError(_ isSecret: (Substring) -> Bool) -> String {
    guard let match = text.firstRange(of: "AOF file: "), !isSecret(text[match.upperBound...]) else { return "" }
    return " (\(text[match.upperBound...].quotable))"
  }
}
#endif
