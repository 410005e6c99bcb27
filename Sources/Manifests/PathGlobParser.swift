/// Reads the letters of a glob without braces.
struct PathGlobParser {
  private let text: [UInt8]
  private var index = 0

  init(_ text: [UInt8]) { self.text = text }

  func tokens() throws(InvalidPattern) -> [PathGlob.Token] {
    var copy = self
    var tokens: [PathGlob.Token] = []
    while copy.index < copy.text.count { try copy.readToken(into: &tokens) }
    return tokens
  }

  private mutating func readToken(into tokens: inout [PathGlob.Token]) throws(InvalidPattern) {
    let byte = text[index]
    index += 1
    switch byte {
    case UInt8(ascii: "?"): tokens.append(.any)
    case UInt8(ascii: "*"): tokens.append(readStars(afterSlash: tokens.last == nil || tokens.last == .byte(UInt8(ascii: "/"))))
    case UInt8(ascii: "["): tokens.append(try readSet())
    case UInt8(ascii: "\\"):
      guard index < text.count else { throw InvalidPattern("the pattern ends in a backslash") }
      Self.appendLiteral(text[index], to: &tokens)
      index += 1
    default: Self.appendLiteral(byte, to: &tokens)
    }
  }

  private mutating func readStars(afterSlash: Bool) -> PathGlob.Token {
    guard index < text.count, text[index] == UInt8(ascii: "*") else { return .star }
    while index < text.count, text[index] == UInt8(ascii: "*") { index += 1 }
    guard afterSlash, index < text.count, text[index] == UInt8(ascii: "/") else { return .starStar }
    index += 1
    return .folders
  }

  private mutating func readSet() throws(InvalidPattern) -> PathGlob.Token {
    let isNegated = index < text.count && (text[index] == UInt8(ascii: "!") || text[index] == UInt8(ascii: "^"))
    if isNegated { index += 1 }
    var ranges: [ClosedRange<UInt8>] = []
    while index < text.count, text[index] != UInt8(ascii: "]") || ranges.isEmpty {
      let low = try readMember()
      var high = low
      if index + 1 < text.count, text[index] == UInt8(ascii: "-"), text[index + 1] != UInt8(ascii: "]") {
        index += 1
        high = try readMember()
      }
      guard low <= high else { throw InvalidPattern("a range in [ ] ends before it begins") }
      ranges.append(low...high)
    }
    guard index < text.count else { throw InvalidPattern("a [ is not closed; write \\[ for the character itself") }
    index += 1
    return .set(ranges: ranges, isNegated: isNegated)
  }

  private mutating func readMember() throws(InvalidPattern) -> UInt8 {
    if text[index] == UInt8(ascii: "\\"), index + 1 < text.count { index += 1 }
    guard text[index] < 128 else { throw InvalidPattern("[ ] can hold ASCII characters only; use {…} for others") }
    index += 1
    return text[index - 1]
  }

  /// A byte that a path cannot hold as it is stands there percent-encoded.
  private static func appendLiteral(_ byte: UInt8, to tokens: inout [PathGlob.Token]) {
    guard byte <= 32 || byte >= 127 || "\"<>\\^`{|}#".utf8.contains(byte) else { return tokens.append(.byte(byte)) }
    let digits = Array("0123456789ABCDEF".utf8)
    tokens += [.byte(UInt8(ascii: "%")), .byte(digits[Int(byte >> 4)]), .byte(digits[Int(byte & 15)])]
  }
}

/// Writes `a{b,c}` out as `ab` and `ac`.
enum BraceExpansion {
  /// How many patterns one may stand for.
  private static let maximumAlternatives = 256

  static func expand(_ text: [UInt8]) throws(InvalidPattern) -> [[UInt8]] {
    guard let (open, commas, close) = try firstGroup(in: text) else { return [text] }
    var results: [[UInt8]] = []
    let tails = try expand(Array(text[(close + 1)...]))
    var start = open + 1
    for end in commas + [close] {
      for middle in try expand(Array(text[start..<end])) {
        for tail in tails { results.append(text[..<open] + middle + tail) }
      }
      start = end + 1
    }
    guard results.count <= maximumAlternatives else {
      throw InvalidPattern("the braces stand for more than \(maximumAlternatives) patterns")
    }
    return results
  }

  private static func firstGroup(in text: [UInt8]) throws(InvalidPattern) -> (open: Int, commas: [Int], close: Int)? {
    var open: Int?
    var commas: [Int] = []
    var depth = 0
    var index = 0
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "\\"): index += 1
      case UInt8(ascii: "{"):
        depth += 1
        if depth == 1 { open = index }
      case UInt8(ascii: ",") where depth == 1: commas.append(index)
      case UInt8(ascii: "}") where depth > 0:
        depth -= 1
        if depth == 0 { return (open!, commas, index) }
      default: break
      }
      index += 1
    }
    if depth > 0 { throw InvalidPattern("a { is not closed; write \\{ for the character itself") }
    return nil
  }
}
