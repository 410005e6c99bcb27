import ImagePrimitives

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
      case UInt8(ascii: "@") where css.matchesIgnoringCase("@namespace", at: offset):
        offset = css.firstOffset(of: ";", from: offset) ?? css.count
      case UInt8(ascii: "@") where css.matchesIgnoringCase("@import", at: offset):
        let start = offset
        offset = css.skippingSpace(from: offset + 7)
        if let quote = css.byte(at: offset), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
          css.string(at: &offset).withUnsafeBytes { if let target = external($0) { report(target, start) } }
        } else {
          // A `url()`, which is next.
          offset -= 1
        }
      case UInt8(ascii: "u"), UInt8(ascii: "U"):
        guard css.matchesIgnoringCase("url(", at: offset), !css.isNameCharacter(at: offset - 1) else { break }
        let start = offset
        offset = css.skippingSpace(from: offset + 4)
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
