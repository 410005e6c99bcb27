/// A JSON value to write (RFC 8259), whose objects keep the order of their members.
package indirect enum JSONTree: Sendable {
  package typealias Member = (name: String, value: JSONTree)

  case string(String)
  /// A number as it is written.
  case number(String)
  case boolean(Bool)
  case array([JSONTree])
  case object([Member])

  package static func strings(_ texts: some Sequence<String>) -> JSONTree { .array(texts.map { .string($0) }) }

  /// An object of the members that aren't nil, sorted by name.
  package static func sorted(_ members: KeyValuePairs<String, (any JSONTreeConvertible)?>) -> JSONTree {
    .object(members.compactMap { name, value in value.map { (name, $0.jsonTree) } }.sorted { $0.name < $1.name })
  }

  /// The value as text of several lines: one member per line, and a list of scalars on one line.
  package var text: String { text(.inline) + "\n" }

  /// The value on one line, without white space.
  package var line: String { text(.compact) }

  private func text(_ layout: JSONWriter.Layout) -> String {
    var json = JSONWriter(output: OutputBuffer(), layout: layout)
    write(to: &json)
    return json.output.text
  }

  private var isSingle: Bool {
    switch self {
    case .array(let items): items.isEmpty
    case .object(let members): members.isEmpty
    default: true
    }
  }

  private func write(to json: inout JSONWriter) {
    switch self {
    case .string(let text): json.value(text)
    case .number(let text): json.value(literal: text)
    case .boolean(let value): json.value(literal: value ? "true" : "false")
    case .array(let items):
      json.array(items, items.allSatisfy(\.isSingle) ? .inline : .lines) { $1.write(to: &$0) }
    case .object(let members):
      json.object(.lines) { json in
        for (name, value) in members {
          json.write(key: name)
          value.write(to: &json)
        }
      }
    }
  }
}

/// A value in a row that is printed as JSON.
package protocol JSONTreeConvertible {
  var jsonTree: JSONTree { get }
}

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
  package var jsonTree: JSONTree { .number(isFinite ? "\(self)" : "null") }
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
