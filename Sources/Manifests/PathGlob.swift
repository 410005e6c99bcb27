import ImageURLs

/// A glob over a URL's path.
///
/// `?` is one byte and `*` any number of bytes, never a slash; `**` is any number of bytes, slashes too, and `**/` any number
/// of folders, none too; `[a-z]` is one byte of a set, `[!a-z]` one outside it, never a slash; `{jpg,png}` is any of these; a
/// backslash takes the next character as it is. Characters that a path holds only encoded match their encoding.
struct PathGlob: Sendable {
  enum Token: Sendable, Equatable {
    case byte(UInt8)
    case any
    case set(ranges: [ClosedRange<UInt8>], isNegated: Bool)
    case star
    case starStar
    /// `**/`
    case folders
  }

  private let alternatives: [[Token]]
  private let isForLastSegment: Bool

  init(_ written: String) throws(InvalidPattern) {
    if written.isEmpty { throw InvalidPattern("the pattern is empty") }
    var alternatives: [[Token]] = []
    isForLastSegment = !written.utf8.contains(UInt8(ascii: "/"))
    for alternative in try BraceExpansion.expand(Array(written.utf8)) {
      var tokens = try PathGlobParser(alternative).tokens()
      // A path begins with a slash, which people leave out.
      if !isForLastSegment, tokens.first != .byte(UInt8(ascii: "/")) { tokens.insert(.byte(UInt8(ascii: "/")), at: 0) }
      alternatives.append(tokens)
    }
    self.alternatives = alternatives
  }

  func matches(path: Slice<UnsafeRawBufferPointer>) -> Bool {
    var text = path
    if isForLastSegment, let slash = path.lastIndex(of: UInt8(ascii: "/")) { text = path[(slash + 1)...] }
    let bytes = UnsafeRawBufferPointer(rebasing: text)
    return alternatives.contains { Self.matches($0, bytes) }
  }

  /// Where to go on after a failure: the star takes one byte more.
  private struct Retry {
    var token: Int
    var index: Int
  }

  /// Goes back to the last `*`, and where that cannot grow to the last `**`: never further, since an earlier star that takes
  /// more leaves a later one less to choose from.
  private static func matches(_ tokens: [Token], _ text: UnsafeRawBufferPointer) -> Bool {
    var token = 0
    var index = 0
    var star: Retry?
    var starStar: Retry?
    while true {
      if token == tokens.count {
        if index == text.count { return true }
      } else {
        switch tokens[token] {
        case .star:
          star = Retry(token: token + 1, index: index)
          token += 1
          continue
        case .starStar, .folders:
          star = nil
          starStar = Retry(token: token, index: index)
          token += 1
          continue
        case let single where index < text.count && fits(single, text[index]):
          token += 1
          index += 1
          continue
        default: break
        }
      }
      if let retry = star, retry.index < text.count, text[retry.index] != UInt8(ascii: "/") {
        star!.index += 1
        (token, index) = (retry.token, retry.index + 1)
      } else if let retry = starStar, let next = nextStart(for: tokens[retry.token], after: retry.index, in: text) {
        star = nil
        starStar!.index = next
        (token, index) = (retry.token + 1, next)
      } else {
        return false
      }
    }
  }

  private static func nextStart(for token: Token, after index: Int, in text: UnsafeRawBufferPointer) -> Int? {
    guard index < text.count else { return nil }
    if token == .starStar { return index + 1 }
    return text[index...].firstIndex(of: UInt8(ascii: "/")).map { $0 + 1 }
  }

  private static func fits(_ token: Token, _ byte: UInt8) -> Bool {
    switch token {
    case .byte(let expected): byte == expected
    case .any: byte != UInt8(ascii: "/")
    case .set(let ranges, let isNegated): byte != UInt8(ascii: "/") && ranges.contains { $0.contains(byte) } != isNegated
    case .star, .starStar, .folders: false
    }
  }
}
