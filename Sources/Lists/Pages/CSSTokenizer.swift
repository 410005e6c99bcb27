import Base

/// A token of a stylesheet. Its text, if it has one, is in ``CSSTokenizer/value``.
enum CSSToken: Equatable {
  case whitespace, identifier, function, atKeyword, hash, string, badString, url, badURL, number, end
  /// Any other byte; also brackets, colon and semicolon.
  case delimiter(UInt8)
}

/// Splits a stylesheet into tokens (CSS Syntax Level 3, section 4.3), in one pass and without looking far ahead.
struct CSSTokenizer {
  /// The characters of the last token without escapes: the name of a function, at-rule or identifier, a string's or URL's text, or
  /// the unit of a number.
  private(set) var value: [UInt8] = []
  /// The number as written, without its unit.
  private(set) var number: Range<Int> = 0..<0
  /// The offset of the last token.
  private(set) var start = 0

  private let text: UnsafeRawBufferPointer
  private var index = 0

  init(_ text: UnsafeRawBufferPointer) { self.text = text }

  mutating func next() -> CSSToken {
    skipComments()
    start = index
    guard index < text.count else { return .end }
    let byte = text[index]
    switch byte {
    case _ where Self.isSpace(byte):
      while index < text.count, Self.isSpace(text[index]) { index += 1 }
      return .whitespace
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return string(byte)
    case UInt8(ascii: "#") where isName(at: index + 1) || isEscape(at: index + 1):
      index += 1
      readName()
      return .hash
    case UInt8(ascii: "@") where startsIdentifier(at: index + 1):
      index += 1
      readName()
      return .atKeyword
    case UInt8(ascii: "<") where matches("<!--"): return skip(4)
    case UInt8(ascii: "-") where matches("-->"): return skip(3)
    case _ where startsNumber(): return readNumber()
    case _ where startsIdentifier(at: index): return identifierLike()
    default:
      index += 1
      return .delimiter(byte)
    }
  }

  /// The marks of HTML comments mean nothing here.
  private mutating func skip(_ count: Int) -> CSSToken {
    index += count
    return .whitespace
  }

  private mutating func skipComments() {
    while byte(at: index) == UInt8(ascii: "/"), byte(at: index + 1) == UInt8(ascii: "*") {
      index += 2
      while index < text.count, !(text[index] == UInt8(ascii: "*") && byte(at: index + 1) == UInt8(ascii: "/")) { index += 1 }
      index = min(index + 2, text.count)
    }
  }

  private mutating func string(_ quote: UInt8) -> CSSToken {
    value.removeAll(keepingCapacity: true)
    index += 1
    while index < text.count {
      let byte = text[index]
      switch byte {
      case quote:
        index += 1
        return .string
      case _ where Self.isNewline(byte): return .badString
      case UInt8(ascii: "\\"):
        index += 1
        if index == text.count { return .string }
        if Self.isNewline(text[index]) { skipNewline() } else { readEscape() }
      default:
        value.append(byte)
        index += 1
      }
    }
    return .string
  }

  private mutating func identifierLike() -> CSSToken {
    readName()
    guard byte(at: index) == UInt8(ascii: "(") else { return .identifier }
    index += 1
    guard value.lazy.map(\.asciiLowercased).elementsEqual("url".utf8) else { return .function }
    var next = index
    while next < text.count, Self.isSpace(text[next]) { next += 1 }
    // A quoted URL is a function with a string.
    if byte(at: next) == 0x22 || byte(at: next) == 0x27 { return .function }
    index = next
    return url()
  }

  private mutating func url() -> CSSToken {
    value.removeAll(keepingCapacity: true)
    while index < text.count {
      let byte = text[index]
      switch byte {
      case UInt8(ascii: ")"):
        index += 1
        return .url
      case _ where Self.isSpace(byte):
        while index < text.count, Self.isSpace(text[index]) { index += 1 }
        if index == text.count { return .url }
        guard text[index] == UInt8(ascii: ")") else { return badURL() }
      case 0x22, 0x27, UInt8(ascii: "("), 0x01...0x08, 0x0b, 0x0e...0x1f, 0x7f: return badURL()
      case UInt8(ascii: "\\"):
        guard isEscape(at: index) else { return badURL() }
        index += 1
        readEscape()
      default:
        value.append(byte)
        index += 1
      }
    }
    return .url
  }

  private mutating func badURL() -> CSSToken {
    while index < text.count {
      let isEscape = isEscape(at: index)
      index += 1
      if text[index - 1] == UInt8(ascii: ")") { break }
      if isEscape, index < text.count { index += 1 }
    }
    return .badURL
  }

  private mutating func readNumber() -> CSSToken {
    let start = index
    if text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") { index += 1 }
    skipDigits()
    if byte(at: index) == UInt8(ascii: "."), isDigit(at: index + 1) {
      index += 1
      skipDigits()
    }
    if let letter = byte(at: index), letter | 0x20 == UInt8(ascii: "e") {
      let sign = byte(at: index + 1) == UInt8(ascii: "+") || byte(at: index + 1) == UInt8(ascii: "-") ? 1 : 0
      if isDigit(at: index + 1 + sign) {
        index += 1 + sign
        skipDigits()
      }
    }
    number = start..<index
    value.removeAll(keepingCapacity: true)
    if startsIdentifier(at: index) { readName() }
    return .number
  }

  private mutating func skipDigits() {
    while isDigit(at: index) { index += 1 }
  }

  private mutating func readName() {
    value.removeAll(keepingCapacity: true)
    while index < text.count {
      if isName(at: index) {
        value.append(text[index])
        index += 1
      } else if isEscape(at: index) {
        index += 1
        readEscape()
      } else {
        return
      }
    }
  }

  /// Reads an escape after its backslash (section 4.3.7).
  private mutating func readEscape() {
    guard index < text.count else { return value.append(contentsOf: "\u{fffd}".utf8) }
    var code: UInt32 = 0
    var digits = 0
    while digits < 6, let digit = hexadecimalDigit(at: index) {
      code = code << 4 | digit
      digits += 1
      index += 1
    }
    if digits == 0 {
      value.append(text[index])
      index += 1
      return
    }
    if index < text.count, Self.isSpace(text[index]) { skipNewline() }
    let scalar = code == 0 ? nil : Unicode.Scalar(code)
    value.append(contentsOf: Character(scalar ?? "\u{fffd}").utf8)
  }

  private mutating func skipNewline() {
    index += byte(at: index) == 0x0d && byte(at: index + 1) == 0x0a ? 2 : 1
  }

  // MARK: Bytes ahead

  private func byte(at index: Int) -> UInt8? { index < text.count ? text[index] : nil }

  private func matches(_ word: StaticString) -> Bool { word.withUTF8Buffer { text[index...].starts(with: $0) } }

  private func isDigit(at index: Int) -> Bool { byte(at: index).map { $0 &- 0x30 < 10 } ?? false }

  private func hexadecimalDigit(at index: Int) -> UInt32? {
    guard let byte = byte(at: index) else { return nil }
    if byte &- 0x30 < 10 { return UInt32(byte - 0x30) }
    let letter = (byte | 0x20) &- UInt8(ascii: "a")
    return letter < 6 ? UInt32(letter) + 10 : nil
  }

  private func startsNumber() -> Bool {
    var next = index
    if text[next] == UInt8(ascii: "+") || text[next] == UInt8(ascii: "-") { next += 1 }
    if byte(at: next) == UInt8(ascii: ".") { next += 1 }
    return isDigit(at: next)
  }

  private func startsIdentifier(at index: Int) -> Bool {
    guard byte(at: index) == UInt8(ascii: "-") else { return isNameStart(at: index) || isEscape(at: index) }
    return isNameStart(at: index + 1) || byte(at: index + 1) == UInt8(ascii: "-") || isEscape(at: index + 1)
  }

  private func isNameStart(at index: Int) -> Bool {
    byte(at: index).map { $0 >= 0x80 || $0 == UInt8(ascii: "_") || ($0 | 0x20) &- UInt8(ascii: "a") < 26 } ?? false
  }

  private func isName(at index: Int) -> Bool {
    isNameStart(at: index) || isDigit(at: index) || byte(at: index) == UInt8(ascii: "-")
  }

  private func isEscape(at index: Int) -> Bool {
    byte(at: index) == UInt8(ascii: "\\") && !(byte(at: index + 1).map(Self.isNewline) ?? false)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || isNewline(byte) }

  private static func isNewline(_ byte: UInt8) -> Bool { byte == 0x0a || byte == 0x0c || byte == 0x0d }
}
