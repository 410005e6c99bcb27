import Base

/// Rows of a JSON document: the strings or objects of an array, which may be the whole document or a field of it; also several
/// objects, one after another. They are read as they arrive, so the document may have any size.
final class JSONDocumentReader: RowReader {
  private enum Level {
    case array, object
  }

  private enum Field {
    /// Its value is a list, or an object that may have one, and starts at the index.
    case list(Int), object(Int)
    /// It has no list, and ends at the index.
    case other(Int)
    case broken
  }

  /// Deeper than any document that wraps a list.
  private static let maximumDepth = 16
  private static let severalLists = "the JSON has several arrays; keep the one with the URLs"

  private let buffer: InputBuffer
  private let rows: JSONRows
  private var levels: [Level] = []
  private var line: UInt64 = 1
  private var hasList = false
  private var failure: InputError?

  init(_ buffer: InputBuffer, _ rows: JSONRows) { (self.buffer, self.rows) = (buffer, rows) }

  func checkEnd() throws(InputError) { if let failure { throw failure } }

  func next() -> RowStep {
    while failure == nil {
      skipBlanks()
      switch buffer.find({ $0.first }) {
      case .found(let byte): if let step = step(byte) { return step }
      case .wouldBlock: return .wouldBlock
      case .none:
        if !levels.isEmpty { fail("the JSON is broken: it ends before its last bracket") }
        return .end
      }
    }
    return .end
  }

  /// Consumes a bracket, a comma, a value or a field; nil if it isn't a row.
  private func step(_ byte: UInt8) -> RowStep? {
    switch (levels.last, byte) {
    case (_?, UInt8(ascii: ",")): consume(1)
    case (.array?, UInt8(ascii: "]")), (.object?, UInt8(ascii: "}")):
      levels.removeLast()
      consume(1)
    case (nil, UInt8(ascii: "[")): begin(.array, at: 0)
    case (nil, UInt8(ascii: "{")): return topObject()
    case (.object?, UInt8(ascii: "\"")): return field()
    case (.array?, _), (nil, UInt8(ascii: "\"")): return element()
    default: fail("the JSON is broken: a bracket, a comma or a quote is missing")
    }
    return nil
  }

  /// An object that isn't in an array is a row, or has the array.
  private func topObject() -> RowStep? {
    switch buffer.find({ JSONCursor.end(of: $0, from: 0) }) {
    case .wouldBlock: return .wouldBlock
    case .found(let end):
      let value = UnsafeRawBufferPointer(rebasing: buffer.bytes[..<end])
      if rows.hasURL(value) || Self.lists(in: value) == 0 { return row(end) }
    case .none: break
    }
    // Before anything of the first is requested, as far as the document has arrived.
    if Self.lists(in: buffer.bytes) > 1 { fail(Self.severalLists) } else { begin(.object, at: 0) }
    return nil
  }

  private func field() -> RowStep? {
    switch buffer.find(Self.field) {
    case .wouldBlock: return .wouldBlock
    case .found(.other(let end)): consume(end)
    case .found(.object(let start)): begin(.object, at: start)
    case .found(.list(let start)):
      if hasList { fail(Self.severalLists) } else { begin(.array, at: start) }
      hasList = true
    default: fail("the JSON is broken: a field is incomplete, or longer than \(InputBuffer.maximumRowBytes) bytes")
    }
    return nil
  }

  private func element() -> RowStep? {
    switch buffer.find({ JSONCursor.end(of: $0, from: 0) }) {
    case .wouldBlock: return .wouldBlock
    case .found(let end) where end > 0: return row(end)
    default: fail("the JSON is broken: an element is incomplete, or longer than \(InputBuffer.maximumRowBytes) bytes")
    }
    return nil
  }

  private func row(_ count: Int) -> RowStep {
    let value = UnsafeRawBufferPointer(rebasing: buffer.bytes[..<count])
    let row = rows.row(of: value, line: line)
    consume(count)
    guard row.problem == nil, value.first == UInt8(ascii: "\""), levels.count > 1 else { return .row(row) }
    // A field may also be a list of keywords.
    switch TextLine(row.url) {
    case .absolute, .path: return .row(row)
    case .word, .other: return .row(.broken(row.url, line: row.line, problem: "the element isn't a URL"))
    }
  }

  private func begin(_ level: Level, at start: Int) {
    if levels.count >= Self.maximumDepth {
      return fail("the JSON's objects are nested more than \(Self.maximumDepth) levels deep")
    }
    levels.append(level)
    consume(start + 1)
  }

  private func fail(_ problem: String) { failure = buffer.failure ?? InputError(problem, line: line) }

  // MARK: Bytes

  private func skipBlanks() {
    while case let blanks = buffer.bytes.prefix(while: Self.isSkipped).count, blanks > 0 { consume(blanks) }
  }

  private func consume(_ count: Int) {
    for byte in buffer.bytes.prefix(count) where byte == UInt8(ascii: "\n") { line += 1 }
    buffer.consume(count)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 }

  /// A byte order mark isn't part of the text, either.
  private static func isSkipped(_ byte: UInt8) -> Bool { isBlank(byte) || [0xef, 0xbb, 0xbf].contains(byte) }

  /// The field at the start of the bytes; nil if it isn't complete.
  private static func field(_ bytes: UnsafeRawBufferPointer) -> Field? {
    guard let nameEnd = JSONCursor.end(of: bytes, from: 0),
      let colon = bytes[nameEnd...].firstIndex(where: { !isBlank($0) })
    else { return nil }
    guard bytes[colon] == UInt8(ascii: ":") else { return .broken }
    guard let start = bytes[(colon + 1)...].firstIndex(where: { !isBlank($0) }) else { return nil }
    if bytes[start] == UInt8(ascii: "{") { return .object(start) }
    if bytes[start] == UInt8(ascii: "[") {
      guard let first = bytes[(start + 1)...].first(where: { !isBlank($0) }) else { return nil }
      if first == UInt8(ascii: "\"") || first == UInt8(ascii: "{") { return .list(start) }
    }
    return JSONCursor.end(of: bytes, from: start).map { $0 > start ? .other($0) : .broken }
  }

  /// The number of arrays of strings or objects that objects lead to, as far as the bytes go.
  private static func lists(in bytes: UnsafeRawBufferPointer) -> Int {
    var (cursor, count) = (JSONCursor(bytes, scratch: GrowingBytes()), 0)
    try? addLists(in: &cursor, depth: 0, to: &count)
    return count
  }

  private static func addLists(in cursor: inout JSONCursor, depth: Int, to count: inout Int) throws(JSONError) {
    _ = try cursor.fields { _, cursor throws(JSONError) in
      if cursor.current == UInt8(ascii: "{"), depth < maximumDepth {
        return try addLists(in: &cursor, depth: depth + 1, to: &count)
      }
      var list = cursor
      guard list.take(UInt8(ascii: "[")) else { return }
      list.skipBlanks()
      if list.current == UInt8(ascii: "\"") || list.current == UInt8(ascii: "{") { count += 1 }
    }
  }
}
