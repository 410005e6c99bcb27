import ImagePrimitives

/// Reads the lines of a `robots.txt` (RFC 9309, section 2.2), and keeps the rules for one robot.
struct RobotsParser {
  struct Line {
    var isAllowed: Bool
    var pattern: ArraySlice<UInt8>
    var number: Int
  }

  private let token: [UInt8]
  private var own: [Line] = []
  private var hasOwnGroup = false
  private var general: [Line] = []
  /// Whom the present group is for.
  private var isOwn = false
  private var isGeneral = false
  /// Whether the present group has a rule, so that the next product token begins another.
  private var hasRule = true

  init(token: String) { self.token = Array(token.utf8) }

  /// The rules for the robot, in the order of the file.
  var rules: [Line] { hasOwnGroup ? own : general }

  mutating func read(_ file: [UInt8]) {
    var number = 0
    var rest = file.starts(with: [0xEF, 0xBB, 0xBF]) ? file[3...] : file[...]
    while !rest.isEmpty {
      number += 1
      let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? rest.endIndex
      readLine(rest[..<end], number)
      rest = rest[end...]
      let isPair = rest.starts(with: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
      rest = rest.dropFirst(isPair ? 2 : 1)
    }
  }

  private mutating func readLine(_ line: ArraySlice<UInt8>, _ number: Int) {
    let content = line.prefix { $0 != UInt8(ascii: "#") }
    guard let colon = content.firstIndex(of: UInt8(ascii: ":")) else { return }
    let value = content[(colon + 1)...].trimmed
    switch String(decoding: content[..<colon].trimmed, as: UTF8.self).lowercased() {
    case "user-agent": readAgent(value)
    case "allow": readRule(Line(isAllowed: true, pattern: value, number: number))
    case "disallow": readRule(Line(isAllowed: false, pattern: value, number: number))
    default: break
    }
  }

  private mutating func readAgent(_ value: ArraySlice<UInt8>) {
    if hasRule { (isOwn, isGeneral, hasRule) = (false, false, false) }
    let name = value.prefix { $0 != UInt8(ascii: "/") && !$0.isASCIIWhitespace }
    if name.elementsEqual([UInt8(ascii: "*")]) {
      isGeneral = true
    } else if !token.isEmpty, name.lazy.map(\.asciiLowercased).elementsEqual(token) {
      isOwn = true
      hasOwnGroup = true
    }
  }

  private mutating func readRule(_ line: Line) {
    hasRule = true
    // Without a pattern it matches nothing.
    guard !line.pattern.isEmpty else { return }
    if isOwn { own.append(line) }
    if isGeneral { general.append(line) }
  }
}

extension ArraySlice<UInt8> {
  /// Without blanks and tabs around it.
  fileprivate var trimmed: ArraySlice<UInt8> {
    let rest = drop(while: \.isASCIIWhitespace)
    guard let last = rest.lastIndex(where: { !$0.isASCIIWhitespace }) else { return [] }
    return rest[...last]
  }
}
