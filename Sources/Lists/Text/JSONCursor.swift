import Base

/// The reason why a text isn't valid JSON.
struct JSONError: Error {
  let message: String

  init(_ message: String) { self.message = message }
}

/// A position in a JSON text (RFC 8259), which moves over one value after another and accepts standard JSON only.
struct JSONCursor {
  /// The maximum nesting of arrays and objects.
  private static let maximumDepth = 64

  let bytes: UnsafeRawBufferPointer
  /// The unescaped strings, which are never longer than the text, so the block doesn't move.
  let scratch: GrowingBytes
  private(set) var index = 0

  /// Starts at the beginning, and replaces what is in `scratch`.
  init(_ bytes: UnsafeRawBufferPointer, scratch: GrowingBytes) {
    self.bytes = bytes
    self.scratch = scratch
    scratch.removeAll()
    scratch.reserve(bytes.count)
  }

  /// The byte at the cursor; zero at the end.
  var current: UInt8 { index < bytes.count ? bytes[index] : 0 }

  mutating func skipBlanks() {
    while current == UInt8(ascii: " ") || current == UInt8(ascii: "\t") || current == UInt8(ascii: "\r")
      || current == UInt8(ascii: "\n")
    {
      index += 1
    }
  }

  /// Moves over `byte` and the blanks before it if it comes next.
  mutating func take(_ byte: UInt8) -> Bool {
    skipBlanks()
    guard current == byte else { return false }
    index += 1
    return true
  }

  mutating func expect(_ byte: UInt8, _ location: String) throws(JSONError) {
    guard take(byte) else { throw problem("expected '\(Character(Unicode.Scalar(byte)))' \(location)") }
  }

  /// Throws unless only blanks follow.
  mutating func expectEnd() throws(JSONError) {
    skipBlanks()
    if index < bytes.count { throw problem("unexpected text after the row's value") }
  }

  func problem(_ message: String) -> JSONError { JSONError("\(message) (byte \(index + 1) of the row)") }

  /// Moves over a string and returns its characters; returns nil without moving if no string comes next.
  mutating func string() throws(JSONError) -> UnsafeRawBufferPointer? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    // What follows the last escape, and where the unescaped string starts if there is one.
    var (start, mark) = (index, Int?.none)
    while true {
      switch current {
      case UInt8(ascii: "\""):
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
        index += 1
        guard let mark else { return rest }
        scratch.append(rest)
        return scratch[mark..<scratch.count]
      case UInt8(ascii: "\\"):
        mark = mark ?? scratch.count
        scratch.append(UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
        index += 1
        try appendEscape()
        start = index
      case 0..<32:
        throw index == bytes.count ? problem("unclosed string") : problem("unescaped control character in a string")
      default: index += 1
      }
    }
  }

  private mutating func appendEscape() throws(JSONError) {
    let letter = current
    index += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): scratch.append(letter)
    case UInt8(ascii: "b"): scratch.append(8)
    case UInt8(ascii: "f"): scratch.append(12)
    case UInt8(ascii: "n"): scratch.append(10)
    case UInt8(ascii: "r"): scratch.append(13)
    case UInt8(ascii: "t"): scratch.append(9)
    case UInt8(ascii: "u"):
      for byte in String(Character(try escapedScalar())).utf8 { scratch.append(byte) }
    default: throw problem("invalid escape in a string")
    }
  }

  /// Returns the character of `\uXXXX`, or of two of these that form a surrogate pair.
  private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
    let first = try hexadecimalUnit()
    guard 0xd800...0xdfff ~= first else { return Unicode.Scalar(first)! }
    guard first < 0xdc00, current == UInt8(ascii: "\\"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "u") else {
      throw problem("unpaired surrogate")
    }
    index += 2
    let second = try hexadecimalUnit()
    guard 0xdc00...0xdfff ~= second else { throw problem("unpaired surrogate") }
    return Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))!
  }

  private mutating func hexadecimalUnit() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = hexadecimalValue(current) else { throw problem("expected four hexadecimal digits after \\u") }
      value = value << 4 | UInt32(digit)
      index += 1
    }
    return value
  }

  /// Moves over a string or a number and returns it as text, or over a null and returns nil; other values are an error, or nil.
  mutating func scalar(skipsOthers: Bool) throws(JSONError) -> UnsafeRawBufferPointer? {
    if let text = try string() { return text }
    let start = index
    switch current {
    case UInt8(ascii: "n"):
      try skipWord("null")
      return nil
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "t"), UInt8(ascii: "f"):
      guard skipsOthers else { throw problem("expected a string or a number") }
      try skipValue()
      return nil
    default: try skipNumber()
    }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<index])
  }

  /// Moves over an object and calls `body` with the name of each field, and the cursor before its value; if `body` doesn't move
  /// over the value, this does. Returns false without moving if no object comes next.
  mutating func fields(_ body: (UnsafeRawBufferPointer, inout JSONCursor) throws(JSONError) -> Void) throws(JSONError) -> Bool {
    guard take(UInt8(ascii: "{")) else { return false }
    if take(UInt8(ascii: "}")) { return true }
    repeat {
      guard let name = try string() else { throw problem("expected a field name") }
      try expect(UInt8(ascii: ":"), "after a field name")
      skipBlanks()
      let start = index
      try body(name, &self)
      if index == start { try skipValue() }
    } while take(UInt8(ascii: ","))
    try expect(UInt8(ascii: "}"), "after a field")
    return true
  }

  /// Moves over an array and calls `body` with the cursor before each element, which `body` moves over. Returns false without
  /// moving if no array comes next.
  mutating func elements(_ body: (inout JSONCursor) throws(JSONError) -> Void) throws(JSONError) -> Bool {
    guard take(UInt8(ascii: "[")) else { return false }
    if take(UInt8(ascii: "]")) { return true }
    repeat { try body(&self) } while take(UInt8(ascii: ","))
    try expect(UInt8(ascii: "]"), "after an element")
    return true
  }

  /// The end of the value that starts at `start`, as far as brackets and quotes tell; nil if it isn't within the bytes.
  static func end(of bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var (index, depth, isQuoted) = (start, 0, false)
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\\") where isQuoted: index += 1
      case UInt8(ascii: "\""):
        isQuoted.toggle()
        if !isQuoted, depth == 0 { return index + 1 }
      case _ where isQuoted: break
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return index }
        depth -= 1
        if depth == 0 { return index + 1 }
      case UInt8(ascii: ","), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
        if depth == 0 { return index }
      default: break
      }
      index += 1
    }
    return nil
  }

  /// Moves over a value of any type.
  mutating func skipValue(depth: Int = 0) throws(JSONError) {
    let mark = scratch.count
    defer { scratch.removeAll(from: mark) }
    if try string() != nil { return }
    if depth == Self.maximumDepth, current == UInt8(ascii: "{") || current == UInt8(ascii: "[") {
      throw problem("values are nested more than \(Self.maximumDepth) levels deep")
    }
    if try fields({ _, cursor throws(JSONError) in try cursor.skipValue(depth: depth + 1) }) { return }
    if try elements({ cursor throws(JSONError) in try cursor.skipValue(depth: depth + 1) }) { return }
    switch current {
    case UInt8(ascii: "t"): try skipWord("true")
    case UInt8(ascii: "f"): try skipWord("false")
    case UInt8(ascii: "n"): try skipWord("null")
    default: try skipNumber()
    }
  }

  private mutating func skipWord(_ word: StaticString) throws(JSONError) {
    let end = index + word.utf8CodeUnitCount
    guard end <= bytes.count, word.withUTF8Buffer({ $0.elementsEqual(bytes[index..<end]) }) else {
      throw problem("expected a value")
    }
    index = end
  }

  private mutating func skipNumber() throws(JSONError) {
    if current == UInt8(ascii: "-") { index += 1 }
    if current == UInt8(ascii: "0") { index += 1 } else { try skipDigits() }
    if current == UInt8(ascii: ".") {
      index += 1
      try skipDigits()
    }
    guard current | 32 == UInt8(ascii: "e") else { return }
    index += 1
    if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
    try skipDigits()
  }

  private mutating func skipDigits() throws(JSONError) {
    guard isDigit else { throw problem("expected a value") }
    while isDigit { index += 1 }
  }

  private var isDigit: Bool { current &- UInt8(ascii: "0") < 10 }
}
