/// `${NAME}`, `${NAME:-default}` and `$$` in a text of a job file.
///
/// As in a shell, `:-` also replaces an empty variable. A dollar before anything else is a dollar. Values aren't expanded again.
struct EnvironmentExpansion {
  /// The text with variables filled in; it may contain secrets.
  private(set) var text = ""
  private(set) var hasVariables = false
  /// The invalid parts of the text, each with a message.
  private(set) var problems: [(part: String, message: String)] = []

  init(_ written: String, environment: [String: String]) {
    var rest = written[...]
    while let dollar = rest.firstIndex(of: "$") {
      text += rest[..<dollar]
      let next = rest.index(after: dollar)
      switch next < rest.endIndex ? rest[next] : " " {
      case "$":
        text += "$"
        rest = rest[rest.index(after: next)...]
      case "{":
        guard let end = rest[next...].firstIndex(of: "}") else {
          problems.append((String(rest[dollar...]), "unclosed '${'; write ${NAME}, or $$ for a dollar sign"))
          return
        }
        expand(rest[rest.index(after: next)..<end], environment: environment)
        rest = rest[rest.index(after: end)...]
      default:
        text += "$"
        rest = rest[next...]
      }
    }
    text += rest
  }

  private mutating func expand(_ reference: Substring, environment: [String: String]) {
    hasVariables = true
    let name = reference.prefix { $0 != ":" }
    let fallback = reference[name.endIndex...]
    guard let first = name.utf8.first, !first.isDigit, name.utf8.allSatisfy({ $0.isLetter || $0.isDigit || $0 == 0x5F }),
      fallback.isEmpty || fallback.hasPrefix(":-")
    else {
      problems.append(
        ("${\(reference)}", "'${\(reference)}' isn't a variable; write ${NAME} or ${NAME:-default}, or $$ for a dollar sign")
      )
      return
    }
    let value = environment[String(name)]
    if fallback.isEmpty {
      guard let value else {
        problems.append(("${\(reference)}", "environment variable '\(name)' isn't set; set it, or add a default: ${\(name):-…}"))
        return
      }
      text += value
    } else if let value, !value.isEmpty {
      text += value
    } else {
      text += fallback.dropFirst(2)
    }
  }
}
