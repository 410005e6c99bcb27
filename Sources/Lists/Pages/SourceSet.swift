import Base

/// The descriptors of an image candidate (HTML Standard, section 4.8.4.2.1).
struct SourceDescriptor {
  /// In pixels, as in `640w`.
  var width: UInt32?
  /// In pixels, as in `480h`.
  var height: UInt32?
  /// Image pixels per CSS pixel, as in `2x`.
  var density: Double?
}

/// The image candidates of a `srcset`, by the HTML Standard's algorithm "parse a srcset attribute" (section 4.8.4.2.2).
struct SourceSet: Sequence, IteratorProtocol {
  struct Candidate {
    var url: UnsafeRawBufferPointer
    /// Nil if the descriptors are invalid, so that browsers ignore the candidate.
    var descriptor: SourceDescriptor?
  }

  private let text: UnsafeRawBufferPointer
  private var index = 0

  init(_ text: UnsafeRawBufferPointer) { self.text = text }

  mutating func next() -> Candidate? {
    while index < text.count, text[index].isHTMLSpace || text[index] == UInt8(ascii: ",") { index += 1 }
    guard index < text.count else { return nil }
    let start = index
    while index < text.count, !text[index].isHTMLSpace { index += 1 }
    var end = index
    while end > start, text[end - 1] == UInt8(ascii: ",") { end -= 1 }
    let url = UnsafeRawBufferPointer(rebasing: text[start..<end])
    // A comma ends a candidate without descriptors.
    if end < index { return Candidate(url: url, descriptor: SourceDescriptor()) }
    return Candidate(url: url, descriptor: descriptor())
  }

  /// Reads the descriptors up to the comma that ends the candidate; a comma in parentheses doesn't.
  private mutating func descriptor() -> SourceDescriptor? {
    var isInParentheses = false
    let end =
      text[index...].firstIndex { byte in
        if byte == UInt8(ascii: "(") { isInParentheses = true }
        if byte == UInt8(ascii: ")") { isInParentheses = false }
        return byte == UInt8(ascii: ",") && !isInParentheses
      } ?? text.count
    let written = text[index..<end]
    index = Swift.min(end + 1, text.count)
    var result = SourceDescriptor()
    let isValid = written.split(whereSeparator: \.isHTMLSpace).allSatisfy { result.add($0) }
    return isValid && result.isComplete ? result : nil
  }
}

extension UInt8 {
  /// ASCII white space of HTML and CSS, which has no vertical tab.
  var isHTMLSpace: Bool { isASCIIWhitespace && self != 0x0b }
}

extension SourceDescriptor {
  /// A height is only allowed with a width.
  fileprivate var isComplete: Bool { height == nil || width != nil }

  /// Adds a descriptor; returns false if it is invalid, or contradicts those before it.
  fileprivate mutating func add(_ written: Slice<UnsafeRawBufferPointer>) -> Bool {
    let number = written.dropLast()
    switch written.last {
    case UInt8(ascii: "w"):
      guard width == nil, density == nil, let value = Self.positiveInteger(number) else { return false }
      width = value
    case UInt8(ascii: "h"):
      guard height == nil, density == nil, let value = Self.positiveInteger(number) else { return false }
      height = value
    case UInt8(ascii: "x"):
      guard width == nil, height == nil, density == nil, let value = Self.number(number), value >= 0 else { return false }
      density = value
    default: return false
    }
    return true
  }

  private static func positiveInteger(_ text: Slice<UnsafeRawBufferPointer>) -> UInt32? {
    guard !text.isEmpty, text.allSatisfy(isDigit) else { return nil }
    let value = UInt32(String(decoding: text, as: UTF8.self)) ?? .max
    return value == 0 ? nil : value
  }

  /// A "valid floating-point number" (section 2.3.4.3).
  static func number(_ text: Slice<UnsafeRawBufferPointer>) -> Double? {
    // `Double` also reads words, hexadecimal digits, a plus sign and a trailing point.
    guard text.count <= 64, text.allSatisfy({ isDigit($0) || "-+.eE".utf8.contains($0) }), text.first != UInt8(ascii: "+"),
      text.last.map(isDigit) == true,
      !zip(text, text.dropFirst()).contains(where: { $0 == UInt8(ascii: ".") && !isDigit($1) })
    else { return nil }
    return Double(String(decoding: text, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
