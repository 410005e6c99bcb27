import Testing

/// The screen of a terminal after some output: as much of ECMA-48 as a progress bar needs.
struct Screen {
  /// The lines, without colours and trailing spaces.
  private(set) var lines: [String] = [""]
  /// The width of the widest line so far, in characters.
  private(set) var widest = 0
  /// Colours and other attributes of characters that were set (SGR).
  private(set) var attributes: [String] = []
  private var row = 0
  private var column = 0

  init(_ output: String) {
    var rest = Array(output.unicodeScalars)[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\u{1B}": takeSequence(&rest)
      case "\r": column = 0
      case "\n":
        row += 1
        if row == lines.count { lines.append("") }
      default: put(Character(scalar))
      }
    }
  }

  var text: String { lines.joined(separator: "\n") }

  private mutating func put(_ character: Character) {
    var line = Array(lines[row])
    while line.count <= column { line.append(" ") }
    line[column] = character
    lines[row] = String(line)
    column += 1
    widest = max(widest, column)
  }

  /// A control sequence: `[`, parameters, and a final byte from 0x40 on (ECMA-48, 5.4).
  private mutating func takeSequence(_ rest: inout ArraySlice<Unicode.Scalar>) {
    // The text so far may end within one.
    guard let first = rest.popFirst() else { return }
    guard first == "[" else {
      Issue.record("an escape that isn't a control sequence")
      return
    }
    var parameters = ""
    while let scalar = rest.popFirst() {
      guard scalar.value >= 0x40 else {
        parameters.unicodeScalars.append(scalar)
        continue
      }
      switch scalar {
      case "A": row = max(0, row - (Int(parameters) ?? 1))
      case "J": eraseBelow()
      case "K": lines[row] = String(lines[row].prefix(column))
      case "m": attributes.append(parameters)
      default: Issue.record("an unknown control sequence: \(parameters)\(scalar)")
      }
      return
    }
  }

  private mutating func eraseBelow() {
    lines[row] = String(lines[row].prefix(column))
    lines.removeSubrange((row + 1)...)
  }
}
