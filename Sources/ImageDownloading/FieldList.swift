/// A header's value as members with parameters, as lists of structured fields are written (RFC 9651, section 3.1), read forgivingly: junk
/// is a member with an odd name.
struct FieldList {
  struct Member {
    /// The item itself, without quotes.
    let name: String
    private let parameters: [(name: String, value: String?)]

    fileprivate init(_ text: Substring) {
      let parts = FieldList.parts(of: text, separatedBy: UInt8(ascii: ";"))
      name = FieldList.unquoted(parts[0])
      parameters = parts.dropFirst().map { part in
        let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (FieldList.unquoted(sides[0]).lowercased(), sides.count > 1 ? FieldList.unquoted(sides[1]) : nil)
      }
    }

    /// Whether the parameter is there and not said to be false: one without a value is true.
    func isTrue(_ name: String) -> Bool {
      parameters.last { $0.name == name }.map { $0.value == nil || $0.value == "?1" } ?? false
    }

    /// The value of the parameter; empty where it has none.
    func text(_ name: String) -> String? { parameters.last { $0.name == name }.map { $0.value?.lowercased() ?? "" } }
  }

  let members: [Member]

  init(_ value: String) {
    members = Self.parts(of: value[...], separatedBy: UInt8(ascii: ",")).map(Member.init).filter { !$0.name.isEmpty }
  }

  /// The pieces between separators that stand in no quoted string; at least one.
  private static func parts(of text: Substring, separatedBy separator: UInt8) -> [Substring] {
    var parts: [Substring] = []
    var (start, isQuoted, isEscaped) = (text.startIndex, false, false)
    for index in text.utf8.indices {
      switch text.utf8[index] {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\") where isQuoted: isEscaped = true
      case UInt8(ascii: "\""): isQuoted.toggle()
      case separator where !isQuoted:
        parts.append(text[start..<index])
        start = text.utf8.index(after: index)
      default: break
      }
    }
    return parts + [text[start...]]
  }

  private static func unquoted(_ text: Substring) -> String {
    var text = text
    while let first = text.utf8.first, first == 32 || first == 9 { text.removeFirst() }
    while let last = text.utf8.last, last == 32 || last == 9 { text.removeLast() }
    guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return String(text) }
    return String(text.dropFirst().dropLast())
  }
}
