/// Rows of a manifest whose first bytes decide its format; see ``ListBeginning``.
///
/// A file that isn't a list is refused before anything is requested.
final class DetectingReader: RowReader {
  /// How a manifest is read, besides its text.
  struct Rules {
    var manifest: String
    var columns: Manifest.Columns
    var xml: XMLListRules
    /// Whether a row per line is expected, each in JSON.
    var isJSONLines = false
    /// Whether it is at the URL of a robots.txt.
    var isRobots = false
    /// Whether its server says that it is a page.
    var isHTML = false
    /// Creates the rows of a page; nil if pages are refused, since servers often send one instead of a missing file.
    var page: (() -> PageRows)?
    /// Creates the only row of a URL that leads to an image; nil if that isn't a list.
    var image: (() -> InlineReader)?
    /// Creates the reader of an access log, which counts this file only.
    var accessLog: () -> AccessLogReader
  }

  private let buffer: InputBuffer
  private let rules: Rules
  private var reader: (any RowReader)?

  init(_ buffer: InputBuffer, _ rules: Rules) {
    self.buffer = buffer
    self.rules = rules
  }

  func readHeader() throws(ManifestError) -> Bool {
    if let reader { return try reader.readHeader() }
    guard let beginning = beginning() else { return false }
    // If reading failed, the reader reports it after its rows.
    let reader = try makeReader(beginning)
    self.reader = reader
    return try reader.readHeader()
  }

  /// Returns nil if more bytes have to arrive first.
  private func beginning() -> ListBeginning? {
    var isLast = false
    while true {
      let found =
        rules.isJSONLines
        ? ListBeginning.rows(buffer.bytes, isLast: isLast, rules.columns)
        : ListBeginning(buffer.bytes, isLast: isLast, isHTML: rules.isHTML, columns: rules.columns)
      if let found { return found }
      if isLast { return .text }
      if buffer.bytes.count > InputBuffer.maximumRowBytes {
        isLast = true
        continue
      }
      switch buffer.fill() {
      case .grown: break
      case .wouldBlock: return nil
      case .ended: isLast = true
      }
    }
  }

  private func makeReader(_ beginning: ListBeginning) throws(ManifestError) -> any RowReader {
    switch beginning {
    case .page:
      if let page = rules.page { return page() }
      let message = "the server sent an HTML page instead of a list; check its URL, or use 'page' for a page's images"
      throw ManifestError(manifest: rules.manifest, line: 1, message: message)
    case _ where rules.isRobots, .robots: return RobotsReader(buffer, manifest: rules.manifest)
    case .image(let format):
      if let image = rules.image { return image() }
      throw refusal("an image (\(format))", remedy: "name its URL to check it")
    case .other(let name, let remedy): throw refusal(name, remedy: remedy)
    case .xml: return XMLListReader(buffer, rules: rules.xml, manifest: rules.manifest)
    case .log:
      let log = rules.accessLog()
      try log.checkSite()
      return log
    case .csv: return CSVReader(buffer, delimiter: UInt8(ascii: ","), columns: rules.columns, manifest: rules.manifest)
    case .jsonLines: return JSONLinesReader(buffer, JSONRows(rules.columns))
    case .jsonDocument: return JSONDocumentReader(buffer, JSONRows(rules.columns), manifest: rules.manifest)
    case .text: return TextReader(buffer)
    }
  }

  private func refusal(_ name: String, remedy: String) -> ManifestError {
    ManifestError(manifest: rules.manifest, message: "it looks like \(name), not a list of URLs; \(remedy)")
  }

  var mayNamePriority: Bool { reader?.mayNamePriority ?? rules.isJSONLines }
  var hasRowsByBytes: Bool { reader?.hasRowsByBytes ?? true }
  var remarks: ReadingRemarks { reader?.remarks ?? ReadingRemarks() }

  func next() -> RowStep {
    guard let reader else { preconditionFailure("next() requires readHeader() first") }
    return reader.next()
  }

  func takePlainRows(into rows: inout [PlainRow], maximum: Int) { reader?.takePlainRows(into: &rows, maximum: maximum) }

  func checkEnd() throws(ManifestError) { try reader?.checkEnd() }
}
