/// A key that the command line sets, over the job file.
public struct JobOverride: Sendable {
  /// The dotted path of the key, such as `prefetch.order`; a number is an item of a list, counted from 0
  /// (`manifests.0.limit`).
  public var path: String
  /// The value as YAML, such as `lifo` or `[{json: report.json}]`.
  public var value: String
  /// What mistakes in it are called: the option with its key, such as `--set prefetch.order` or `--order`.
  public var origin: String
  /// The value as it was typed, for mistakes; nil where it is no part of ``origin`` and not worth showing.
  private var typed: String?
  /// Whether the value is a further item of the list at `path`, after those of the job file or of the default.
  public var appends: Bool
  /// Whether it makes way for what the job file itself says at `path`: a default of the command's own; false by default.
  public var yields = false

  /// A value written as YAML.
  public init(path: String, value: String, origin: String, appends: Bool = false) {
    self.path = path
    self.value = value
    self.origin = origin
    self.appends = appends
    typed = appends ? nil : value
  }

  /// A value that is text as it stands, whatever it would mean in YAML.
  public init(path: String, text: String, origin: String) {
    self.init(path: path, value: Self.quoted(text), origin: origin)
    typed = text
  }

  /// `KEY=VALUE` as `--set` takes it; nil where there is no `=` or no key.
  public init?(setting: String) {
    guard let equals = setting.firstIndex(of: "="), equals != setting.startIndex else { return nil }
    let path = String(setting[..<equals])
    self.init(path: path, value: String(setting[setting.index(after: equals)...]), origin: "--set \(path)")
  }

  /// YAML for exactly this text: in double quotes, and without variables.
  public static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "$": result += "$$"
      case "\u{0}"..<" ", "\u{7F}"..."\u{A0}", "\u{2028}", "\u{2029}", "\u{FEFF}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The option as it was typed: `--set prefetch.order=lifo`, `--order lifo`; a value that may hold a secret is not shown.
  package var label: String {
    guard let typed else { return origin }
    let isSecret =
      ["request", "request.auth"].contains(path) || typed.contains("@")
      || ["request.headers", "request.variants", "request.proxy", "request.auth.password-env"].contains { path.hasPrefix($0) }
    return "\(origin)\(origin.contains(" ") ? "=" : " ")\(isSecret ? "***" : typed)"
  }
}
