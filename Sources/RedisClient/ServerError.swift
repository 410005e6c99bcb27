#if Queue
import ImagePrimitives

/// The text of a server's error, taken apart: foreign input, of which only what is known goes into sentences.
///
/// What runs in a script is told with words about the script around it, which differ from version to version.
struct ServerError {
  /// For what the server has no word of its own, see ``code``.
  static let tooManyClients: Substring = "MAXCLIENTS"
  private static let forbidden: Substring = "NOPERM"

  /// The word in capitals that says what is wrong; two that Redis tells as a mere `ERR` are `MAXCLIENTS`, where it has as many
  /// clients as it admits, and `NOPERM`, where a script runs what its user may not.
  let code: Substring
  /// Code and sentence, without what the server says of the script.
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

  /// What stands between the first two quotes behind `words`, where it is the name of a command.
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
  /// What an error means, in words of our own.
  struct Meaning {
    let kind: RedisError.Kind
    /// What goes on, to be read behind the server's address.
    let what: String
    let advice: String

    fileprivate static func passing(_ what: String, _ advice: String) -> Meaning {
      Meaning(kind: .unavailable, what: what, advice: advice)
    }
    fileprivate static func lasting(_ what: String, _ advice: String) -> Meaning {
      Meaning(kind: .refused, what: what, advice: advice)
    }
  }

  /// Nil for an error that nothing is known of. What it takes from the server's text is a command's name, or why the system
  /// refused; not where that `isSecret`.
  func meaning(isSecret: (Substring) -> Bool) -> Meaning? {
    switch code {
    case "OOM":
      .passing(
        "has reached its memory limit and refuses writes (OOM)",
        "raise its maxmemory, or remove other data"
      )
    case "MISCONF":
      .passing(
        "cannot write to its disk\(diskError(isSecret)) and refuses writes (MISCONF)",
        "see its log, and make room on its disk"
      )
    case "LOADING": .passing("is loading its data (LOADING)", "nothing needs to be done")
    case "BUSY": .passing("is busy with somebody's script (BUSY)", "SCRIPT KILL would end that")
    case "READONLY": .passing("is a replica and takes no writes (READONLY)", "give the address of the primary")
    case "MASTERDOWN": .passing("is a replica without its primary (MASTERDOWN)", "give the address of the primary")
    case "NOREPLICAS":
      .passing(
        "has fewer replicas than it needs for a write (NOREPLICAS)",
        "see to its replicas, or to its min-replicas-to-write"
      )
    case "TRYAGAIN", "CLUSTERDOWN": .passing("belongs to a cluster that is not whole (\(code))", "see to its other nodes")
    case Self.tooManyClients: .passing("has as many clients as it admits", "raise its maxclients")
    case "NOAUTH": .lasting("asks for a password (NOAUTH)", "give it in REDISCLI_AUTH, or with its user in the address")
    case "WRONGPASS": .lasting("does not accept user and password (WRONGPASS)", "check them in the address, or in REDISCLI_AUTH")
    case "NOPERM": .lasting("forbids its user \(forbiddenThing(isSecret)) (NOPERM)", "give that user the permission (ACL)")
    case "DENIED": .lasting("admits local clients alone (DENIED)", "have it ask for a password, or set protected-mode there")
    case "MOVED", "ASK", "CROSSSLOT":
      .lasting("belongs to a cluster, and does not hold the key (\(code))", "give the address of the node that holds it")
    case "ERR": meaningOfSentence(isSecret)
    default: nil
    }
  }

  private func meaningOfSentence(_ isSecret: (Substring) -> Bool) -> Meaning? {
    if text.contains("without any password configured") || text.contains("but no password is set") {
      return .lasting("asks for no password", "take it out of the address, and out of REDISCLI_AUTH")
    }
    if text.contains("DB index is out of range") {
      return .lasting("has no database of that number", "take another, or raise its setting databases")
    }
    // Arguments that the server repeats may be secrets.
    guard text.hasPrefix("ERR unknown command") || text.hasPrefix("ERR Unknown Redis command") else { return nil }
    let name = command(behind: "unknown command").flatMap { isSecret($0) ? nil : "the command \($0)" }
    return .lasting(
      "does not know \(name ?? "a command")",
      "Redis \(RedisConnection.requiredVersion) or later is needed, with no command renamed"
    )
  }

  private func forbiddenThing(_ isSecret: (Substring) -> Bool) -> String {
    if let name = command(behind: "permissions to run the"), !isSecret(name) { return "the command \(name)" }
    return text.contains("key") ? "a key" : text.contains("channel") ? "a channel" : "a command"
  }

  /// Why the system refused, where that is told: `MISCONF Errors writing to the AOF file: No space left on device`.
  private func diskError(_ isSecret: (Substring) -> Bool) -> String {
    guard let match = text.firstRange(of: "AOF file: "), !isSecret(text[match.upperBound...]) else { return "" }
    return " (\(text[match.upperBound...].quotable))"
  }
}
#endif
