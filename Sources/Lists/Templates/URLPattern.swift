import Glibc
package import Base

package struct InvalidPattern: Error, Sendable, Hashable {
  /// One sentence about the problem.
  package let message: String

  init(_ message: String) { self.message = message }
}

/// A rule that matches URLs: a glob over the path, or `re:` and a regular expression over the whole URL.
///
/// Both match a URL as it is requested or with unified percent-encodings, whatever spelling a list has. A glob with a slash must
/// match the whole path, a glob without one the last segment, so that `*.jpg` means every JPEG file; see ``PathGlob`` for its
/// syntax. An expression is a POSIX extended one (regex(7)), and matches anywhere unless anchored. Both are case-sensitive.
package struct URLPattern: Sendable {
  private enum Kind: Sendable {
    case glob(PathGlob)
    case expression(RegularExpression)
  }

  /// The pattern as written in a job file.
  package let written: String
  private let kind: Kind

  /// Creates a pattern from its form in a job file; throws if it is invalid.
  package init(_ written: String) throws(InvalidPattern) {
    self.written = written
    if written.hasPrefix("re:") {
      kind = .expression(try RegularExpression(String(written.dropFirst(3))))
    } else {
      kind = .glob(try PathGlob(written))
    }
  }

  /// Whether a normalised URL matches.
  package func matches(_ url: UnsafeRawBufferPointer, parts: URLParts) -> Bool {
    let text: UnsafeRawBufferPointer
    switch kind {
    case .glob: text = UnsafeRawBufferPointer(rebasing: url[parts.path])
    case .expression: text = url
    }
    return matches(text) || withUnifiedEncodings(text)?.withUnsafeBytes(matches) == true
  }

  private func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    switch kind {
    case .glob(let glob): glob.matches(path: text[...])
    case .expression(let expression): expression.matches(text)
    }
  }
}

/// Whether a URL matches one of `include`, or that is empty, and none of `exclude`.
func isSelected(
  _ url: UnsafeRawBufferPointer,
  _ parts: URLParts,
  by include: [URLPattern],
  butNot exclude: [URLPattern]
) -> Bool {
  let fits = { (pattern: URLPattern) in pattern.matches(url, parts: parts) }
  return (include.isEmpty || include.contains(where: fits)) && !exclude.contains(where: fits)
}

/// A POSIX extended regular expression (regcomp(3)).
///
/// `@unchecked Sendable`: the compiled expression doesn't change after `init`, and regexec(3) may use it in several
/// threads.
final class RegularExpression: @unchecked Sendable {
  private let compiled = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
  /// For `deinit`, which runs after a failed compilation, too.
  private var isCompiled = false

  init(_ expression: String) throws(InvalidPattern) {
    if expression.isEmpty { throw InvalidPattern("the expression after 're:' is empty") }
    // Without NOSUB, since glibc takes the range of bytes to search from the first match.
    let status = regcomp(compiled, expression, REG_EXTENDED)
    guard status == 0 else {
      var message = [CChar](repeating: 0, count: 256)
      regerror(status, compiled, &message, message.count)
      let sentence = String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      throw InvalidPattern("'\(expression)' isn't a valid extended regular expression: \(sentence)")
    }
    isCompiled = true
  }

  deinit {
    if isCompiled { regfree(compiled) }
    compiled.deallocate()
  }

  /// Whether it matches anywhere in `text`.
  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let base = text.baseAddress else { return false }
    var range = regmatch_t(rm_so: 0, rm_eo: regoff_t(text.count))
    return regexec(compiled, base.assumingMemoryBound(to: CChar.self), 1, &range, REG_STARTEND) == 0
  }
}

/// A glob over a URL's path.
///
/// `?` is one byte and `*` any number of bytes except slashes; `**` is any number of bytes including slashes, and `**/`
/// any number of folders, even none. `[a-z]` is one byte of a set, `[!a-z]` one byte outside it, never a slash;
/// `{jpg,png}` is either alternative; a backslash escapes the next character. Characters that must be encoded in a path
/// match their encoding.
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
      var tokens = try Self.tokens(alternative)
      // A path starts with a slash, which users leave out.
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

  /// A state to return to after a mismatch: the star takes one more byte.
  private struct Retry {
    var token: Int
    var index: Int
  }

  /// Backtracks to the last `*`, and if that can't grow, to the last `**`, but never further: an earlier star that
  /// takes more only leaves less for a later one.
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

/// The syntax of a glob without braces.
extension PathGlob {
  private static let slash = UInt8(ascii: "/")
  private static let star = UInt8(ascii: "*")

  private static func tokens(_ text: [UInt8]) throws(InvalidPattern) -> [Token] {
    var (rest, tokens) = (text[...], [Token]())
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "?"): tokens.append(.any)
      case star:
        guard rest.first == star else {
          tokens.append(.star)
          continue
        }
        rest = rest.drop { $0 == star }
        let isFolders = (tokens.isEmpty || tokens.last == .byte(slash)) && rest.first == slash
        tokens.append(isFolders ? .folders : .starStar)
        if isFolders { rest.removeFirst() }
      case UInt8(ascii: "["): tokens.append(try set(&rest))
      case UInt8(ascii: "\\"):
        guard let escaped = rest.popFirst() else { throw InvalidPattern("the pattern ends in a backslash; escape it as \\\\") }
        tokens += literal(escaped)
      default: tokens += literal(byte)
      }
    }
    return tokens
  }

  private static func set(_ rest: inout ArraySlice<UInt8>) throws(InvalidPattern) -> Token {
    let isNegated = rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "^")
    if isNegated { rest.removeFirst() }
    var ranges: [ClosedRange<UInt8>] = []
    while let next = rest.first, next != UInt8(ascii: "]") || ranges.isEmpty {
      let low = try member(&rest)
      var high = low
      if rest.first == UInt8(ascii: "-"), let end = rest.dropFirst().first, end != UInt8(ascii: "]") {
        rest.removeFirst()
        high = try member(&rest)
      }
      guard low <= high else { throw InvalidPattern("a range in [ ] is in the wrong order; write it as [a-z]") }
      ranges.append(low...high)
    }
    guard rest.popFirst() != nil else { throw InvalidPattern("a [ is not closed; write \\[ for the character itself") }
    return .set(ranges: ranges, isNegated: isNegated)
  }

  private static func member(_ rest: inout ArraySlice<UInt8>) throws(InvalidPattern) -> UInt8 {
    if rest.first == UInt8(ascii: "\\"), rest.count > 1 { rest.removeFirst() }
    let byte = rest.removeFirst()
    guard byte < 128 else { throw InvalidPattern("[ ] may contain only ASCII characters; use {…} for others") }
    return byte
  }

  /// A byte, percent-encoded if a path can't contain it as it is.
  private static func literal(_ byte: UInt8) -> [Token] {
    guard byte <= 32 || byte >= 127 || "\"<>^`{}#".utf8.contains(byte) else { return [.byte(byte)] }
    return "%\(hexadecimal(UInt64(byte), digits: 2, isUppercase: true))".utf8.map { .byte($0) }
  }
}

/// Expands `a{b,c}` into `ab` and `ac`.
enum BraceExpansion {
  /// The maximum number of patterns in one.
  private static let maximumAlternatives = 256

  static func expand(_ text: [UInt8]) throws(InvalidPattern) -> [[UInt8]] {
    var rest = text[...]
    return try expand(&rest, inGroup: false)
  }

  /// Expands the text up to the comma or brace that ends an alternative of a group.
  private static func expand(_ rest: inout ArraySlice<UInt8>, inGroup: Bool) throws(InvalidPattern) -> [[UInt8]] {
    var results: [[UInt8]] = [[]]
    while let byte = rest.first, !inGroup || byte != UInt8(ascii: ",") && byte != UInt8(ascii: "}") {
      rest.removeFirst()
      var alternatives = [[byte]]
      if byte == UInt8(ascii: "\\") {
        alternatives[0] += rest.prefix(1)
        rest = rest.dropFirst()
      } else if byte == UInt8(ascii: "{") {
        alternatives = try expand(&rest, inGroup: true)
        while rest.first == UInt8(ascii: ",") {
          rest.removeFirst()
          alternatives += try expand(&rest, inGroup: true)
        }
        if rest.popFirst() == nil { throw InvalidPattern("a { is not closed; write \\{ for the character itself") }
      }
      results = results.flatMap { beginning in alternatives.map { beginning + $0 } }
      guard results.count <= maximumAlternatives else {
        throw InvalidPattern("the braces expand to more than \(maximumAlternatives) patterns; split the pattern")
      }
    }
    return results
  }
}
