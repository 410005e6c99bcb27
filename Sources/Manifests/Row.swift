/// One row of a manifest, as its format describes it.
///
/// Its texts point into the reader's buffers and are valid until the next row is asked for.
struct Row {
  /// The URL as written, unescaped; where there is a problem, what shows the row best.
  var url: UnsafeRawBufferPointer
  /// The name of its priority, if it has one.
  var priority: UnsafeRawBufferPointer?
  /// The line on which it begins, from 1.
  var line: UInt64
  /// Where in the manifest's text the URL lies; nil if it was unescaped.
  var offset: UInt64?
  /// Why the row is invalid.
  var problem: String?
  /// The index of its file, if it isn't the one being read.
  var file: Int?
}

/// A row that is only a URL, as most are.
///
/// Its text points into the reader's buffer and is valid until the reader is asked for anything more.
struct PlainRow {
  /// The URL as written.
  var url: UnsafeRawBufferPointer
  /// The line on which it begins, from 1.
  var line: UInt64
  /// Where in the manifest's text the URL lies.
  var offset: UInt64

  var row: Row { Row(url: url, line: line, offset: offset) }
}

enum RowStep {
  case row(Row)
  /// A sitemap that an index names, as written.
  case sitemap(UnsafeRawBufferPointer, line: UInt64)
  /// Others may have a turn before this is asked again.
  case nothingYet
  case wouldBlock
  case end
}

/// Takes rows from a manifest's text, by the rules of its format.
///
/// A row that breaks the format's rules is a row with a problem, and reading goes on after it. Where the text breaks off, a
/// last row that is not whole is left out.
protocol RowReader: AnyObject {
  /// Reads what precedes the first row, such as a header; false if it would have to wait.
  func readHeader() throws(ManifestError) -> Bool
  /// Whether rows may name a priority of their own; known once the header is read.
  var mayNamePriority: Bool { get }
  func next() -> RowStep
  /// Appends the next rows while they are plain and there as a whole, until `rows` has `maximum`; none where ``next()`` has to be asked.
  func takePlainRows(into rows: inout [PlainRow], maximum: Int)
  /// Throws if the rest of the text could not be read by the format's rules; to be asked once the rows have ended.
  func checkEnd() throws(ManifestError)
  /// Whether rows come as bytes are read, so that their number can be estimated; known once the header is read.
  var hasRowsByBytes: Bool { get }
  var remarks: ReadingRemarks { get }
}

extension RowReader {
  func checkEnd() {}
  func takePlainRows(into rows: inout [PlainRow], maximum: Int) {}
  var hasRowsByBytes: Bool { true }
  var remarks: ReadingRemarks { ReadingRemarks() }
}

extension UnsafeRawBufferPointer {
  /// Without the spaces, tabs and carriage returns around it.
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

  /// Where `part`, which lies within, begins.
  func offset(of part: UnsafeRawBufferPointer) -> Int {
    guard let base = baseAddress, let start = part.baseAddress else { return 0 }
    return start - base
  }
}
