import Base

/// Rows of a text list: one URL per line.
///
/// A line that can't be a URL is a row with a problem; see ``TextLine``.
final class TextReader: RowReader {
  private let lines: LineReader

  init(_ buffer: InputBuffer) { lines = LineReader(buffer) }

  func takePlainRows(into rows: inout [PlainRow], maximum: Int) {
    lines.takeWholeLines { line in
      let text = line.bytes.trimmed()
      if text.isEmpty || text[0] == UInt8(ascii: "#") { return .more }
      if Self.problem(of: text) != nil { return .none }
      rows.append(PlainRow(url: text, line: line.number))
      return rows.count < maximum ? .more : .last
    }
  }

  func next() -> RowStep {
    lines.step { line in
      let text = line.bytes.trimmed()
      if text.isEmpty || text[0] == UInt8(ascii: "#") { return nil }
      if line.isTooLong { return .row(.tooLong(text, line: line.number)) }
      if let problem = Self.problem(of: text) { return .row(.broken(text, line: line.number, problem: problem)) }
      return .row(Row(url: text, line: line.number))
    }
  }

  /// Most lines are absolute URLs without a blank or control character.
  @inline(__always)
  private static func problem(of text: UnsafeRawBufferPointer) -> String? {
    // The minimum takes many bytes per instruction.
    var least = UInt8.max
    for byte in text { least = min(least, byte) }
    return least > 0x20 && TextLine.startsAsURL(text) ? nil : TextLine(text).problem
  }
}

extension Row {
  /// The number of bytes of an invalid row that are kept for reports.
  private static let shownBytes = 256

  static let tooLongProblem = "the row is longer than \(InputBuffer.maximumRowBytes) bytes"

  /// A row that exceeds the maximum length.
  static func tooLong(_ text: UnsafeRawBufferPointer, line: UInt64) -> Row { broken(text, line: line, problem: tooLongProblem) }

  /// A row that breaks its format's rules.
  static func broken(_ text: UnsafeRawBufferPointer, line: UInt64, problem: String) -> Row {
    Row(url: UnsafeRawBufferPointer(rebasing: text.prefix(shownBytes)), line: line, problem: problem)
  }
}

/// Rows of a list in the job file itself.
final class InlineReader: RowReader {
  private let texts = GrowingBytes()
  private var entries: ArraySlice<(range: Range<Int>, line: UInt64)> = []

  init(_ list: [URLList.InlineEntry]) {
    for entry in list {
      let start = texts.count
      entry.text.utf8.withRawBytes { texts.append($0) }
      entries.append((start..<texts.count, entry.line))
    }
  }

  /// Creates the only row of a URL that leads to an image.
  convenience init(_ url: BaseURL) { self.init([URLList.InlineEntry(text: String(decoding: url.bytes, as: UTF8.self), line: 0)]) }

  func next() -> RowStep {
    guard let entry = entries.popFirst() else { return .end }
    let text = texts[entry.range].trimmed()
    if text.count > InputBuffer.maximumRowBytes { return .row(.tooLong(text, line: entry.line)) }
    return .row(Row(url: text, line: entry.line))
  }
}
