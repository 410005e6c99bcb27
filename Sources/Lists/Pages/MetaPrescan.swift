import Base

/// Looks for a `meta` element with an encoding in a page's first bytes, before they can be parsed (HTML Standard, section 13.2.3.2,
/// "prescan a byte stream to determine its encoding").
struct MetaPrescan {
  private static let bytes = 1024

  private let text: [UInt8]
  private var index = 0

  init(_ bytes: UnsafeRawBufferPointer) { text = Array(bytes.prefix(Self.bytes)) }

  consuming func encoding() -> PageEncoding? {
    while index < text.count {
      if starts(with: "<!--") {
        // The dashes of <!--> count twice.
        index += 2
        while index < text.count, !starts(with: "-->") { index += 1 }
      } else if starts(with: "<meta"), index + 5 < text.count, isNameEnd(text[index + 5]) {
        index += 5
        if let encoding = encodingOfMeta() { return encoding }
      } else if text[index] == UInt8(ascii: "<"),
        isLetter(at: index + 1) || (byte(at: index + 1) == 0x2f && isLetter(at: index + 2))
      {
        while index < text.count, !text[index].isASCIIWhitespace, text[index] != UInt8(ascii: ">") { index += 1 }
        while attribute() != nil {}
      } else if starts(with: "<!") || starts(with: "</") || starts(with: "<?") {
        while index < text.count, text[index] != UInt8(ascii: ">") { index += 1 }
      }
      index += 1
    }
    return nil
  }

  private mutating func encodingOfMeta() -> PageEncoding? {
    var isPragma = false
    var charset: ArraySlice<UInt8>?
    var content: ArraySlice<UInt8>?
    while let (name, value) = attribute() {
      switch String(decoding: name, as: UTF8.self) {
      case "http-equiv": isPragma = isPragma || value.map(\.asciiLowercased).elementsEqual("content-type".utf8)
      case "charset": charset = charset ?? value
      case "content": content = content ?? PageEncoding.charset(in: value)
      default: break
      }
    }
    guard let label = charset ?? (isPragma ? content : nil) else { return nil }
    return PageEncoding(label: label)
  }

  /// "get an attribute": moves over it and returns its name in lower case, and its value.
  private mutating func attribute() -> (name: [UInt8], value: ArraySlice<UInt8>)? {
    while index < text.count, text[index].isASCIIWhitespace || text[index] == UInt8(ascii: "/") { index += 1 }
    guard index < text.count, text[index] != UInt8(ascii: ">") else { return nil }
    let start = index
    while index < text.count, !isNameEnd(text[index]), text[index] != UInt8(ascii: "=") || index == start { index += 1 }
    let name = text[start..<index].map(\.asciiLowercased)
    skipSpaces()
    guard byte(at: index) == UInt8(ascii: "=") else { return (name, []) }
    index += 1
    skipSpaces()
    guard let quote = byte(at: index) else { return nil }
    if quote == 0x22 || quote == 0x27 {
      guard let end = text[(index + 1)...].firstIndex(of: quote) else {
        index = text.count
        return nil
      }
      defer { index = end + 1 }
      return (name, text[(index + 1)..<end])
    }
    let valueStart = index
    while index < text.count, !text[index].isASCIIWhitespace, text[index] != UInt8(ascii: ">") { index += 1 }
    return (name, text[valueStart..<index])
  }

  private mutating func skipSpaces() {
    while index < text.count, text[index].isASCIIWhitespace { index += 1 }
  }

  private func byte(at index: Int) -> UInt8? { index < text.count ? text[index] : nil }

  private func isLetter(at index: Int) -> Bool {
    byte(at: index).map { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 } ?? false
  }

  private func isNameEnd(_ byte: UInt8) -> Bool {
    byte.isASCIIWhitespace || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ">")
  }

  private func starts(with word: StaticString) -> Bool {
    word.withUTF8Buffer { text[index...].lazy.map(\.asciiLowercased).starts(with: $0) }
  }
}
