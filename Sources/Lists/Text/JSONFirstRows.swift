import Base

/// Rows of JSON whose first ones show whether the field of the URLs exists, as the header of a table does.
final class JSONFirstRows: RowReader {
  /// Rows that may lack the field at the start, such as those of products without an image.
  private static let maximum = 1000

  private let rows: any RowReader
  private let values: JSONRows
  private let manifest: String
  private let urlName: String
  /// The invalid rows that were read ahead, and the step after them.
  private var ahead: [(text: InlineReader, line: UInt64, problem: String)] = []
  private var following: RowStep?
  private var index = 0
  private var hasBegun = false

  /// Creates the rows of `rows`, whose values `values` reads.
  init(_ rows: any RowReader, _ values: JSONRows, columns: URLList.Columns, manifest: String) {
    (self.rows, self.values, self.manifest) = (rows, values, manifest)
    urlName = columns.url
  }

  func readHeader() throws(ListError) -> Bool {
    guard try rows.readHeader() else { return false }
    while !hasBegun {
      let step = rows.next()
      if case .wouldBlock = step { return false }
      guard case .row(let row) = step, let problem = row.problem, !values.hasFoundURL, ahead.count < Self.maximum else {
        following = step
        hasBegun = true
        break
      }
      let text = URLList.InlineEntry(text: String(decoding: row.url, as: UTF8.self), line: row.line)
      ahead.append((InlineReader([text]), row.line, problem))
    }
    if !values.hasFoundURL, let line = values.firstLineWithoutURL {
      let names = values.otherNames.isEmpty ? "" : " among \(values.otherNames.joined(separator: ", "))"
      let message = "no field '\(urlName)'\(names); set columns.url to the field of the URLs"
      throw ListError(manifest: manifest, line: line, message: message)
    }
    return true
  }

  var mayNamePriority: Bool { rows.mayNamePriority }

  func next() -> RowStep {
    if index < ahead.count, case .row(var row) = ahead[index].text.next() {
      row.problem = ahead[index].problem
      index += 1
      return .row(row)
    }
    defer { following = nil }
    return following ?? rows.next()
  }

  func checkEnd() throws(ListError) { try rows.checkEnd() }
}
