/// A place in a text: line and column, both counted from 1; a column is a character (a Unicode scalar).
public struct SourcePosition: Sendable, Comparable, Hashable {
  /// From 1.
  public var line: Int
  /// From 1, in characters.
  public var column: Int

  /// A place in a text, counted from 1.
  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  /// Orders by where a reader meets them.
  public static func < (left: SourcePosition, right: SourcePosition) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }
}

/// A stretch of a text, from `start` up to but not including `end`.
public struct SourceRange: Sendable, Hashable {
  /// The first character.
  public var start: SourcePosition
  /// Just behind the last character.
  public var end: SourcePosition

  /// The stretch between two places.
  public init(start: SourcePosition, end: SourcePosition) {
    self.start = start
    self.end = end
  }
}

/// A text that mistakes are shown in: its name and its lines.
public final class SourceText: Sendable {
  /// What to call it: a file's path as the user wrote it.
  public let name: String
  /// The lines without their ends. Lines end where YAML 1.1 (section 5.4) ends them: LF, CR, CRLF, NEL, LS and PS.
  public let lines: [String]

  /// Splits UTF-8 text into lines; malformed bytes become U+FFFD. A byte order mark is not part of the first line.
  public init(name: String, bytes: some Collection<UInt8>) {
    self.name = name
    lines = Self.split(String(decoding: bytes, as: UTF8.self))
  }

  /// The text in a stretch, as it is written; lines are joined by a space.
  public func text(in range: SourceRange) -> String {
    var parts: [String] = []
    for number in range.start.line...max(range.start.line, range.end.line) where lines.indices.contains(number - 1) {
      let scalars = lines[number - 1].unicodeScalars
      let from = number == range.start.line ? range.start.column - 1 : 0
      let upTo = number == range.end.line ? range.end.column - 1 : scalars.count
      var part = String.UnicodeScalarView()
      part.append(contentsOf: scalars.dropFirst(from).prefix(max(0, upTo - from)))
      parts.append(String(part))
    }
    return parts.joined(separator: " ")
  }

  private static func split(_ text: String) -> [String] {
    var lines: [String] = []
    let bytes = Array(text.utf8)
    var start = bytes.starts(with: "\u{FEFF}".utf8) ? 3 : 0
    var index = start
    while index < bytes.count {
      let length = lengthOfLineEnd(in: bytes, at: index)
      if length > 0 {
        lines.append(String(decoding: bytes[start..<index], as: UTF8.self))
        start = index + length
      }
      index += max(1, length)
    }
    return lines + [String(decoding: bytes[start...], as: UTF8.self)]
  }

  /// How many bytes of well-formed UTF-8 end a line there; 0 if none do.
  @inline(__always)
  private static func lengthOfLineEnd(in bytes: [UInt8], at index: Int) -> Int {
    switch bytes[index] {
    case 0x0A: 1
    case 0x0D: index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
    // NEL, and LS and PS.
    case 0xC2: bytes[index + 1] == 0x85 ? 2 : 0
    case 0xE2: bytes[index + 1] == 0x80 && bytes[index + 2] & 0xFE == 0xA8 ? 3 : 0
    default: 0
    }
  }
}

/// A stretch of one text.
public struct SourceLocation: Sendable {
  /// The text.
  public var source: SourceText
  /// The stretch of it.
  public var range: SourceRange

  /// A stretch of `source`.
  public init(source: SourceText, range: SourceRange) {
    self.source = source
    self.range = range
  }

  /// The text that stands there, as written.
  public var text: String { source.text(in: range) }

  /// `name:line:column` of its start.
  public var label: String { "\(source.name):\(range.start.line):\(range.start.column)" }
}
