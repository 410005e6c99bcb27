import ImagePrimitives

/// The value of a `Content-Range` header in bytes (RFC 9110, section 14.4).
struct ContentRange: Equatable {
  /// Which bytes of the whole body the answer brings; nil where it says that it brings none.
  var bytes: Range<Int>?
  /// The length of the whole body; nil where it is not told.
  var total: Int?

  /// Such as `bytes 0-65535/200000`, `bytes 0-65535/*` and, of a 416, `bytes */200000`; nil for what is none of these.
  init?(_ value: ArraySlice<UInt8>) {
    let unit = value.prefix { !$0.isASCIIWhitespace }
    guard unit.elementsEqual("bytes".utf8, by: { $0.asciiLowercased == $1 }) else { return nil }
    let parts = value[unit.endIndex...].drop(while: \.isASCIIWhitespace).split(
      separator: UInt8(ascii: "/"),
      maxSplits: 1,
      omittingEmptySubsequences: false
    )
    guard parts.count == 2 else { return nil }
    let star = { (part: ArraySlice<UInt8>) in part.elementsEqual("*".utf8) }
    if !star(parts[1]) {
      guard let total = Self.number(parts[1]) else { return nil }
      self.total = total
    }
    if star(parts[0]) { return }
    let ends = parts[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]) else { return nil }
    guard first <= last, last < total ?? .max else { return nil }
    bytes = first..<last + 1
  }

  /// Digits alone, of what an `Int` can hold.
  private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
    guard !digits.isEmpty, digits.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return Int(String(decoding: digits, as: UTF8.self))
  }
}
