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
    guard let place = text.firstRange(of: words) else { return nil }
    let quoted = text[place.upperBound...].drop { !$0.isQuote }.dropFirst()
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
    guard text.hasPrefix("ERR Error running script"), let place = text.ranges(of: "user_script:").last else { return text }
    return text[place.upperBound...].drop { $0.isNumber || $0 == " " || $0 == ":" || $0 == "-" }
  }
}

extension Character {
  fileprivate var isQuote: Bool { self == "'" || self == "`" }
}
