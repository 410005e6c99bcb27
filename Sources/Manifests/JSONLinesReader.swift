/// Rows of a JSON Lines manifest: an object with the chosen fields, or a string that is the URL, a line. Blank lines are left
/// out.
final class JSONLinesReader: RowReader {
  private let lines: LineReader
  private let columns: Manifest.Columns
  private let scratch = ScratchBytes()

  init(_ buffer: InputBuffer, columns: Manifest.Columns) {
    lines = LineReader(buffer)
    self.columns = columns
  }

  func readHeader() -> Bool { true }

  var mayNamePriority: Bool { true }

  func next() -> RowStep {
    while true {
      switch lines.next() {
      case .line(let line):
        let text = line.bytes.trimmed()
        if text.isEmpty { continue }
        if line.isTooLong { return .row(.tooLong(text, line: line.number)) }
        do throws(JSONProblem) {
          return .row(try row(of: line))
        } catch {
          return .row(.broken(text, line: line.number, problem: error.message))
        }
      case .wouldBlock: return .wouldBlock
      case .end: return .end
      }
    }
  }

  private func row(of line: LineReader.Line) throws(JSONProblem) -> Row {
    scratch.removeAll()
    var cursor = JSONCursor(line.bytes, scratch: scratch)
    var url: JSONCursor.Text?
    var priority: JSONCursor.Text?
    if let text = try cursor.string() {
      url = text
    } else if cursor.take(UInt8(ascii: "{")) {
      try readFields(&cursor, &url, &priority)
    } else {
      throw cursor.problem("the row is neither an object nor a string")
    }
    cursor.skipBlanks()
    guard cursor.index == line.bytes.count else { throw cursor.problem("something follows the row's value") }
    guard let url else { throw JSONProblem("the row has no field “\(columns.url)”") }
    let trimmed = url.bytes.trimmed()
    if trimmed.isEmpty { throw JSONProblem("the row's URL is empty") }
    let offset = url.isVerbatim ? line.offset + UInt64(line.bytes.offset(of: trimmed)) : nil
    return Row(url: trimmed, priority: priority?.bytes.trimmed(), line: line.number, offset: offset)
  }

  private func readFields(_ cursor: inout JSONCursor, _ url: inout JSONCursor.Text?, _ priority: inout JSONCursor.Text?)
    throws(JSONProblem)
  {
    if cursor.take(UInt8(ascii: "}")) { return }
    repeat {
      guard let name = try cursor.string() else { throw cursor.problem("a field's name is missing") }
      try cursor.expect(UInt8(ascii: ":"), "after a field's name")
      if name.bytes.elementsEqual(columns.url.utf8) {
        if url != nil { throw cursor.problem("the field “\(columns.url)” stands twice") }
        guard let text = try cursor.string() else { throw cursor.problem("the field “\(columns.url)” is no string") }
        url = text
      } else if name.bytes.elementsEqual(columns.priority.utf8) {
        if priority != nil { throw cursor.problem("the field “\(columns.priority)” stands twice") }
        priority = try cursor.string()
        if priority == nil { try skipNull(&cursor) }
      } else {
        try cursor.skipValue()
      }
    } while cursor.take(UInt8(ascii: ","))
    try cursor.expect(UInt8(ascii: "}"), "after a field")
  }

  private func skipNull(_ cursor: inout JSONCursor) throws(JSONProblem) {
    guard cursor.current == UInt8(ascii: "n") else { throw cursor.problem("the field “\(columns.priority)” is no string") }
    try cursor.skipValue()
  }
}
