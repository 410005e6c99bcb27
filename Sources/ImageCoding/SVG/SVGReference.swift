import Base
import Platform

/// References to other resources, in attributes and CSS.
enum SVGReference {
  /// The target of a reference, if it isn't in the document itself.
  static func external(_ url: UnsafeRawBufferPointer) -> String? {
    let target = UnsafeRawBufferPointer(rebasing: url.drop { $0.isASCIIWhitespace })
    let view = ByteView(target)
    guard let first = view.byte(at: 0), first != UInt8(ascii: "#"), !view.matchesIgnoringCase("data:") else { return nil }
    return String(decoding: target.prefix(1024), as: UTF8.self).trimmingEnd
  }

  /// Calls `report` with the target and the offset of each `url()` and `@import` to other resources (CSS Syntax 3, section 4; CSS
  /// Cascade 4, section 2). Comments, strings and names of namespaces don't count.
  static func forEachExternal(in css: ByteView, _ report: (String, _ offset: Int) -> Void) {
    var offset = 0
    while let byte = css.byte(at: offset) {
      switch byte {
      case UInt8(ascii: "/") where css.matches("/*", at: offset):
        offset = css.firstOffset(of: "*/", from: offset + 2) ?? css.count
      case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = css.string(at: &offset)
      case UInt8(ascii: "@"):
        let (start, word) = (offset, css.word(at: offset + 1))
        if word.name == "namespace" {
          offset = css.firstOffset(of: ";", from: offset) ?? css.count
          break
        }
        guard word.name == "import" else { break }
        offset = css.skippingSpace(from: word.end)
        if let quote = css.byte(at: offset), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
          css.string(at: &offset).withUnsafeBytes { if let target = external($0) { report(target, start) } }
        } else {
          // A `url()`, which is next.
          offset -= 1
        }
      case _ where byte == UInt8(ascii: "\\") || css.isNameCharacter(at: offset):
        let (start, word) = (offset, css.word(at: offset))
        guard word.name == "url", css.byte(at: word.end) == UInt8(ascii: "(") else {
          offset = word.end - 1
          break
        }
        offset = css.skippingSpace(from: word.end + 1)
        css.target(at: &offset).withUnsafeBytes { if let target = external($0) { report(target, start) } }
      default: break
      }
      offset += 1
    }
  }
}

extension ByteView {
  fileprivate func skippingSpace(from offset: Int) -> Int {
    var offset = offset
    while let byte = byte(at: offset), byte.isASCIIWhitespace { offset += 1 }
    return offset
  }

  fileprivate func isNameCharacter(at offset: Int) -> Bool {
    guard let byte = byte(at: offset) else { return false }
    let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte.asciiLowercased
    return isLetter || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte >= 0x80
  }

  /// The name at `offset` in lower case, with its escapes decoded (CSS Syntax 3, section 4.3.7), and the offset of its end. Of a name
  /// with other characters than ASCII, or more than 16, the name is empty.
  fileprivate func word(at offset: Int) -> (name: String, end: Int) {
    var (end, letters) = (offset, [UInt8]())
    while let byte = byte(at: end) {
      if byte == UInt8(ascii: "\\") {
        letters.append(escaped(at: &end))
      } else if isNameCharacter(at: end) || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
        letters.append(byte.asciiLowercased)
        end += 1
      } else {
        break
      }
    }
    return (letters.count <= 16 && letters.allSatisfy { $0 < 0x80 } ? String(decoding: letters, as: UTF8.self) : "", end)
  }

  /// The character of the escape at `offset`, which moves behind it, in lower case; 255 if it isn't ASCII.
  private func escaped(at offset: inout Int) -> UInt8 {
    offset += 1
    guard let first = byte(at: offset) else { return 255 }
    var (value, digits) = (0, 0)
    while digits < 6, let digit = byte(at: offset).flatMap({ Character(UnicodeScalar($0)).hexDigitValue }) {
      value = value << 4 | digit
      digits += 1
      offset += 1
    }
    guard digits > 0 else {
      offset += 1
      return first.asciiLowercased
    }
    if byte(at: offset)?.isASCIIWhitespace == true { offset += 1 }
    return value < 0x80 ? UInt8(value).asciiLowercased : 255
  }

  /// The text of the string at `offset`, which moves to its closing quote, or to the end of the line if that is missing.
  fileprivate func string(at offset: inout Int) -> [UInt8] {
    let quote = byte(at: offset)
    var text: [UInt8] = []
    offset += 1
    while let byte = byte(at: offset), byte != quote, byte != UInt8(ascii: "\n") {
      if byte == UInt8(ascii: "\\") { offset += 1 }
      if text.count < 1024, let byte = self.byte(at: offset) { text.append(byte) }
      offset += 1
    }
    return text
  }

  /// The target of a `url(` whose argument is at `offset`, which moves to its end.
  fileprivate func target(at offset: inout Int) -> [UInt8] {
    if let quote = byte(at: offset), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") { return string(at: &offset) }
    var text: [UInt8] = []
    while let byte = byte(at: offset), byte != UInt8(ascii: ")") {
      if text.count < 1024 { text.append(byte) }
      offset += 1
    }
    return text
  }
}

extension String {
  fileprivate var trimmingEnd: String {
    var text = self[...]
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

/// The data in a URL (RFC 2397), as browsers decode it (WHATWG Fetch, "data: URL processor").
struct SVGDataURL {
  private let data: UnsafeRawBufferPointer
  private let isBase64: Bool

  /// Parses a URL, which must outlive this; nil if it isn't a data URL.
  init?(_ url: UnsafePointer<CChar>) {
    let text = UnsafeRawBufferPointer(start: url, count: strlen(url))
    let bytes = UnsafeRawBufferPointer(rebasing: text.drop { $0.isASCIIWhitespace })
    guard ByteView(bytes).matchesIgnoringCase("data:") else { return nil }
    let comma = bytes.firstIndex(of: UInt8(ascii: ",")) ?? bytes.count
    data = UnsafeRawBufferPointer(rebasing: bytes[min(comma + 1, bytes.count)...])
    isBase64 = String(decoding: bytes[..<comma].filter { !$0.isASCIIWhitespace }, as: UTF8.self).lowercased().hasSuffix(";base64")
  }

  /// The decoded bytes; nil if they are invalid Base64.
  var bytes: [UInt8]? {
    guard data.contains(UInt8(ascii: "%")) else { return isBase64 ? Self.decodeBase64(data) : Array(data) }
    let bytes = data.withoutPercentEncoding
    return isBase64 ? bytes.withUnsafeBytes(Self.decodeBase64) : bytes
  }

  /// Decodes with or without padding (WHATWG Infra, "forgiving-base64 decode").
  private static func decodeBase64(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    var digits = text.filter { !$0.isASCIIWhitespace }
    if digits.count % 4 == 0 {
      for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
    }
    guard digits.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    for (index, digit) in digits.enumerated() {
      guard let value = value(of: digit) else { return nil }
      bits = bits << 6 | value
      // Each of four digits but the first completes a byte.
      if index & 3 > 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * (index & 3)))) }
    }
    return bytes
  }

  /// The value of a Base64 digit (RFC 4648, section 4).
  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit) - 65
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit) - 97 + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit) - 48 + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes with `%XX` decoded.
  fileprivate var withoutPercentEncoding: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var offset = 0
    while offset < count {
      if self[offset] == UInt8(ascii: "%"), let high = digit(at: offset + 1), let low = digit(at: offset + 2) {
        bytes.append(high << 4 | low)
        offset += 3
      } else {
        bytes.append(self[offset])
        offset += 1
      }
    }
    return bytes
  }

  private func digit(at offset: Int) -> UInt8? {
    offset < count ? Character(UnicodeScalar(self[offset])).hexDigitValue.map { UInt8($0) } : nil
  }
}
