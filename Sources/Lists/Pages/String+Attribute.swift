import Base

/// Values of attributes, which are compared without case as HTML does for its keywords.
extension UnsafeRawBufferPointer {
  func equals(_ word: StaticString) -> Bool {
    trimmedASCII.count == word.utf8CodeUnitCount && hasPrefix(word)
  }

  func hasPrefix(_ word: StaticString) -> Bool {
    word.withUTF8Buffer { trimmedASCII.starts(with: $0) { $0.asciiLowercased == $1.asciiLowercased } }
  }

  /// Whether one of the words between the separators is that.
  func hasToken(_ word: StaticString, separators: StaticString = " \t\n\u{c}\r") -> Bool {
    separators.withUTF8Buffer { separators in
      split { separators.contains($0) }.contains { UnsafeRawBufferPointer(rebasing: $0).equals(word) }
    }
  }

  /// The number at the start (HTML Standard, section 2.3.4.4, "rules for parsing dimension values"); nil for a percentage.
  var leadingInteger: UInt32? {
    let text = trimmedASCII
    let digits = text.prefix { $0 &- 0x30 < 10 }
    guard !digits.isEmpty, digits.count < 10, !text.contains(UInt8(ascii: "%")) else { return nil }
    return UInt32(String(decoding: digits, as: UTF8.self))
  }

  /// Whether the path of a URL as written ends in the extension of an image format.
  var hasImageExtension: Bool {
    ImageExtension.ends(UnsafeRawBufferPointer(rebasing: trimmedASCII))
  }

  /// Whether it is a CSS value with an image.
  var hasImageFunction: Bool { contains("url(") || contains("image-set(") }

  /// Whether it is a URL with a path rather than a name, number, colour or object, whose meaning only a script knows.
  var looksLikePath: Bool {
    let text = trimmedASCII
    return text.contains(UInt8(ascii: "/")) && !text.contains { $0.isASCIIWhitespace || "{}<>\"()".utf8.contains($0) }
  }

  /// Whether the last segment has a colon: MediaWiki's pages about files are named `File:a.jpg`.
  var namesFilePage: Bool {
    let path = prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    return path.suffix(from: path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex).contains(UInt8(ascii: ":"))
  }

  private func contains(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { text in
      indices.contains { self[$0...].lazy.map(\.asciiLowercased).starts(with: text) }
    }
  }

  private var trimmedASCII: Slice<UnsafeRawBufferPointer> {
    var text = self[...]
    while let first = text.first, first.isASCIIWhitespace { text.removeFirst() }
    while let last = text.last, last.isASCIIWhitespace { text.removeLast() }
    return text
  }
}

extension String {
  /// A value for people and reports, at most 1,024 bytes.
  init(_ value: UnsafeRawBufferPointer) { self.init(decoding: value.prefix(1024), as: UTF8.self) }
}
