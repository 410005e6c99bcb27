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
    while true {
      switch lines.next() {
      case .line(let line):
        let text = line.bytes.trimmed()
        if text.isEmpty || text[0] == UInt8(ascii: "#") { continue }
        if line.isTooLong { return .row(.tooLong(text, line: line.number)) }
        if let problem = Self.problem(of: text) { return .row(.broken(text, line: line.number, problem: problem)) }
        return .row(Row(url: text, line: line.number))
      case .wouldBlock: return .wouldBlock
      case .end: return .end
      }
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

  /// A row that exceeds the maximum length.
  static func tooLong(_ text: UnsafeRawBufferPointer, line: UInt64) -> Row {
    broken(text, line: line, problem: "the row is longer than \(InputBuffer.maximumRowBytes) bytes")
  }

  /// A row that breaks its format's rules.
  static func broken(_ text: UnsafeRawBufferPointer, line: UInt64, problem: String) -> Row {
    Row(url: UnsafeRawBufferPointer(rebasing: text.prefix(shownBytes)), line: line, problem: problem)
  }
}

/// Rows of a list in the job file itself.
final class InlineReader: RowReader {
  private struct Entry {
    var range: Range<Int>
    var line: UInt64
  }

  private let storage: UnsafeMutableRawBufferPointer
  private let entries: [Entry]
  private var index = 0

  init(_ list: [URLList.InlineEntry]) {
    var bytes: [UInt8] = []
    entries = list.map { entry in
      let start = bytes.count
      bytes.append(contentsOf: entry.text.utf8)
      return Entry(range: start..<bytes.count, line: entry.line)
    }
    storage = .allocate(byteCount: bytes.count, alignment: 1)
    storage.copyBytes(from: bytes)
  }

  /// Creates the only row of a URL that leads to an image.
  convenience init(_ url: BaseURL) {
    self.init([URLList.InlineEntry(text: String(decoding: url.bytes, as: UTF8.self), line: 0)])
  }

  deinit { storage.deallocate() }

  func next() -> RowStep {
    guard index < entries.count else { return .end }
    let entry = entries[index]
    index += 1
    let text = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(storage)[entry.range]).trimmed()
    if text.count > InputBuffer.maximumRowBytes { return .row(.tooLong(text, line: entry.line)) }
    return .row(Row(url: text, line: entry.line))
  }
}
