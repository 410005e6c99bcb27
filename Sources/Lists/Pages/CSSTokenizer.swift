import Base

/// A token of a stylesheet. Its text, if it has one, is in ``CSSTokenizer/value``.
enum CSSToken: Equatable {
  case whitespace, identifier, function, atKeyword, string, url, number, end
  /// A hash, or a string or URL that is invalid.
  case other
  /// Any other byte; also brackets, colon and semicolon.
  case delimiter(UInt8)
}

/// Splits a stylesheet into tokens (CSS Syntax Level 3, section 4.3), in one pass and without looking far ahead.
struct CSSTokenizer {
  /// The characters of the last token without escapes: the name of a function, at-rule or identifier, a string's or URL's text,
  /// or the unit of a number.
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
    case _ where byte.isHTMLSpace:
      skipSpace()
      return .whitespace
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return string(byte)
    case UInt8(ascii: "#") where isName(at: 1) || isEscape(at: 1):
      index += 1
      readName()
      return .other
    case UInt8(ascii: "@") where startsIdentifier(at: 1):
      index += 1
      readName()
      return .atKeyword
    // The marks of HTML comments mean nothing here.
    case _ where matches("<!--") || matches("-->"):
      index += byte == UInt8(ascii: "<") ? 4 : 3
      return .whitespace
    case _ where startsNumber: return readNumber()
    case _ where startsIdentifier(at: 0): return identifierLike()
    default:
      index += 1
      return .delimiter(byte)
    }
  }

  private mutating func skipComments() {
    while matches("/*") {
      index += 2
      while index < text.count, !matches("*/") { index += 1 }
      index = min(index + 2, text.count)
    }
  }

  private mutating func string(_ quote: UInt8) -> CSSToken {
    value.removeAll(keepingCapacity: true)
    index += 1
    while index < text.count {
      let byte = text[index]
      if Self.isNewline(byte) { return .other }
      index += 1
      if byte == quote { return .string }
      if byte != UInt8(ascii: "\\") {
        value.append(byte)
      } else if Self.isNewline(self.byte(0)) {
        skipNewline()
      } else if index < text.count {
        readEscape()
      }
    }
    return .string
  }

  private mutating func identifierLike() -> CSSToken {
    readName()
    guard byte(0) == UInt8(ascii: "(") else { return .identifier }
    index += 1
    guard value.lazy.map(\.asciiLowercased).elementsEqual("url".utf8) else { return .function }
    let argument = index
    skipSpace()
    // A quoted URL is a function with a string.
    if byte(0) == 0x22 || byte(0) == 0x27 {
      index = argument
      return .function
    }
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
      case _ where byte.isHTMLSpace:
        skipSpace()
        if index < text.count, self.byte(0) != UInt8(ascii: ")") { return badURL() }
      case 0x22, 0x27, UInt8(ascii: "("), 0x01...0x08, 0x0b, 0x0e...0x1f, 0x7f: return badURL()
      case UInt8(ascii: "\\"):
        guard isEscape(at: 0) else { return badURL() }
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
    while index < text.count, byte(0) != UInt8(ascii: ")") { index += isEscape(at: 0) ? 2 : 1 }
    index = min(index + 1, text.count)
    return .other
  }

  private mutating func readNumber() -> CSSToken {
    if byte(0) == UInt8(ascii: "+") || byte(0) == UInt8(ascii: "-") { index += 1 }
    skipDigits()
    if byte(0) == UInt8(ascii: "."), isDigit(at: 1) {
      index += 1
      skipDigits()
    }
    if byte(0) | 0x20 == UInt8(ascii: "e") {
      let sign = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-") ? 1 : 0
      if isDigit(at: 1 + sign) {
        index += 1 + sign
        skipDigits()
      }
    }
    number = start..<index
    value.removeAll(keepingCapacity: true)
    if startsIdentifier(at: 0) { readName() }
    return .number
  }

  private mutating func readName() {
    value.removeAll(keepingCapacity: true)
    while true {
      if isName(at: 0) {
        value.append(text[index])
        index += 1
      } else if isEscape(at: 0) {
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
    let first = index
    while index < first + 6, let digit = hexadecimalValue(byte(0)) {
      code = code << 4 | UInt32(digit)
      index += 1
    }
    if index == first {
      value.append(text[index])
      index += 1
      return
    }
    if byte(0).isHTMLSpace { skipNewline() }
    let scalar = code == 0 ? nil : Unicode.Scalar(code)
    value.append(contentsOf: Character(scalar ?? "\u{fffd}").utf8)
  }

  private mutating func skipDigits() { while isDigit(at: 0) { index += 1 } }

  private mutating func skipSpace() { while byte(0).isHTMLSpace { index += 1 } }

  /// A line break may be CRLF.
  private mutating func skipNewline() { index += byte(0) == 0x0d && byte(1) == 0x0a ? 2 : 1 }

  // MARK: Bytes ahead

  /// A byte after the current ones; zero beyond the end.
  private func byte(_ offset: Int) -> UInt8 { index + offset < text.count ? text[index + offset] : 0 }

  private func matches(_ word: StaticString) -> Bool {
    (0..<word.utf8CodeUnitCount).allSatisfy { byte($0) == word.utf8Start[$0] }
  }

  private func isDigit(at offset: Int) -> Bool { byte(offset) &- 0x30 < 10 }

  private var startsNumber: Bool {
    var offset = byte(0) == UInt8(ascii: "+") || byte(0) == UInt8(ascii: "-") ? 1 : 0
    if byte(offset) == UInt8(ascii: ".") { offset += 1 }
    return isDigit(at: offset)
  }

  private func startsIdentifier(at offset: Int) -> Bool {
    if byte(offset) != UInt8(ascii: "-") { return isNameStart(at: offset) || isEscape(at: offset) }
    return isNameStart(at: offset + 1) || byte(offset + 1) == UInt8(ascii: "-") || isEscape(at: offset + 1)
  }

  private func isNameStart(at offset: Int) -> Bool {
    let byte = byte(offset)
    return byte >= 0x80 || byte == UInt8(ascii: "_") || (byte | 0x20) &- UInt8(ascii: "a") < 26
  }

  private func isName(at offset: Int) -> Bool {
    isNameStart(at: offset) || isDigit(at: offset) || byte(offset) == UInt8(ascii: "-")
  }

  private func isEscape(at offset: Int) -> Bool { byte(offset) == UInt8(ascii: "\\") && !Self.isNewline(byte(offset + 1)) }

  private static func isNewline(_ byte: UInt8) -> Bool { byte == 0x0a || byte == 0x0c || byte == 0x0d }
}
