import Base

/// Rows of a list whose format, or else its first bytes, decide how it is read; see ``ListBeginning``.
///
/// A file that isn't a list is refused before anything is requested; if the format is given, one that is known to be binary.
final class DetectingReader: RowReader {
  private let buffer: InputBuffer
  private let index: Int
  private let file: ListFile
  private let list: URLList
  private let opener: ListOpener
  private let fetched: FetchedList?
  /// The URL against which the URLs of a page are resolved.
  private let url: BaseURL?
  /// The format of the file; `auto` if its first bytes decide.
  private let format: URLList.Format
  private var reader: (any RowReader)?

  private var contentType: String? { fetched?.contentType }
  private var isOfAnyKind: Bool { list.isOfAnyKind && file.kind == .listed }
  /// Whether a row per line is expected, each in JSON.
  private var isJSONLines: Bool { format == .jsonl }

  init(
    _ buffer: InputBuffer,
    _ index: Int,
    _ file: ListFile,
    of list: URLList,
    _ opener: ListOpener,
    fetched: FetchedList?,
    url: BaseURL?
  ) {
    (self.buffer, self.index, self.file, self.list) = (buffer, index, file, list)
    (self.opener, self.fetched, self.url) = (opener, fetched, url)
    format = list.format(of: file, contentType: fetched?.contentType)
  }

  func readHeader() throws(InputError) -> Bool {
    if let reader { return try reader.readHeader() }
    if format != .auto, format != .page {
      if case .wouldBlock = buffer.find({ BinaryList.mayFollow($0) ? nil : true }) { return false }
      if let binary = BinaryList(buffer.bytes) { throw refusal(binary.name, remedy: binary.remedy) }
    }
    var reader = given()
    if reader == nil {
      guard let beginning = beginning() else { return false }
      // If reading failed, the reader reports it after its rows.
      reader = try makeReader(beginning)
    }
    self.reader = reader
    return try reader?.readHeader() ?? false
  }

  // MARK: Readers

  /// The reader of the format; nil if the first bytes decide.
  private func given() -> (any RowReader)? {
    switch format {
    case .auto, .jsonl: nil
    case .text: TextReader(buffer)
    case .csv: csv(",")
    case .tsv: csv("\t")
    case .sitemap, .feed: xml()
    case .page: page()
    case .combined: AccessLogReader(buffer, file, index: index, of: list, counter: opener.counter(of: file.list))
    }
  }

  private func csv(_ delimiter: Unicode.Scalar) -> CSVReader {
    CSVReader(buffer, delimiter: UInt8(ascii: delimiter), columns: list.columns)
  }

  private func xml() -> XMLListReader { XMLListReader(buffer, rules: XMLListRules(list, of: file, now: opener.time.wall())) }

  private func page() -> PageRows {
    let rules = PageRules(lazyAttributes: list.lazyAttributes)
    return PageRows(buffer, of: file, at: url, contentType: contentType, rules, opener.crawl(of: file.list, list))
  }

  /// A log that was detected is counted separately, since the files of a pattern may have different formats.
  private func detectedLog() throws(InputError) -> AccessLogReader {
    var alone = file
    alone.isLast = true
    let log = AccessLogReader(buffer, alone, index: index, of: list, counter: opener.makeCounter())
    try log.checkSite()
    return log
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
      ? ListBeginning.rows(bytes, isLast: isLast, list.columns)
      : ListBeginning(bytes, isLast: isLast, isHTML: list.isPage(file, contentType: contentType), columns: list.columns)
  }

  private func makeReader(_ beginning: ListBeginning) throws(InputError) -> any RowReader {
    switch beginning {
    case .page:
      // Servers often send a page instead of a missing file.
      if fetched == nil || isOfAnyKind { return page() }
      let message = "the server sent an HTML page instead of a list; check its URL, or use 'page' for a page's images"
      throw InputError(message, line: 1)
    case _ where file.isRobots, .robots: return RobotsReader(buffer)
    case .image(let format):
      if isOfAnyKind, let url = file.url { return InlineReader(url) }
      throw refusal("an image (\(format))", remedy: "name its URL to check it")
    case .other(let name, let remedy): throw refusal(name, remedy: remedy)
    case .xml: return xml()
    case .log: return try detectedLog()
    case .csv: return csv(",")
    case .jsonLines: return jsonRows { JSONLinesReader(buffer, $0) }
    case .jsonDocument: return jsonRows { JSONDocumentReader(buffer, $0) }
    case .text: return TextReader(buffer)
    }
  }

  private func jsonRows(_ reader: (JSONRows) -> any RowReader) -> JSONFirstRows {
    let values = JSONRows(list.columns)
    return JSONFirstRows(reader(values), values, columns: list.columns)
  }

  private func refusal(_ name: String, remedy: String) -> InputError {
    // A name that a shell would read differently isn't part of a command.
    let isPlain = file.name.utf8.allSatisfy { ($0 | 32) &- 97 < 26 || $0 &- 48 < 10 || "._/-".utf8.contains($0) }
    let remedy = isPlain && file.name != "stdin" ? remedy.replacing("FILE", with: file.name) : remedy
    return InputError("it looks like \(name), not a list of URLs; \(remedy)")
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

  func checkEnd() throws(InputError) { try reader?.checkEnd() }
}
