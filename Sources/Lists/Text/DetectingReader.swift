/// Rows of a list whose first bytes decide its format; see ``ListBeginning``.
///
/// A file that isn't a list is refused before anything is requested; if the format is given, one that is known to be binary.
final class DetectingReader: RowReader {
  private let buffer: InputBuffer
  private let readers: RowReaders
  private var reader: (any RowReader)?
  private var columns: URLList.Columns { readers.manifest.columns }
  /// Whether a row per line is expected, each in JSON.
  private var isJSONLines: Bool { readers.format == .jsonl }

  init(_ readers: RowReaders) { (self.readers, buffer) = (readers, readers.buffer) }

  func readHeader() throws(ListError) -> Bool {
    if let reader { return try reader.readHeader() }
    if readers.format != .auto {
      if case .wouldBlock = buffer.find({ BinaryList.mayFollow($0) ? nil : true }) { return false }
      if let binary = BinaryList(buffer.bytes) { throw refusal(binary.name, remedy: binary.remedy) }
    }
    if let given = readers.given() {
      reader = given
      return try given.readHeader()
    }
    guard let beginning = beginning() else { return false }
    // If reading failed, the reader reports it after its rows.
    let reader = try makeReader(beginning)
    self.reader = reader
    return try reader.readHeader()
  }

  /// Returns nil if more bytes have to arrive first.
  private func beginning() -> ListBeginning? {
    switch buffer.find({ beginning($0, isLast: false) }) {
    case .found(let beginning): beginning
    case .none: beginning(buffer.bytes, isLast: true) ?? .text
    case .wouldBlock: nil
    }
  }

  private func beginning(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> ListBeginning? {
    isJSONLines
      ? ListBeginning.rows(bytes, isLast: isLast, columns)
      : ListBeginning(bytes, isLast: isLast, isHTML: readers.isHTML, columns: columns)
  }

  private func makeReader(_ beginning: ListBeginning) throws(ListError) -> any RowReader {
    let name = readers.file.name
    switch beginning {
    case .page:
      if readers.acceptsPages { return readers.page() }
      let message = "the server sent an HTML page instead of a list; check its URL, or use 'page' for a page's images"
      throw ListError(manifest: name, line: 1, message: message)
    case _ where readers.file.isRobots, .robots: return RobotsReader(buffer, manifest: name)
    case .image(let format):
      if let url = readers.imageURL { return InlineReader(url) }
      throw refusal("an image (\(format))", remedy: "name its URL to check it")
    case .other(let name, let remedy): throw refusal(name, remedy: remedy)
    case .xml: return readers.xml()
    case .log:
      let log = readers.detectedLog()
      try log.checkSite()
      return log
    case .csv: return readers.csv(",")
    case .jsonLines, .jsonDocument:
      let values = JSONRows(columns)
      let isDocument = if case .jsonDocument = beginning { true } else { false }
      let rows: any RowReader =
        isDocument ? JSONDocumentReader(buffer, values, manifest: name) : JSONLinesReader(buffer, values)
      return JSONFirstRows(rows, values, columns: columns, manifest: name)
    case .text: return TextReader(buffer)
    }
  }

  private func refusal(_ name: String, remedy: String) -> ListError {
    // A name that a shell would read differently isn't part of a command.
    let list = readers.file.name
    let isPlain = list.utf8.allSatisfy { ($0 | 32) &- 97 < 26 || $0 &- 48 < 10 || "._/-".utf8.contains($0) }
    let remedy = isPlain && list != "stdin" ? remedy.replacing("FILE", with: list) : remedy
    return ListError(manifest: list, message: "it looks like \(name), not a list of URLs; \(remedy)")
  }

  var mayNamePriority: Bool { reader?.mayNamePriority ?? isJSONLines }
  var hasRowsByBytes: Bool { reader?.hasRowsByBytes ?? true }
  var isSitemap: Bool { reader?.isSitemap ?? false }
  var remarks: ReadingRemarks { reader?.remarks ?? ReadingRemarks() }

  func next() -> RowStep {
    guard let reader else { preconditionFailure("next() requires readHeader() first") }
    return reader.next()
  }

  func takePlainRows(into rows: inout [PlainRow], maximum: Int) { reader?.takePlainRows(into: &rows, maximum: maximum) }

  func checkEnd() throws(ListError) { try reader?.checkEnd() }
}
