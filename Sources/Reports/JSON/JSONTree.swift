/// A JSON value to write (RFC 8259), whose objects keep the order of their members.
package enum JSONTree: Sendable {
  package typealias Member = (name: String, value: JSONTree)

  case string(String)
  /// A number, or null, as it is written.
  case number(String)
  case boolean(Bool)
  case array([JSONTree])
  /// An array that has a line for each element in a report.
  case rows([JSONTree])
  case object([Member])

  static let null = JSONTree.number("null")

  package static func strings(_ texts: some Sequence<String>) -> JSONTree { .array(texts.map { .string($0) }) }

  /// An object of the members that aren't nil, sorted by name.
  package static func sorted(_ members: KeyValuePairs<String, (any JSONTreeConvertible)?>) -> JSONTree {
    .object(members.compactMap { name, value in value.map { (name, $0.jsonTree) } }.sorted { $0.name < $1.name })
  }

  /// The value as text of several lines: one member per line, and a list of scalars on one line.
  package var text: String { text(.pretty) + "\n" }

  /// The value on one line, without white space.
  package var line: String { text(.compact) }

  /// The object as a report: a line for each member, and for each element of ``rows(_:)``.
  var report: String { text(.report) }

  private enum Style {
    case pretty, compact, report
  }

  private func text(_ style: Style) -> String {
    var output = OutputBuffer(capacity: 1024)
    write(to: &output, style, depth: 0)
    return output.text
  }

  private var isSingle: Bool {
    switch self {
    case .array(let items), .rows(let items): items.isEmpty
    case .object(let members): members.isEmpty
    default: true
    }
  }

  private func write(to output: inout OutputBuffer, _ style: Style, depth: Int) {
    switch self {
    case .string(let text): output.appendJSON(text)
    case .number(let text): output.append(text)
    case .boolean(let value): output.append(value ? "true" : "false")
    case .array(let items):
      let hasLines = style == .pretty && !items.allSatisfy(\.isSingle)
      Self.nest("[", items, "]", hasLines, to: &output, style, depth) { $1.write(to: &$0, style, depth: depth + 1) }
    case .rows(let items):
      Self.nest("[", items, "]", style == .report, to: &output, style, depth) { $1.write(to: &$0, style, depth: depth + 1) }
    case .object(let members):
      Self.nest("{", members, "}", style == .pretty || style == .report && depth == 0, to: &output, style, depth) {
        $0.appendJSON($1.name)
        $0.append(style == .compact ? ":" : ": ")
        $1.value.write(to: &$0, style, depth: depth + 1)
      }
    }
  }

  private static func nest<Element>(
    _ opening: StaticString,
    _ elements: [Element],
    _ closing: StaticString,
    _ hasLines: Bool,
    to output: inout OutputBuffer,
    _ style: Style,
    _ depth: Int,
    _ write: (inout OutputBuffer, Element) -> Void
  ) {
    let lineStart = hasLines && !elements.isEmpty ? "\n" + String(repeating: "  ", count: depth) : nil
    output.appendLiteral(opening)
    for (index, element) in elements.enumerated() {
      if index > 0 { output.append(hasLines || style == .compact ? "," : ", ") }
      if let lineStart { output.append(lineStart + "  ") }
      write(&output, element)
    }
    if let lineStart { output.append(lineStart) }
    output.appendLiteral(closing)
  }
}

/// A value in a row that is printed as JSON.
package protocol JSONTreeConvertible { var jsonTree: JSONTree { get } }

extension JSONTreeConvertible where Self: BinaryInteger {
  package var jsonTree: JSONTree { .number("\(self)") }
}

extension Int: JSONTreeConvertible {}
extension Int64: JSONTreeConvertible {}
extension UInt16: JSONTreeConvertible {}
extension UInt32: JSONTreeConvertible {}
extension UInt64: JSONTreeConvertible {}

extension Double: JSONTreeConvertible {
  /// JSON has no infinity (RFC 8259, section 6).
  package var jsonTree: JSONTree { isFinite ? .number("\(self)") : .null }
}

extension String: JSONTreeConvertible {
  package var jsonTree: JSONTree { .string(self) }
}

extension Bool: JSONTreeConvertible {
  package var jsonTree: JSONTree { .boolean(self) }
}

extension Array: JSONTreeConvertible where Element: JSONTreeConvertible {
  package var jsonTree: JSONTree { .array(map(\.jsonTree)) }
}

extension JSONTree: JSONTreeConvertible {
  package var jsonTree: JSONTree { self }
}

extension OutputBuffer {
  /// Appends a JSON string of UTF-8 `bytes` with its quotes (RFC 8259, section 7); bytes that aren't UTF-8 become U+FFFD. Unlike
  /// the RFC, this also escapes invisible characters and those that control a terminal, since a report may be printed as is.
  mutating func appendJSON(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count + 2)
    append(UInt8(ascii: "\""))
    var clean = 0
    var position = 0
    while true {
      position = endOfPlainText(in: bytes, from: position, but: UInt8(ascii: "\\"))
      guard position < bytes.count else { break }
      let (value, length) = decodeScalar(bytes, at: position)
      if let value, value >= 0x80, !isHidden(value) {
        position += length
        continue
      }
      append(UnsafeRawBufferPointer(rebasing: bytes[clean..<position]))
      appendJSONEscape(value ?? 0xFFFD)
      position += length
      clean = position
    }
    append(UnsafeRawBufferPointer(rebasing: bytes[clean...]))
    append(UInt8(ascii: "\""))
  }

  mutating func appendJSON(_ text: String) {
    var text = text
    text.withUTF8 { appendJSON(UnsafeRawBufferPointer($0)) }
  }

  fileprivate mutating func appendJSONEscape(_ scalar: UInt32) {
    switch scalar {
    case 0x22: appendLiteral("\\\"")
    case 0x5C: appendLiteral("\\\\")
    case 0x0A: appendLiteral("\\n")
    case 0x0D: appendLiteral("\\r")
    case 0x09: appendLiteral("\\t")
    case 0x1_0000...:
      appendJSONUnit(0xD800 + (scalar - 0x1_0000) >> 10)
      appendJSONUnit(0xDC00 + (scalar - 0x1_0000) & 0x3FF)
    default: appendJSONUnit(scalar)
    }
  }

  private mutating func appendJSONUnit(_ unit: UInt32) {
    let digits = String(unit, radix: 16)
    appendLiteral("\\u")
    for _ in digits.utf8.count..<4 { append(UInt8(ascii: "0")) }
    append(digits)
  }
}
