import Glibc

/// The start of an element; its texts are valid during the parser's call.
struct XMLElement {
  typealias Attributes = UnsafeMutablePointer<UnsafePointer<CChar>?>

  /// The name without its prefix.
  let name: UnsafePointer<CChar>
  let prefix: UnsafeRawBufferPointer
  let attributes: Attributes?
  let line: UInt64

  func isNamed(_ other: StaticString) -> Bool { Self.isEqual(name, other) }

  /// The value of an attribute without a prefix; nil if the element lacks it.
  func attribute(_ name: StaticString) -> UnsafeRawBufferPointer? {
    var next = attributes
    while let pair = next, let attribute = pair[0], let value = pair[1] {
      if Self.isEqual(attribute, name) { return UnsafeRawBufferPointer(start: value, count: strlen(value)) }
      next = pair + 2
    }
    return nil
  }

  private static func isEqual(_ text: UnsafePointer<CChar>, _ other: StaticString) -> Bool {
    strcmp(text, UnsafeRawPointer(other.utf8Start).assumingMemoryBound(to: CChar.self)) == 0
  }
}

extension UnsafeRawBufferPointer {
  /// Returns the bytes without surrounding XML white space.
  func trimmedOfXMLSpace() -> UnsafeRawBufferPointer {
    guard let start = firstIndex(where: { !Self.isXMLSpace($0) }), let last = lastIndex(where: { !Self.isXMLSpace($0) }) else {
      return UnsafeRawBufferPointer(rebasing: self[..<0])
    }
    return UnsafeRawBufferPointer(rebasing: self[start...last])
  }

  static func isXMLSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0a ~= byte || byte == 0x0d }
}
