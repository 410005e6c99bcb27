import Base

/// One row of a list, as its format describes it.
///
/// Its texts point into the reader's buffers and are valid until the next row is read.
struct Row {
  /// The URL as written, unescaped; if there is a problem, the part of the row that shows it best.
  var url: UnsafeRawBufferPointer
  /// The name of its priority, if it has one.
  var priority: UnsafeRawBufferPointer?
  /// The line on which it starts, from 1.
  var line: UInt64
  /// The reason why the row is invalid.
  var problem: String?
  /// The index of its file, if it isn't the one being read.
  var file: Int?
  /// What it says besides its URL.
  var note: EntryNote?
  /// The URL of the list, in normal form, if a template or a signature changed it.
  var original: UnsafeRawBufferPointer?
}

/// A row that is only a URL, as most are.
///
/// Its text points into the reader's buffer and is valid until the reader's next call.
struct PlainRow {
  /// The URL as written.
  var url: UnsafeRawBufferPointer
  /// The line on which it starts, from 1.
  var line: UInt64

  var row: Row { Row(url: url, line: line) }
}

enum RowStep {
  case row(Row)
  /// A file whose rows follow: a sitemap or a page as an index or a sitemap writes its URL, or what a page names with its
  /// normalised URL.
  case child(UnsafeRawBufferPointer, line: UInt64, ListFile.Kind)
  /// Other work may get a turn before the next call.
  case nothingYet
  case wouldBlock
  case end
}

/// Parses rows from a list's text by the rules of its format.
///
/// A row that breaks the rules is returned with a problem, and reading continues after it. If reading fails, an
/// incomplete last row is dropped.
protocol RowReader: AnyObject {
  /// Reads what precedes the first row, such as a header; returns false if it would block.
  func readHeader() throws(InputError) -> Bool
  /// Whether rows may set their own priority; known once the header is read.
  var mayNamePriority: Bool { get }
  func next() -> RowStep
  /// Appends the next rows while they are plain and complete, until `rows` has `maximum`; appends none if ``next()``
  /// must be called.
  func takePlainRows(into rows: inout [PlainRow], maximum: Int)
  /// Throws if the rest of the text couldn't be parsed; must be called after the rows have ended.
  func checkEnd() throws(InputError)
  /// Whether rows are produced as bytes are read, so that their number can be estimated; known once the header is read.
  var hasRowsByBytes: Bool { get }
  /// Whether it is a sitemap, which may list only pages; known once the header is read.
  var isSitemap: Bool { get }
  var remarks: ReadingRemarks { get }
}

extension RowReader {
  func readHeader() -> Bool { true }
  var mayNamePriority: Bool { false }
  func checkEnd() {}
  func takePlainRows(into rows: inout [PlainRow], maximum: Int) {}
  var hasRowsByBytes: Bool { true }
  var isSitemap: Bool { false }
  var remarks: ReadingRemarks { ReadingRemarks() }
}

extension UnsafeRawBufferPointer {
  /// Returns the bytes without surrounding spaces, tabs and carriage returns.
  @inline(__always)
  func trimmed() -> UnsafeRawBufferPointer {
    var start = 0
    var end = count
    while start < end, Self.isBlank(self[start]) { start += 1 }
    while start < end, Self.isBlank(self[end - 1]) { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: self[start..<end])
  }

  @inline(__always)
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
  }
}

/// The fields of a row in CSV, TSV and JSON Lines that say more than its URL and priority.
struct RowFields {
  enum Field: CaseIterable {
    case id, sha256, width, height, bytes
  }

  static let maximumIDBytes = 256

  /// Whether no field says anything, as in most lists.
  private var isEmpty = true
  private var id: String?
  private var expectation = ImageExpectation()
  /// The reason why a field is invalid; that of the first.
  private(set) var problem: String?

  /// What the row says; nil if that is only its URL.
  var note: EntryNote? {
    if isEmpty { return nil }
    return EntryNote(id: id, expectation: expectation.isEmpty ? nil : expectation)
  }

  /// What the row says about each of several images; nil if that is only its URL.
  var noteOfSeveral: EntryNote? { id.map { EntryNote(id: $0) } }

  /// Reads a field of the column with that name; an empty one says nothing.
  mutating func set(_ field: Field, _ written: UnsafeRawBufferPointer, column: String) {
    let text = written.trimmed()
    if text.isEmpty { return }
    isEmpty = false
    switch field {
    case .id: id = String(decoding: text.prefix(Self.maximumIDBytes), as: UTF8.self)
    case .sha256: expectation.sha256 = read(text, column, "64 hexadecimal digits", Self.digest)
    case .width: expectation.width = read(text, column, "a number of pixels", Self.number)
    case .height: expectation.height = read(text, column, "a number of pixels", Self.number)
    case .bytes: expectation.bytes = read(text, column, "a number of bytes", Self.number)
    }
  }

  private mutating func read<Value>(
    _ text: UnsafeRawBufferPointer,
    _ column: String,
    _ meaning: String,
    _ value: (UnsafeRawBufferPointer) -> Value?
  ) -> Value? {
    if let value = value(text) { return value }
    let shown = String(decoding: maskingCredentials(text).prefix(64), as: UTF8.self)
    problem = problem ?? "column '\(column)' has '\(shown)', which isn't \(meaning)"
    return nil
  }

  /// A positive number of at most 18 digits.
  private static func number<Number: FixedWidthInteger>(_ text: UnsafeRawBufferPointer) -> Number? {
    guard text.count <= 18, text.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Number(String(decoding: text, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
  }

  private static func digest(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    text.count == 2 * SHA256Stream.byteCount ? Base.bytes(hexadecimal: text) : nil
  }
}

extension URLList.Columns {
  func name(of field: RowFields.Field) -> String {
    switch field {
    case .id: id
    case .sha256: sha256
    case .width: width
    case .height: height
    case .bytes: bytes
    }
  }
}
