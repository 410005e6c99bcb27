import Base

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
