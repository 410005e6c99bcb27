import Base

/// Makes rows of JSON values: a string is a URL, an object has the chosen fields.
///
/// A name with dots, such as `image.src`, is that of a field in nested objects.
final class JSONRows {
  private let columns: URLList.Columns
  private let scratch = GrowingBytes()
  private let urlName: [UInt8]
  private let priorityName: [UInt8]
  private let names: [(name: [UInt8], field: RowFields.Field)]
  /// The beginnings of names with dots, up to each dot.
  private let parents: Set<[UInt8]>

  /// Whether any row so far had the field with the URL, or was a string.
  private(set) var hasFoundURL = false
  /// The first row without it, and the names of the fields that such rows had.
  private(set) var firstLineWithoutURL: UInt64?
  private(set) var otherNames: [String] = []
  /// The maximum number of names.
  private static let maximumNames = 30
  private static let maximumNameBytes = 64

  private struct Fields {
    var url: UnsafeRawBufferPointer?
    var priority: UnsafeRawBufferPointer?
    var others = RowFields()
  }

  init(_ columns: URLList.Columns) {
    self.columns = columns
    urlName = Array(columns.url.utf8)
    priorityName = Array(columns.priority.utf8)
    names = RowFields.Field.allCases.map { (Array(columns.name(of: $0).utf8), $0) }
    var parents: Set<[UInt8]> = []
    for name in names.map(\.name) + [urlName, priorityName] {
      for dot in name.indices where name[dot] == UInt8(ascii: ".") { parents.insert(Array(name[...dot])) }
    }
    self.parents = parents
  }

  /// The row of a value.
  func row(of value: UnsafeRawBufferPointer, line: UInt64) -> Row {
    do throws(JSONError) {
      return try read(value, line: line)
    } catch {
      return .broken(value.trimmed(), line: line, problem: error.message)
    }
  }

  /// Whether a value is an object that has the field with the URL, as far as it is valid.
  func hasURL(_ value: UnsafeRawBufferPointer) -> Bool {
    var (cursor, fields) = (JSONCursor(value, scratch: scratch), Fields())
    try? readObject(&cursor, path: [], &fields)
    return fields.url != nil
  }

  private func read(_ value: UnsafeRawBufferPointer, line: UInt64) throws(JSONError) -> Row {
    var cursor = JSONCursor(value, scratch: scratch)
    var fields = Fields()
    if let text = try cursor.string() {
      fields.url = text
    } else {
      cursor.skipBlanks()
      guard cursor.current == UInt8(ascii: "{") else { throw cursor.problem("the row is neither an object nor a string") }
      try readObject(&cursor, path: [], &fields)
    }
    try cursor.expectEnd()
    guard let url = fields.url else {
      try noteNames(of: value, line: line)
      throw JSONError("the row has no field '\(columns.url)'")
    }
    hasFoundURL = true
    let trimmed = url.trimmed()
    if trimmed.isEmpty { throw JSONError("the row's URL is empty") }
    return Row(
      url: trimmed,
      priority: fields.priority?.trimmed(),
      line: line,
      problem: fields.others.problem,
      note: fields.others.note
    )
  }

  private func noteNames(of value: UnsafeRawBufferPointer, line: UInt64) throws(JSONError) {
    if hasFoundURL { return }
    firstLineWithoutURL = firstLineWithoutURL ?? line
    var cursor = JSONCursor(value, scratch: scratch)
    try noteNames(&cursor, path: "")
  }

  /// Notes the names of an object's fields, with dots those of objects in it.
  private func noteNames(_ cursor: inout JSONCursor, path: String) throws(JSONError) {
    _ = try cursor.fields { name, cursor throws(JSONError) in
      let name = path + String(decoding: name.prefix(Self.maximumNameBytes), as: UTF8.self)
      if cursor.current == UInt8(ascii: "{"), name.utf8.count <= 4 * Self.maximumNameBytes {
        try noteNames(&cursor, path: "\(name).")
      } else if otherNames.count < Self.maximumNames, !otherNames.contains(name) {
        otherNames.append(name)
      }
    }
  }

  private func readObject(_ cursor: inout JSONCursor, path: [UInt8], _ fields: inout Fields) throws(JSONError) {
    _ = try cursor.fields { name, cursor throws(JSONError) in
      if path.isEmpty {
        try readField(name, &cursor, &fields)
      } else {
        try (path + name).withRawBytes { name throws(JSONError) in try readField(name, &cursor, &fields) }
      }
      if !parents.isEmpty, cursor.current == UInt8(ascii: "{") {
        let child = path + name + [UInt8(ascii: ".")]
        if parents.contains(child) { try readObject(&cursor, path: child, &fields) }
      }
    }
  }

  private func readField(_ name: UnsafeRawBufferPointer, _ cursor: inout JSONCursor, _ fields: inout Fields) throws(JSONError) {
    if name.equals(urlName) {
      if fields.url != nil { throw cursor.problem("field '\(columns.url)' occurs twice") }
      guard let text = try cursor.string() else { throw cursor.problem("field '\(columns.url)' isn't a string") }
      fields.url = text
    } else if name.equals(priorityName) {
      if fields.priority != nil { throw cursor.problem("field '\(columns.priority)' occurs twice") }
      fields.priority = try cursor.string()
      if fields.priority == nil, cursor.current != UInt8(ascii: "n") {
        throw cursor.problem("field '\(columns.priority)' isn't a string")
      }
    } else if let field = names.first(where: { name.equals($0.name) })?.field {
      // An identifier of another form is that of another program.
      if let text = try cursor.scalar(skipsOthers: field == .id) {
        fields.others.set(field, text, column: columns.name(of: field))
      }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether both have the same bytes; most names already differ in their length.
  fileprivate func equals(_ other: [UInt8]) -> Bool { count == other.count && elementsEqual(other) }
}

/// Rows of a JSON Lines list: a value on each line. Blank lines are skipped.
final class JSONLinesReader: RowReader {
  private let lines: LineReader
  private let rows: JSONRows

  init(_ buffer: InputBuffer, _ rows: JSONRows) {
    lines = LineReader(buffer)
    self.rows = rows
  }

  func next() -> RowStep {
    lines.step { line in
      let text = line.bytes.trimmed()
      if text.isEmpty { return nil }
      return .row(line.isTooLong ? .tooLong(text, line: line.number) : rows.row(of: line.bytes, line: line.number))
    }
  }
}

/// Rows of JSON whose first ones show whether the field of the URLs exists, as the header of a table does.
final class JSONFirstRows: RowReader {
  /// Rows that may lack the field at the start, such as those of products without an image.
  private static let maximum = 1000

  private let rows: any RowReader
  private let values: JSONRows
  private let urlName: String
  /// The invalid rows that were read ahead, and the step after them.
  private var ahead: [(text: InlineReader, problem: String)] = []
  private var following: RowStep?
  private var index = 0
  private var hasBegun = false

  /// Creates the rows of `rows`, whose values `values` reads.
  init(_ rows: any RowReader, _ values: JSONRows, columns: URLList.Columns) {
    (self.rows, self.values, urlName) = (rows, values, columns.url)
  }

  func readHeader() throws(InputError) -> Bool {
    while !hasBegun {
      let step = rows.next()
      if case .wouldBlock = step { return false }
      if case .row(let row) = step, let problem = row.problem, !values.hasFoundURL, ahead.count < Self.maximum {
        ahead.append((InlineReader([.init(text: String(decoding: row.url, as: UTF8.self), line: row.line)]), problem))
      } else {
        (following, hasBegun) = (step, true)
      }
    }
    if !values.hasFoundURL, let line = values.firstLineWithoutURL {
      let names = values.otherNames.isEmpty ? "" : " among \(values.otherNames.joined(separator: ", "))"
      throw InputError("no field '\(urlName)'\(names); set columns.url to the field of the URLs", line: line)
    }
    return true
  }

  var mayNamePriority: Bool { true }

  func next() -> RowStep {
    if index < ahead.count, case .row(var row) = ahead[index].text.next() {
      row.problem = ahead[index].problem
      index += 1
      return .row(row)
    }
    defer { following = nil }
    return following ?? rows.next()
  }

  func checkEnd() throws(InputError) { try rows.checkEnd() }
}
