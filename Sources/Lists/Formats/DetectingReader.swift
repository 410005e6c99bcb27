/// Rows of a manifest whose first bytes decide its format; see ``ListBeginning``.
///
/// A file that isn't a list is refused before anything is requested; if the format is given, one that is known to be binary.
final class DetectingReader: RowReader {
  /// How a manifest is read, besides its text.
  struct Rules {
    var manifest: String
    var columns: Manifest.Columns
    var xml: XMLListRules
    /// Creates the reader of a given format; nil if the first bytes decide.
    var given: (() -> any RowReader)?
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
    if rules.given != nil || rules.isJSONLines {
      guard hasBegun() else { return false }
      if let binary = BinaryList(buffer.bytes) { throw refusal(binary.name, remedy: binary.remedy) }
    }
    if let given = rules.given {
      let reader = given()
      self.reader = reader
      return try reader.readHeader()
    }
    guard let beginning = beginning() else { return false }
    // If reading failed, the reader reports it after its rows.
    let reader = try makeReader(beginning)
    self.reader = reader
    return try reader.readHeader()
  }

  /// Reads enough to know whether it is binary; returns false if more bytes have to arrive first.
  private func hasBegun() -> Bool {
    while BinaryList.mayFollow(buffer.bytes) {
      switch buffer.fill() {
      case .grown: break
      case .wouldBlock: return false
      case .ended: return true
      }
    }
    return true
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
    case .jsonLines, .jsonDocument:
      let values = JSONRows(rules.columns)
      let isDocument = if case .jsonDocument = beginning { true } else { false }
      let rows: any RowReader =
        isDocument ? JSONDocumentReader(buffer, values, manifest: rules.manifest) : JSONLinesReader(buffer, values)
      return JSONFirstRows(rows, values, columns: rules.columns, manifest: rules.manifest)
    case .text: return TextReader(buffer)
    }
  }

  private func refusal(_ name: String, remedy: String) -> ManifestError {
    // A name that a shell would read differently isn't part of a command.
    let isPlain = rules.manifest.utf8.allSatisfy { ($0 | 32) &- 97 < 26 || $0 &- 48 < 10 || "._/-".utf8.contains($0) }
    let remedy = isPlain && rules.manifest != "stdin" ? remedy.replacing("FILE", with: rules.manifest) : remedy
    return ManifestError(manifest: rules.manifest, message: "it looks like \(name), not a list of URLs; \(remedy)")
  }

  var mayNamePriority: Bool { reader?.mayNamePriority ?? rules.isJSONLines }
  var hasRowsByBytes: Bool { reader?.hasRowsByBytes ?? true }
  var isSitemap: Bool { reader?.isSitemap ?? false }
  var remarks: ReadingRemarks { reader?.remarks ?? ReadingRemarks() }

  func next() -> RowStep {
    guard let reader else { preconditionFailure("next() requires readHeader() first") }
    return reader.next()
  }

  func takePlainRows(into rows: inout [PlainRow], maximum: Int) { reader?.takePlainRows(into: &rows, maximum: maximum) }

  func checkEnd() throws(ManifestError) { try reader?.checkEnd() }
}
