/// A position in a text: line and column, both starting at 1; a column is a character (a Unicode scalar).
struct SourcePosition: Sendable, Comparable, Hashable {
  var line: Int
  var column: Int

  static func < (left: SourcePosition, right: SourcePosition) -> Bool {
    (left.line, left.column) < (right.line, right.column)
  }
}

/// A range of a text, from `start` up to but not including `end`.
struct SourceRange: Sendable, Hashable {
  var start: SourcePosition
  var end: SourcePosition
}

/// A text for showing errors in: its name and its lines.
final class SourceText: Sendable {
  /// The name in messages: a file's path as the user wrote it.
  let name: String
  /// The lines without their ends, which are those of YAML 1.1 (section 5.4): LF, CR, CRLF, NEL, LS and PS.
  let lines: [String]

  /// Splits UTF-8 text into lines; malformed bytes become U+FFFD. A byte order mark is removed from the first line.
  init(name: String, bytes: some Collection<UInt8>) {
    self.name = name
    lines = Self.split(String(decoding: bytes, as: UTF8.self))
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

  /// The number of bytes of well-formed UTF-8 that end a line there; 0 if none do.
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

struct YAMLLocation: Sendable {
  var source: SourceText
  var range: SourceRange

  /// `name:line:column` of its start.
  var label: String { "\(source.name):\(range.start.line):\(range.start.column)" }
}
