import Glibc
import Base

/// Rows of a CSV or TSV list, whose first record names the columns.
///
/// Every record must have as many fields as the header; otherwise an unquoted comma would silently truncate a URL. A
/// record that is broken, or whose quote isn't closed within ``InputBuffer/maximumRowBytes``, is one bad row; reading
/// continues on the line after the record's first line.
///
/// A header without the usual column of URLs may be that of a product feed: see ``ProductColumns``. Each of its records
/// gives a row for each image.
final class CSVReader: RowReader {
  private static let shownHeaderCharacters = 400

  private let buffer: InputBuffer
  private let manifest: String
  private let columns: URLList.Columns
  private var scanner: CSVRecordScanner
  private var line: UInt64 = 1
  private var isAfterMark = false
  private var hasDelimiter = false
  private var header: Header?
  private var isSkippingLine = false
  // A column may be read for each field of a row, and once more as one with further images.
  private let unescaped = GrowingBytes(capacity: (RowFields.Field.allCases.count + 3) * InputBuffer.maximumRowBytes)
  /// The further images of the last record, as rows.
  private var further: ArraySlice<Row> = []
  private var images = ItemImages()

  private struct Header {
    var fieldCount: Int
    var url: Int
    /// The name of the column with the URL.
    var urlName: String
    var priority: Int?
    var others: [(field: RowFields.Field, index: Int)]
    /// Whether rows say nothing besides a URL and a priority.
    var hasURLsOnly: Bool { others.isEmpty && further.isEmpty }
    /// The columns with further images of a product.
    var further: [Int]
  }

  /// A record taken from the buffer.
  private enum Step {
    case record(UnsafeRawBufferPointer, line: UInt64)
    case broken(Row)
    case wouldBlock
    case end
  }

  /// The header may show another delimiter than the usual one of the format.
  init(_ buffer: InputBuffer, delimiter: UInt8, columns: URLList.Columns, manifest: String) {
    self.buffer = buffer
    self.columns = columns
    self.manifest = manifest
    scanner = CSVRecordScanner(delimiter: delimiter)
  }

  var mayNamePriority: Bool { header?.priority != nil }

  func readHeader() throws(ListError) -> Bool {
    if header != nil { return true }
    if !isAfterMark {
      guard let markLength = ByteOrderMark.length(in: buffer) else { return false }
      isAfterMark = true
      buffer.consume(markLength)
    }
    guard hasDelimiter || chooseDelimiter() else { return false }
    switch nextRecord() {
    case .wouldBlock: return false
    case .end:
      if let failure = buffer.failure { throw failure.error(in: manifest) }
      throw ListError(manifest: manifest, line: 1, message: "the list is empty; its first row must name the columns")
    case .broken(let row):
      throw ListError(manifest: manifest, line: row.line, message: "cannot read the header: \(row.problem!)")
    case .record(let bytes, let line):
      header = try makeHeader(bytes, line: line)
      return true
    }
  }

  /// Chooses the delimiter by the first line, and consumes one that only names it, as Excel writes; returns false if it would block.
  private func chooseDelimiter() -> Bool {
    while true {
      let bytes = buffer.bytes
      let start = bytes.firstIndex { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") } ?? bytes.count
      var end = bytes[start...].firstIndex(of: UInt8(ascii: "\n"))
      if end == nil, bytes.count <= InputBuffer.maximumRowBytes {
        switch buffer.fill() {
        case .grown: continue
        case .wouldBlock: return false
        case .ended: end = bytes.count
        }
      }
      let lineEnd = end ?? bytes.count
      let text = UnsafeRawBufferPointer(rebasing: buffer.bytes[start..<lineEnd]).trimmed()
      hasDelimiter = true
      if let named = CSVHeader.namedDelimiter(text) {
        scanner = CSVRecordScanner(delimiter: named)
        line += UInt64(buffer.bytes.prefix(lineEnd + 1).count { $0 == UInt8(ascii: "\n") })
        buffer.consume(min(lineEnd + 1, buffer.bytes.count))
      } else {
        scanner = CSVRecordScanner(delimiter: CSVHeader.delimiter(of: text, columns, usual: scanner.delimiter))
      }
      return true
    }
  }

  func next() -> RowStep {
    guard let header else { preconditionFailure("next() requires readHeader() first") }
    if !further.isEmpty { return .row(further.removeFirst()) }
    switch nextRecord() {
    case .wouldBlock: return .wouldBlock
    case .end: return .end
    case .broken(let row): return .row(row)
    case .record(let bytes, let line):
      guard scanner.fields.count == header.fieldCount else {
        let problem =
          "the row has \(scanner.fields.count) fields, the header has \(header.fieldCount); quote fields that contain the delimiter"
        return .row(.broken(bytes.trimmed(), line: line, problem: problem))
      }
      unescaped.removeAll()
      let priority = header.priority.map { value(of: scanner.fields[$0], in: bytes).trimmed() }
      let url = value(of: scanner.fields[header.url], in: bytes).trimmed()
      var row = Row(url: url, priority: priority, line: line)
      if header.hasURLsOnly, !url.isEmpty { return .row(row) }
      var fields = RowFields()
      for (field, index) in header.others {
        fields.set(field, value(of: scanner.fields[index], in: bytes), column: columns.name(of: field))
      }
      if !header.further.isEmpty {
        row.note = fields.noteOfSeveral
        further = furtherRows(header.further, in: bytes, like: row)
      }
      if url.isEmpty {
        row = .broken(bytes.trimmed(), line: line, problem: "column '\(header.urlName)' is empty")
        row.note = fields.noteOfSeveral
        return .row(row)
      }
      // The size of one image isn't that of several.
      if further.isEmpty { (row.problem, row.note) = (fields.problem, fields.note) }
      return .row(row)
    }
  }

  /// The rows of a product's further images, like `row`, that of its main image; each image once.
  private func furtherRows(_ columns: [Int], in bytes: UnsafeRawBufferPointer, like row: Row) -> ArraySlice<Row> {
    images.removeAll()
    _ = images.insert(row.url)
    var rows: [Row] = []
    for column in columns {
      for part in value(of: scanner.fields[column], in: bytes).split(separator: UInt8(ascii: ",")) {
        let url = UnsafeRawBufferPointer(rebasing: part).trimmed()
        guard !url.isEmpty, images.insert(url) else { continue }
        var other = row
        other.url = url
        rows.append(other)
      }
    }
    return rows[...]
  }

  /// Consumes the next record that isn't a blank line; its fields are in the scanner.
  private func nextRecord() -> Step {
    while true {
      if isSkippingLine, !skipLine() { return .wouldBlock }
      var hasEnded = false
      var result = scanner.scan(buffer.bytes, isLast: false)
      while case .incomplete = result, !hasEnded, buffer.bytes.count <= InputBuffer.maximumRowBytes {
        switch buffer.fill() {
        case .grown: result = scanner.scan(buffer.bytes, isLast: false)
        case .wouldBlock: return .wouldBlock
        case .ended:
          if buffer.bytes.isEmpty || buffer.failure != nil { return .end }
          hasEnded = true
          result = scanner.scan(buffer.bytes, isLast: true)
        }
      }
      switch result {
      case .record(let length, let feeds):
        let record = (bytes: UnsafeRawBufferPointer(rebasing: buffer.bytes[..<length]), line: line)
        buffer.consume(length)
        line += UInt64(feeds)
        if record.bytes.allSatisfy({ $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) { continue }
        if length > InputBuffer.maximumRowBytes { return .broken(.tooLong(record.bytes, line: record.line)) }
        return .record(record.bytes, line: record.line)
      case .incomplete(isQuoted: false): return .broken(takeLine { .tooLong($0, line: $1) })
      case .incomplete(isQuoted: true):
        return .broken(takeLine { .broken($0, line: $1, problem: "the row has an unclosed quote") })
      case .textAfterQuote:
        return .broken(takeLine { .broken($0, line: $1, problem: "a closing quote isn't followed by a delimiter") })
      }
    }
  }

  /// Consumes the line at the start of the buffer, or its available part.
  private func takeLine(_ makeRow: (UnsafeRawBufferPointer, UInt64) -> Row) -> Row {
    let bytes = buffer.bytes
    let feed = bytes.firstIndex(of: UInt8(ascii: "\n"))
    let row = makeRow(UnsafeRawBufferPointer(rebasing: bytes[..<(feed ?? bytes.count)]).trimmed(), line)
    buffer.consume(feed.map { $0 + 1 } ?? bytes.count)
    isSkippingLine = feed == nil
    line += 1
    return row
  }

  /// Consumes the rest of an overlong line; returns false if more bytes have to arrive first.
  private func skipLine() -> Bool {
    while true {
      if let feed = buffer.bytes.firstIndex(of: UInt8(ascii: "\n")) {
        buffer.consume(feed + 1)
        break
      }
      buffer.consume(buffer.bytes.count)
      let filling = buffer.fill()
      if filling == .wouldBlock { return false }
      if filling == .ended { break }
    }
    isSkippingLine = false
    return true
  }

  private func value(of field: CSVRecordScanner.Field, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let written = UnsafeRawBufferPointer(rebasing: bytes[field.range])
    guard field.hasDoubledQuotes else { return written }
    let start = unescaped.count
    var isSecond = false
    for byte in written {
      isSecond = byte == UInt8(ascii: "\"") && !isSecond
      if !isSecond { unescaped.append(byte) }
    }
    return unescaped[start..<unescaped.count]
  }

  /// The names of a header, which are URLs if the file has no header row.
  private static func shown(_ names: [String]) -> String {
    String(maskingCredentials(names.joined(separator: ", ")).prefix(shownHeaderCharacters))
  }

  private func makeHeader(_ bytes: UnsafeRawBufferPointer, line: UInt64) throws(ListError) -> Header {
    unescaped.removeAll()
    let names = scanner.fields.map { String(decoding: value(of: $0, in: bytes).trimmed(), as: UTF8.self) }
    var matches = names.indices.filter { names[$0] == columns.url }
    var further: [Int] = []
    // A column that the user named isn't replaced by another.
    if matches.isEmpty, columns.url == URLList.Columns().url {
      let product = ProductColumns(names)
      (matches, further) = (product.images, product.others)
    }
    guard let url = matches.first else {
      let message = "no column '\(columns.url)' among \(Self.shown(names)); set columns.url to the column of the URLs"
      throw ListError(manifest: manifest, line: line, message: message)
    }
    guard matches.count == 1 else {
      throw ListError(manifest: manifest, line: line, message: "column '\(names[url])' occurs more than once; rename the others")
    }
    let others = RowFields.Field.allCases.compactMap { field in
      names.firstIndex(of: columns.name(of: field)).map { (field, $0) }
    }
    // A column with its default name may be absent.
    let wanted = RowFields.Field.allCases.filter { columns.name(of: $0) != URLList.Columns().name(of: $0) }
    if let missing = wanted.first(where: { !names.contains(columns.name(of: $0)) }) {
      let message = "no column '\(columns.name(of: missing))' among \(Self.shown(names)); set columns.\(missing) to one of them"
      throw ListError(manifest: manifest, line: line, message: message)
    }
    return Header(
      fieldCount: names.count,
      url: url,
      urlName: names[url],
      priority: names.firstIndex(of: columns.priority),
      others: others,
      further: further
    )
  }
}
