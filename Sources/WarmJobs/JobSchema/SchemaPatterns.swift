/// Regular expressions (ECMA-262, as JSON Schema has them) for what the job file writes as text.
///
/// They are wide where the exact rule is none of a regular language, such as a host in Unicode or the longest duration.
enum SchemaPatterns {
  /// Fits any text, so that it need not be asked.
  static let any = ""

  /// A variable somewhere in a text: the beginning of `${NAME}` behind an even number of dollars.
  static let variable = #"(?:^|[^$])(?:\$\$)*\$\{[A-Za-z_]"#

  static let namespace = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
  static let rate = "(?=[0-9.]*[1-9])\(number)/[smh]"
  static let percentage = #"0*(?:100(?:\.0{1,6})?|[0-9]{1,2}(?:\.[0-9]{1,6})?)%"#
  static let hostAndPort = "(?:\(host)):\(port)"
  static let connectTarget = "(?!.*::$)(?:\(host))?:(?:\(port))?:(?:\(host))?:(?:\(port))?"

  static func size(from minimum: Int) -> String { aboveZero(minimum > 0) + number + "(?:B|[kKMGT]B|[KMGT]iB)?" }

  static func pixels(from minimum: Int) -> String { aboveZero(minimum > 0) + number + "(?:[KMG]P)?" }

  static func duration(from minimum: Duration) -> String { aboveZero(minimum > .zero) + number + "(?:ms|s|m|h|d)" }

  /// A text of that form.
  static func text(_ form: JobTextForm) -> String {
    switch form {
    case .free, .entry, .pattern: any
    case .jobName: "[a-z0-9][a-z0-9-]{0,99}"
    case .namespace: namespace
    case .path: #"[^\x00]+"#
    case .webURL: #"\s*[Hh][Tt][Tt][Pp][Ss]?:[/\\]*[^/\\?#].*"#
    case .headerValue: "\(visible)*"
    case .parameter: "[!$-%'-;?-~]+"
    case .proxyURL: #"(?:[A-Za-z][A-Za-z0-9]*://)?[!-.0-~]+/?"#
    case .username: #"[^:\x00-\x08\x0A-\x1F\x7F]+"#
    }
  }

  /// The name of a header field (RFC 9110, section 5.6.2) that a job may send, whatever the case of its letters.
  static func headerName(ofVariant: Bool) -> String {
    let refused = HeaderRules.refusedNames(ofVariant: ofVariant).map { name in
      name.map { $0.isLetter ? "[\($0.uppercased())\($0)]" : String($0) }.joined()
    }
    return "^(?!(?:\(refused.joined(separator: "|")))$)[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
  }

  private static let number = #"[0-9]+(?:\.[0-9]{1,6})?"#
  private static let port = "0*[1-9][0-9]{0,4}"
  private static let host = #"\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]]+"#
  /// No control character but tabs.
  private static let visible = #"[^\x00-\x08\x0A-\x1F\x7F]"#

  private static func aboveZero(_ isAsked: Bool) -> String { isAsked ? "(?=[0-9.]*[1-9])" : "" }
}
