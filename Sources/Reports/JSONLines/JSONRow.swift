/// A row as a JSON object on a line; what is not known is left out.
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
}
