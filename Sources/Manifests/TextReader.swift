/// Rows of a text manifest: a URL a line.
final class TextReader: RowReader {
  private let lines: LineReader

  init(_ buffer: InputBuffer) { lines = LineReader(buffer) }

  func readHeader() -> Bool { true }

  var mayNamePriority: Bool { false }

  func takePlainRows(into rows: inout [PlainRow], maximum: Int) {
    lines.takeWholeLines { line in
      let text = line.bytes.trimmed()
      if text.isEmpty || text[0] == UInt8(ascii: "#") { return true }
      rows.append(PlainRow(url: text, line: line.number, offset: line.offset + UInt64(line.bytes.offset(of: text))))
      return rows.count < maximum
    }
  }

  func next() -> RowStep {
    while true {
      switch lines.next() {
      case .line(let line):
        let text = line.bytes.trimmed()
        if text.isEmpty || text[0] == UInt8(ascii: "#") { continue }
        if line.isTooLong { return .row(.tooLong(text, line: line.number)) }
        return .row(Row(url: text, line: line.number, offset: line.offset + UInt64(line.bytes.offset(of: text))))
      case .wouldBlock: return .wouldBlock
      case .end: return .end
      }
    }
  }
}

extension Row {
  /// How much of a row that is no good is kept for reports.
  private static let shownBytes = 256

  /// A row longer than may be.
  static func tooLong(_ text: UnsafeRawBufferPointer, line: UInt64) -> Row {
    broken(text, line: line, problem: "the row is longer than \(InputBuffer.maximumRowBytes) bytes")
  }

  /// A row that breaks its format's rules.
  static func broken(_ text: UnsafeRawBufferPointer, line: UInt64, problem: String) -> Row {
    Row(url: UnsafeRawBufferPointer(rebasing: text.prefix(shownBytes)), line: line, problem: problem)
  }
}
