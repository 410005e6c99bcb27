import Base

/// The syntax of rows in a form. Numbers and `true` are the same in all.
protocol RowSyntax {
  /// The enclosing quote of text that needs no escape.
  static var quote: StaticString { get }

  /// Begins a column whose value is known.
  static func begin(_ column: RowColumn, in output: inout OutputBuffer)

  /// Skips a column whose value is unknown.
  static func skip(_ column: RowColumn, in output: inout OutputBuffer)

  static func append(text: UnsafeRawBufferPointer, to output: inout OutputBuffer)

  static func append(list: [String], to output: inout OutputBuffer)

  static func end(in output: inout OutputBuffer)

  /// Appends what precedes the rows.
  static func appendHeader(to output: inout OutputBuffer)

  /// Whether a line may say how the run of a shard ended.
  static var namesEnds: Bool { get }
}

extension RowSyntax {
  static func append(text: String, to output: inout OutputBuffer) {
    var text = text
    text.withUTF8 { append(text: UnsafeRawBufferPointer($0), to: &output) }
  }
}

/// A row as a JSON object on a line; unknown values are omitted.
enum JSONRow: RowSyntax {
  static var quote: StaticString { "\"" }

  @inline(__always)
  static func begin(_ column: RowColumn, in output: inout OutputBuffer) {
    output.appendLiteral(column == .url ? "{\"" : ",\"")
    output.appendLiteral(column.name)
    output.appendLiteral("\":")
  }

  @inline(__always)
  static func skip(_ column: RowColumn, in output: inout OutputBuffer) {}

  @inline(__always)
  static func append(text: UnsafeRawBufferPointer, to output: inout OutputBuffer) { output.appendJSON(text) }

  static func append(list: [String], to output: inout OutputBuffer) {
    output.append(UInt8(ascii: "["))
    for (index, text) in list.enumerated() {
      if index > 0 { output.append(UInt8(ascii: ",")) }
      output.appendJSON(text)
    }
    output.append(UInt8(ascii: "]"))
  }

  @inline(__always)
  static func end(in output: inout OutputBuffer) { output.appendLiteral("}\n") }

  static func appendHeader(to output: inout OutputBuffer) {}
  static var namesEnds: Bool { true }
}

/// A header row, then rows by RFC 4180 except for the line ends, which are line feeds: every reader accepts them, and simple ones get no
/// carriage return in the last column. Unknown values are empty fields, an apostrophe precedes fields that would be formulas, and warnings
/// of an entry are joined by `; `.
enum CSVRow: RowSyntax {
  static var quote: StaticString { "" }

  @inline(__always)
  static func begin(_ column: RowColumn, in output: inout OutputBuffer) {
    if column != .url { output.append(UInt8(ascii: ",")) }
  }

  @inline(__always)
  static func skip(_ column: RowColumn, in output: inout OutputBuffer) { begin(column, in: &output) }

  @inline(__always)
  static func append(text: UnsafeRawBufferPointer, to output: inout OutputBuffer) { output.appendCSV(text) }
  static func append(list: [String], to output: inout OutputBuffer) { append(text: list.joined(separator: "; "), to: &output) }

  @inline(__always)
  static func end(in output: inout OutputBuffer) { output.append(UInt8(ascii: "\n")) }
  static var namesEnds: Bool { false }

  static func appendHeader(to output: inout OutputBuffer) {
    for column in RowColumn.allCases {
      begin(column, in: &output)
      output.appendLiteral(column.name)
    }
    end(in: &output)
  }
}

extension OutputBuffer {
  /// Appends UTF-8 `bytes` as one field; invalid bytes become U+FFFD. An apostrophe precedes a field that a spreadsheet could
  /// take for a formula (OWASP, "CSV Injection"). A field with a comma, a quote or a line end is quoted. Other characters that
  /// are invisible or control a terminal appear as in ``escapedForTerminal(_:)``, since a file may be printed as is.
  mutating func appendCSV(_ bytes: UnsafeRawBufferPointer) {
    let isFormula = bytes.startsFormula
    guard endOfPlainText(in: bytes, from: 0, but: UInt8(ascii: ",")) < bytes.count else {
      if isFormula { append(UInt8(ascii: "'")) }
      return append(bytes)
    }
    let isQuoted = bytes.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 == 0x0A || $0 == 0x0D }
    if isQuoted { append(UInt8(ascii: "\"")) }
    if isFormula { append(UInt8(ascii: "'")) }
    var position = 0
    while position < bytes.count {
      let (value, length) = decodeScalar(bytes, at: position)
      switch value {
      case nil: appendLiteral("\u{FFFD}")
      case 0x22: appendLiteral("\"\"")
      case 0x09, 0x0A, 0x0D: append(bytes[position])
      case let value? where isHidden(value): append(visibleEscape(of: value))
      default: append(UnsafeRawBufferPointer(rebasing: bytes[position..<position + length]))
      }
      position += length
    }
    if isQuoted { append(UInt8(ascii: "\"")) }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether a spreadsheet might evaluate this field: it starts with `=`, `+`, `-` or `@`, also in full width or after white
  /// space. A single dash, which means standard input, is safe.
  @inline(__always)
  fileprivate var startsFormula: Bool {
    guard let first else { return false }
    switch first {
    case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "@"), 0x09, 0x0A, 0x0D: return true
    case UInt8(ascii: "-"): return count > 1
    case 0xEF: return [0xFF0B, 0xFF0D, 0xFF1D, 0xFF20].contains(decodeScalar(self, at: 0).value)
    default: return false
    }
  }
}

/// The columns of a row, in their order; unknown values are omitted or empty, depending on the form.
enum RowColumn: CaseIterable {
  case url, manifest, line, priority, outcome, kind, status, bytes, format, width, height, attempts, duration, remoteCache
  case message, storedBytes, shared, variant, edge, finalURL, contentType, bodyHash, warnings
  case transient, known, profile, orientation, gps, dpi
  case id, element, attribute, pages, lint
  case transformedBytes, transformedFormat, transformedWidth, transformedHeight, transformedHash, shard, repeated, recovered,
    inGrace, warned

  // A switch rather than raw values, which are looked up at run time: 7 % of a row's instructions.
  @inline(__always)
  var name: StaticString {
    switch self {
    case .url: "url"
    case .manifest: "manifest"
    case .line: "line"
    case .priority: "priority"
    case .outcome: "outcome"
    case .kind: "kind"
    case .status: "status"
    case .bytes: "bytes"
    case .format: "format"
    case .width: "width"
    case .height: "height"
    case .attempts: "attempts"
    case .duration: "duration_ms"
    case .remoteCache: "remote_cache"
    case .message: "message"
    case .storedBytes: "stored_bytes"
    case .shared: "shared"
    case .variant: "variant"
    case .edge: "edge"
    case .finalURL: "final_url"
    case .contentType: "content_type"
    case .bodyHash: "body_hash"
    case .warnings: "warnings"
    case .transient: "transient"
    case .known: "known"
    case .profile: "profile"
    case .orientation: "orientation"
    case .gps: "gps"
    case .dpi: "dpi"
    case .id: "id"
    case .element: "element"
    case .attribute: "attribute"
    case .pages: "pages"
    case .lint: "lint"
    case .transformedBytes: "transformed_bytes"
    case .transformedFormat: "transformed_format"
    case .transformedWidth: "transformed_width"
    case .transformedHeight: "transformed_height"
    case .transformedHash: "transformed_hash"
    case .shard: "shard"
    case .repeated: "repeated"
    case .recovered: "recovered"
    case .inGrace: "in_grace"
    case .warned: "warned"
    }
  }
}
