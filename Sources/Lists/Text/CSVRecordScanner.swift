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
