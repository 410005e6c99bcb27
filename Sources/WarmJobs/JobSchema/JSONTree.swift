internal import Reports

/// A JSON value (RFC 8259) whose objects keep their members in order.
indirect enum JSONTree: Sendable {
  typealias Member = (name: String, value: JSONTree)

  case string(String)
  /// A number as it is written.
  case number(String)
  case boolean(Bool)
  case array([JSONTree])
  case object([Member])

  static func strings(_ texts: some Sequence<String>) -> JSONTree { .array(texts.map { .string($0) }) }

  /// The value as text of several lines: a member a line, and a list of single values on one.
  var text: String {
    var output = OutputBuffer()
    write(to: &output, indent: "")
    return output.text + "\n"
  }

  private var isSingle: Bool {
    switch self {
    case .array(let items): items.isEmpty
    case .object(let members): members.isEmpty
    default: true
    }
  }

  private func write(to output: inout OutputBuffer, indent: String) {
    let inner = indent + "  "
    switch self {
    case .string(let text): output.appendJSON(text)
    case .number(let text): output.append(text)
    case .boolean(let value): output.append(value ? "true" : "false")
    case .array(let items) where items.allSatisfy(\.isSingle):
      output.append("[")
      for (index, item) in items.enumerated() {
        if index > 0 { output.append(", ") }
        item.write(to: &output, indent: inner)
      }
      output.append("]")
    case .array(let items):
      for (index, item) in items.enumerated() {
        output.append((index > 0 ? ",\n" : "[\n") + inner)
        item.write(to: &output, indent: inner)
      }
      output.append("\n\(indent)]")
    case .object(let members) where members.isEmpty: output.append("{}")
    case .object(let members):
      for (index, member) in members.enumerated() {
        output.append((index > 0 ? ",\n" : "{\n") + inner)
        output.appendJSON(member.name)
        output.append(": ")
        member.value.write(to: &output, indent: inner)
      }
      output.append("\n\(indent)}")
    }
  }
}
