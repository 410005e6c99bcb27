/// Writes JSON to a buffer and inserts the commas; keys keep the order of the calls.
package struct JSONWriter: ~Copyable {
  /// How the elements of an object or array are laid out.
  package enum Layout {
    /// All on one line.
    case inline
    /// All on one line without white space.
    case compact
    /// One line each, indented by depth.
    case lines
  }

  package private(set) var output: OutputBuffer
  private var depth = 0
  private var layout: Layout
  private var isFirst = true

  /// - Parameter layout: `compact` applies to everything inside, too.
  package init(output: consuming OutputBuffer, layout: Layout = .inline) {
    self.output = output
    self.layout = layout
  }

  package mutating func value(_ text: String) { output.appendJSON(text) }

  package mutating func value(_ number: UInt64) { output.append(decimal: number) }

  mutating func value(_ number: Double, decimals: Int) { output.append(number, decimals: decimals) }

  /// Writes a value that is JSON already.
  package mutating func value(literal: String) { output.append(literal) }

  package mutating func object(_ layout: Layout = .inline, _ body: (inout JSONWriter) -> Void) {
    nest("{", "}", layout, body)
  }

  /// Writes an array with one element per call of `body`; `[]` if there is none.
  package mutating func array<Element>(
    _ elements: [Element],
    _ layout: Layout = .inline,
    _ body: (inout JSONWriter, Element) -> Void
  ) {
    nest("[", "]", elements.isEmpty && layout == .lines ? .inline : layout) { json in
      for element in elements {
        json.separate()
        body(&json, element)
      }
    }
  }

  /// Writes the key of the next value.
  mutating func write(_ key: StaticString) {
    separate()
    output.appendLiteral("\"")
    output.appendLiteral(key)
    output.append(layout == .compact ? "\":" : "\": ")
  }

  /// The same for a key that is known at run time only.
  package mutating func write(key: String) {
    separate()
    output.appendJSON(key)
    output.append(layout == .compact ? ":" : ": ")
  }

  private mutating func separate() {
    if !isFirst { output.append(layout == .inline ? ", " : ",") }
    isFirst = false
    if layout == .lines { startLine() }
  }

  private mutating func startLine() {
    output.appendLiteral("\n")
    for _ in 0..<depth { output.appendLiteral("  ") }
  }

  private mutating func nest(
    _ opening: StaticString,
    _ closing: StaticString,
    _ layout: Layout,
    _ body: (inout JSONWriter) -> Void
  ) {
    let outerLayout = self.layout
    output.appendLiteral(opening)
    self.layout = outerLayout == .compact ? .compact : layout
    isFirst = true
    depth += 1
    body(&self)
    depth -= 1
    if self.layout == .lines, !isFirst { startLine() }
    output.appendLiteral(closing)
    self.layout = outerLayout
    isFirst = false
  }
}

extension OutputBuffer {
  /// Appends a JSON string of UTF-8 `bytes` with its quotes (RFC 8259, section 7); bytes that aren't UTF-8 become U+FFFD.
  ///
  /// Unlike the RFC, this also escapes invisible characters and those that control a terminal, since a report may be printed as is.
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

  package mutating func appendJSON(_ text: String) {
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
