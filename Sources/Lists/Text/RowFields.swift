import Base

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
