/// A line of a text with carets for below it, aligned on a terminal.
///
/// A long line is cut to a window around the carets; tabs and control characters are replaced by one cell each, and wide characters
/// (East Asian, emoji) count two cells.
struct SourceExcerpt: Sendable, Equatable {
  let lineNumber: Int
  /// The line, or the part of it around the carets.
  let line: String
  /// The spaces before the first caret.
  let padding: String
  /// `^`, then a `~` for each further cell of the range on its first line.
  let carets: String

  static let maximumWidthCells = 120

  /// Creates an excerpt at `location`; nil if the text has no such line.
  ///
  /// The `hidden` ranges (secrets) are shown as asterisks.
  init?(at location: YAMLLocation, hiding hidden: [SourceRange] = []) {
    let number = location.range.start.line
    guard location.source.lines.indices.contains(number - 1) else { return nil }
    lineNumber = number

    let hidden = hidden.filter { $0.start.line <= number && number <= $0.end.line }
    let scalars = Array(location.source.lines[number - 1].unicodeScalars)
    let first = min(location.range.start.column - 1, scalars.count)
    let end = location.range.end.line == number ? min(location.range.end.column - 1, scalars.count) : scalars.count

    // If the carets don't fit otherwise, the window starts a third of its width before them.
    let lead = scalars.prefix(min(max(first, end), Self.maximumWidthCells + 1)).lazy.map(\.displayWidth).reduce(0, +)
    let windowStart = lead > Self.maximumWidthCells ? max(0, first - Self.maximumWidthCells / 3) : 0
    var cells: [Unicode.Scalar] = []
    var width = 0
    for (offset, scalar) in scalars[windowStart...].enumerated() {
      let position = SourcePosition(line: number, column: windowStart + offset + 1)
      let cell = hidden.contains { $0.start <= position && position < $0.end } ? "*" : Self.visible(scalar)
      width += cell.displayWidth
      if width > Self.maximumWidthCells { break }
      cells.append(cell)
    }
    line =
      (windowStart > 0 ? "…" : "") + String(String.UnicodeScalarView(cells))
      + (windowStart + cells.count < scalars.count ? "…" : "")

    let caretStart = min(first - windowStart, cells.count)
    let caretEnd = max(caretStart, min(end - windowStart, cells.count))
    let before = cells[..<caretStart].lazy.map(\.displayWidth).reduce(windowStart > 0 ? 1 : 0, +)
    let under = cells[caretStart..<caretEnd].lazy.map(\.displayWidth).reduce(0, +)
    padding = String(repeating: " ", count: before)
    carets = "^" + String(repeating: "~", count: max(0, under - 1))
  }

  /// Text for a terminal, with U+FFFD instead of control characters.
  static func visible(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.isControl) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map(visible)))
  }

  /// The scalar itself, or its replacement if it is a control character.
  private static func visible(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    if scalar == "\t" { return " " }
    return scalar.isControl ? "\u{FFFD}" : scalar
  }
}

extension Unicode.Scalar {
  /// Whether a terminal may interpret it: control characters, and those that change the direction of text.
  var isControl: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
    default: false
    }
  }

  /// The number of terminal cells: two for wide characters (Unicode UAX #11), none for combining marks.
  var displayWidth: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE4F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
      0x20000...0x3FFFD:
      return 2
    default: return properties.isEmojiPresentation ? 2 : 1
    }
  }
}
