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
  init(_ buffer: InputBuffer, delimiter: UInt8, columns: URLList.Columns) {
    self.buffer = buffer
    self.columns = columns
    scanner = CSVRecordScanner(delimiter: delimiter)
  }

  var mayNamePriority: Bool { header?.priority != nil }

  func readHeader() throws(InputError) -> Bool {
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
      if let failure = buffer.failure { throw failure }
      throw InputError("the list is empty; its first row must name the columns", line: 1)
    case .broken(let row):
      throw InputError("cannot read the header: \(row.problem!)", line: row.line)
    case .record(let bytes, let line):
      header = try makeHeader(bytes, line: line)
      return true
    }
  }

  /// Chooses the delimiter by the first line, and consumes one that only names it, as Excel writes; returns false if it would
  /// block.
  private func chooseDelimiter() -> Bool {
    let isBreak: (UInt8) -> Bool = { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    let feed = buffer.find { bytes in bytes.drop(while: isBreak).firstIndex(of: UInt8(ascii: "\n")) }
    if case .wouldBlock = feed { return false }
    let end = if case .found(let index) = feed { index } else { buffer.bytes.count }
    let text = UnsafeRawBufferPointer(rebasing: buffer.bytes[..<end].drop(while: isBreak)).trimmed()
    hasDelimiter = true
    let named = CSVHeader.namedDelimiter(text)
    scanner = CSVRecordScanner(delimiter: named ?? CSVHeader.delimiter(of: text, columns, usual: scanner.delimiter))
    if named != nil {
      let length = min(end + 1, buffer.bytes.count)
      line += UInt64(buffer.bytes.prefix(length).count { $0 == UInt8(ascii: "\n") })
      buffer.consume(length)
    }
    return true
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
      guard skipLine() else { return .wouldBlock }
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
      case .incomplete(isQuoted: false): return .broken(takeLine(Row.tooLongProblem))
      case .incomplete(isQuoted: true): return .broken(takeLine("the row has an unclosed quote"))
      case .textAfterQuote: return .broken(takeLine("a closing quote isn't followed by a delimiter"))
      }
    }
  }

  /// Consumes the line at the start of the buffer, or its available part, as a broken row.
  private func takeLine(_ problem: String) -> Row {
    let bytes = buffer.bytes
    let feed = bytes.firstIndex(of: UInt8(ascii: "\n"))
    let row = Row.broken(
      UnsafeRawBufferPointer(rebasing: bytes[..<(feed ?? bytes.count)]).trimmed(),
      line: line,
      problem: problem
    )
    buffer.consume(feed.map { $0 + 1 } ?? bytes.count)
    isSkippingLine = feed == nil
    line += 1
    return row
  }

  /// Consumes the rest of an overlong line; returns false if more bytes have to arrive first.
  private func skipLine() -> Bool {
    while isSkippingLine {
      let feed = buffer.bytes.firstIndex(of: UInt8(ascii: "\n"))
      buffer.consume(feed.map { $0 + 1 } ?? buffer.bytes.count)
      if feed != nil { break }
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

  private func makeHeader(_ bytes: UnsafeRawBufferPointer, line: UInt64) throws(InputError) -> Header {
    unescaped.removeAll()
    let names = scanner.fields.map { String(decoding: value(of: $0, in: bytes).trimmed(), as: UTF8.self) }
    // They are URLs if the file has no header row.
    let shown = maskingCredentials(names.joined(separator: ", ")).prefix(Self.shownHeaderCharacters)
    var matches = names.indices.filter { names[$0] == columns.url }
    var further: [Int] = []
    // A column that the user named isn't replaced by another.
    if matches.isEmpty, columns.url == URLList.Columns().url {
      let product = ProductColumns(names)
      (matches, further) = (product.images, product.others)
    }
    guard let url = matches.first else {
      throw InputError("no column '\(columns.url)' among \(shown); set columns.url to the column of the URLs", line: line)
    }
    guard matches.count == 1 else {
      throw InputError("column '\(names[url])' occurs more than once; rename the others", line: line)
    }
    let usual = URLList.Columns()
    var others: [(field: RowFields.Field, index: Int)] = []
    for field in RowFields.Field.allCases {
      let name = columns.name(of: field)
      if let index = names.firstIndex(of: name) {
        others.append((field, index))
      } else if name != usual.name(of: field) {
        // A column with its default name may be absent.
        throw InputError("no column '\(name)' among \(shown); set columns.\(field) to one of them", line: line)
      }
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

/// Splits a delimited record into fields (RFC 4180), without copying.
///
/// A quote inside an unquoted field is an ordinary character, as in spreadsheets.
struct CSVRecordScanner {
  struct Field {
    /// The bytes between the delimiters, or between the quotes.
    var range: Range<Int>
    /// Whether it contains doubled quotes, which mean single ones.
    var hasDoubledQuotes = false
  }

  enum Result {
    /// A record with its length, including the line ending, and the number of LFs in it.
    case record(length: Int, feeds: Int)
    /// It doesn't end within the bytes.
    case incomplete(isQuoted: Bool)
    /// A closing quote is followed by other text.
    case textAfterQuote
  }

  let delimiter: UInt8
  private(set) var fields: [Field] = []

  init(delimiter: UInt8) { self.delimiter = delimiter }

  /// Scans the record at the start of `bytes` into ``fields``; `isLast` if no more bytes follow.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> Result {
    fields.removeAll(keepingCapacity: true)
    var index = 0
    var feeds = 0
    while true {
      let isQuoted = index < bytes.count && bytes[index] == UInt8(ascii: "\"")
      if isQuoted {
        guard let end = scanQuoted(bytes, from: index + 1, feeds: &feeds) else { return .incomplete(isQuoted: true) }
        index = end
      } else {
        let start = index
        while index < bytes.count, bytes[index] != delimiter, bytes[index] != UInt8(ascii: "\n") { index += 1 }
        fields.append(Field(range: start..<index))
      }
      if index < bytes.count, bytes[index] == delimiter {
        index += 1
        continue
      }
      if index == bytes.count, !isLast { return .incomplete(isQuoted: false) }
      if !isQuoted { dropCarriageReturn(bytes) }
      if isQuoted, index < bytes.count, bytes[index] == UInt8(ascii: "\r") {
        index += 1
        if index == bytes.count, !isLast { return .incomplete(isQuoted: false) }
      }
      if index == bytes.count { return .record(length: index, feeds: feeds) }
      if bytes[index] == UInt8(ascii: "\n") { return .record(length: index + 1, feeds: feeds + 1) }
      return .textAfterQuote
    }
  }

  /// Adds the field that starts after a quote, and returns the index after its closing quote; nil if it isn't closed.
  private mutating func scanQuoted(_ bytes: UnsafeRawBufferPointer, from start: Int, feeds: inout Int) -> Int? {
    var index = start
    var hasDoubledQuotes = false
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\n"): feeds += 1
      case UInt8(ascii: "\""):
        guard index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "\"") else {
          fields.append(Field(range: start..<index, hasDoubledQuotes: hasDoubledQuotes))
          return index + 1
        }
        hasDoubledQuotes = true
        index += 1
      default: break
      }
      index += 1
    }
    return nil
  }

  /// The CR of a CRLF belongs to the line ending.
  private mutating func dropCarriageReturn(_ bytes: UnsafeRawBufferPointer) {
    let range = fields[fields.count - 1].range
    if let last = range.last, bytes[last] == UInt8(ascii: "\r") { fields[fields.count - 1].range = range.dropLast() }
  }
}

/// What the first lines of a table show: its delimiter, and whether it has a header.
enum CSVHeader {
  /// Spreadsheets use a semicolon where a comma is the decimal separator.
  private static let delimiters: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\t"), UInt8(ascii: "|")]

  /// The delimiter that Excel reads from a first line `sep=;`.
  static func namedDelimiter(_ line: UnsafeRawBufferPointer) -> UInt8? {
    let text = line.drop { $0 == UInt8(ascii: "\"") }
    guard text.starts(with: "sep=".utf8) else { return nil }
    // A tab is trimmed from the end of the line.
    let rest = text.dropFirst(4)
    return rest.first.map { $0 == UInt8(ascii: "\"") ? UInt8(ascii: "\t") : $0 } ?? UInt8(ascii: "\t")
  }

  /// The delimiter that gives the column of the URLs, else the most frequent one, else the usual one.
  static func delimiter(of line: UnsafeRawBufferPointer, _ columns: URLList.Columns, usual: UInt8) -> UInt8 {
    let candidates = [usual] + delimiters.filter { $0 != usual }
    if let fitting = candidates.first(where: { hasURL(names(in: line, $0), columns) }) { return fitting }
    let counts = candidates.map { names(in: line, $0).count }
    return counts.max().flatMap { counts.firstIndex(of: $0) }.map { candidates[$0] } ?? usual
  }

  /// Whether the line has the column of the URLs, with any delimiter.
  static func hasURL(_ line: UnsafeRawBufferPointer, _ columns: URLList.Columns) -> Bool {
    delimiters.contains { hasURL(names(in: line, $0), columns) }
  }

  private static func hasURL(_ names: [String], _ columns: URLList.Columns) -> Bool {
    names.contains(columns.url) || columns.url == URLList.Columns().url && !ProductColumns(names).images.isEmpty
  }

  /// Whether both lines have the same number of fields, and those of the first may be names.
  static func isLike(_ header: UnsafeRawBufferPointer, _ row: UnsafeRawBufferPointer) -> Bool {
    delimiters.contains { delimiter in
      let names = names(in: header, delimiter)
      return names.count > 1 && names.count == self.names(in: row, delimiter).count
        && names.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isLetter || $0.isNumber || " _-.".contains($0) } }
    }
  }

  /// Whether the line has a URL and other fields: after an image extension, or before the URL.
  static func looksLikeRow(_ line: UnsafeRawBufferPointer) -> Bool {
    delimiters.contains { delimiter in
      guard line.contains(delimiter) else { return false }
      let fields = names(in: line, delimiter)
      guard fields.count > 1, let url = fields.firstIndex(where: { $0.hasPrefix("http://") || $0.hasPrefix("https://") }) else {
        return false
      }
      // Parameters of a path follow a semicolon, too.
      return url > 0 || ends(fields[0]) && !fields[1].contains("=")
    }
  }

  private static func ends(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes(ImageExtension.ends) }

  private static func names(in line: UnsafeRawBufferPointer, _ delimiter: UInt8) -> [String] {
    var scanner = CSVRecordScanner(delimiter: delimiter)
    guard case .record = scanner.scan(line, isLast: true) else { return [] }
    return scanner.fields.map { String(decoding: UnsafeRawBufferPointer(rebasing: line[$0.range]).trimmed(), as: UTF8.self) }
  }
}

/// The columns with images in a text feed of Google Merchant Center.
///
/// Their names may be written with spaces or underscores, in any letter case.
struct ProductColumns {
  /// The indices of the columns with the main image; a valid feed has one.
  let images: [Int]
  /// The indices of the columns with further images, separated by commas.
  let others: [Int]

  init(_ names: [String]) {
    let plain = names.map { $0.lowercased().replacing("_", with: " ") }
    images = plain.indices.filter { plain[$0] == "image link" }
    others = plain.indices.filter { ["additional image link", "lifestyle image link"].contains(plain[$0]) }
  }
}
