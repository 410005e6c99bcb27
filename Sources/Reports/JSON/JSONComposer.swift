/// Writes JSON objects and arrays into a buffer and puts the commas: keys come in the order in which they are written.
struct JSONComposer: ~Copyable {
  /// How the elements of an object or array are laid out.
  enum Layout {
    /// All on one line.
    case inline
    /// Each on a line of its own, indented by its depth.
    case lines
  }

  private(set) var output: OutputBuffer
  private var depth = 0
  private var layout = Layout.inline
  private var isFirst = true

  init(output: consuming OutputBuffer) { self.output = output }

  /// An object at the top or as the element of an array.
  mutating func object(_ layout: Layout = .inline, _ body: (inout JSONComposer) -> Void) {
    nest("{", "}", layout, body)
  }

  /// An object as the value of a key.
  mutating func object(_ key: StaticString, _ layout: Layout = .inline, _ body: (inout JSONComposer) -> Void) {
    write(key)
    nest("{", "}", layout, body)
  }

  /// An object as the value of a key that is known only at run time.
  mutating func object(key: String, _ body: (inout JSONComposer) -> Void) {
    separate()
    output.appendJSON(key)
    output.appendLiteral(": ")
    nest("{", "}", .inline, body)
  }

  /// An array as the value of a key, an element a call of `body`; `[]` where there is none.
  mutating func array<Element>(
    _ key: StaticString,
    _ elements: [Element],
    _ layout: Layout = .inline,
    _ body: (inout JSONComposer, Element) -> Void
  ) {
    write(key)
    nest("[", "]", elements.isEmpty ? .inline : layout) { json in
      for element in elements {
        json.separate()
        body(&json, element)
      }
    }
  }

  mutating func write(_ key: StaticString, _ value: String?) {
    write(key)
    if let value { output.appendJSON(value) } else { output.appendLiteral("null") }
  }

  mutating func write(_ key: StaticString, _ value: UInt64?) {
    write(key)
    if let value { output.append(decimal: value) } else { output.appendLiteral("null") }
  }

  mutating func write(_ key: StaticString, _ value: Bool) {
    write(key)
    output.append(value ? "true" : "false")
  }

  /// A number with up to `decimals` decimals.
  mutating func write(_ key: StaticString, _ value: Double?, decimals: Int) {
    write(key)
    if let value { output.append(value, decimals: decimals) } else { output.appendLiteral("null") }
  }

  mutating func writeNull(_ key: StaticString) {
    write(key)
    output.appendLiteral("null")
  }

  /// A key that is known only at run time.
  mutating func write(key: String, _ value: UInt64) {
    separate()
    output.appendJSON(key)
    output.appendLiteral(": ")
    output.append(decimal: value)
  }

  /// A key that is known only at run time, with a number of up to `decimals` decimals.
  mutating func write(key: String, _ value: Double, decimals: Int) {
    separate()
    output.appendJSON(key)
    output.appendLiteral(": ")
    output.append(value, decimals: decimals)
  }

  /// A key that is known only at run time, with a value that is JSON already.
  mutating func write(key: String, literal: String) {
    separate()
    output.appendJSON(key)
    output.appendLiteral(": ")
    output.append(literal)
  }

  /// The element of an array.
  mutating func element(_ value: String) { output.appendJSON(value) }

  /// The element of an array.
  mutating func element(_ value: UInt64) { output.append(decimal: value) }

  /// The element of an array that is an upper bound and a count.
  mutating func element(bound: Double, count: UInt64) {
    output.appendLiteral("[")
    output.append(bound, decimals: bound < 1 ? 4 : 2)
    output.appendLiteral(", ")
    output.append(decimal: count)
    output.appendLiteral("]")
  }

  private mutating func write(_ key: StaticString) {
    separate()
    output.appendLiteral("\"")
    output.appendLiteral(key)
    output.appendLiteral("\": ")
  }

  private mutating func separate() {
    if !isFirst { output.append(layout == .lines ? "," : ", ") }
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
    _ body: (inout JSONComposer) -> Void
  ) {
    let outerLayout = self.layout
    output.appendLiteral(opening)
    self.layout = layout
    isFirst = true
    depth += 1
    body(&self)
    depth -= 1
    if layout == .lines { startLine() }
    output.appendLiteral(closing)
    self.layout = outerLayout
    isFirst = false
  }
}
