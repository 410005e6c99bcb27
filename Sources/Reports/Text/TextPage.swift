/// Lines of text for a terminal of some width: pieces with colours, whose columns are counted without them.
struct TextPage {
  /// What a colour underlines.
  enum Style: String {
    case plain = ""
    case failure = "\u{1B}[31m"
    case warning = "\u{1B}[33m"
    case detail = "\u{1B}[2m"
  }

  let width: Int
  let hasColor: Bool
  /// Whether all listed failures are shown, each with what makes its request again.
  let isVerbose: Bool
  private(set) var text = ""

  init(width: Int, hasColor: Bool, isVerbose: Bool = false) {
    self.width = width
    self.hasColor = hasColor
    self.isVerbose = isVerbose
  }

  /// The text in a style, where there are colours.
  func styled(_ text: String, _ style: Style) -> String {
    hasColor && style != .plain && !text.isEmpty ? style.rawValue + text + "\u{1B}[0m" : text
  }

  /// Ends a line; spaces at its end are dropped.
  mutating func line(_ line: String = "") {
    var line = line
    while line.last == " " { line.removeLast() }
    text += line + "\n"
  }

  /// Adds the lines of `other`.
  mutating func append(_ other: TextPage) { text += other.text }

  /// Writes clauses after a label, separated by `; `, with line breaks between words where the width ends, aligned after the label.
  mutating func paragraph(_ label: String, _ clauses: [String], indent: Int = 11, style: Style = .plain) {
    let words = clauses.joined(separator: "; ").split(separator: " ")
    var prefix = label.padded(to: indent)
    var current = ""
    for word in words {
      if !current.isEmpty, indent + columns(of: current) + 1 + columns(of: String(word)) > width {
        line(prefix + styled(current, style))
        prefix = String(repeating: " ", count: indent)
        current = ""
      }
      current += current.isEmpty ? String(word) : " " + word
    }
    line(prefix + styled(current, style))
  }
}
