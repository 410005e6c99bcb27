import ImagePrimitives

/// A row of a JSON Lines report: an object on a line; what is not known is left out.
///
/// The file grows in place, so a killed run leaves its rows, the last of them perhaps cut.
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

extension RowJournal<JSONRow> {
  /// Opens a JSON Lines report, and makes the folders above it.
  convenience init(path: String) throws(ReportError) { self.init(file: try ReportFile(path: path, growsInPlace: true)) }
}
