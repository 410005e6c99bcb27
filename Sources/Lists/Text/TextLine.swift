import Glibc
import Base

/// How a line of text looks, before it is taken as a URL.
///
/// A list that is read by mistake, such as a log or a stylesheet, must not become requests: with a base, any text would be a
/// relative URL.
enum TextLine {
  /// It begins with `http:` or `https:`.
  case absolute
  /// Another reference: it has a slash, a query or an image extension.
  case path
  /// One word, as a relative URL may be.
  case word
  /// It isn't a URL, or has words after it.
  case other(problem: String)

  private static let words = "the line has words after the URL; write one URL per line, and a space in it as %20"
  private static let noURL =
    "the line isn't a URL or a path; encode its special characters, or set the list's format"
  private static let slash = UInt8(ascii: "/")

  /// Whether the line is `.absolute` without a look at more than its first bytes, if it has no blank.
  @inline(__always)
  static func startsAsURL(_ text: UnsafeRawBufferPointer) -> Bool {
    text.count >= 8 && text.loadUnaligned(as: UInt32.self).littleEndian == 0x7074_7468 && (text[4] == 0x3a || text[5] == 0x3a)
  }

  /// The line's text has no blanks around it.
  init(_ text: UnsafeRawBufferPointer) {
    let blank = text.firstIndex(where: Self.isBlank)
    if Self.startsAsURL(text) || Self.schemeEnd(of: text).map({ Self.isWeb(text[..<$0]) }) == true {
      self = blank.map { Self.isPath(text, withBlankAt: $0) } ?? true ? .absolute : .other(problem: Self.words)
    } else {
      self = Self.reference(text, blank: blank)
    }
  }

  /// The reason why the line isn't an entry; nil if it may be one.
  var problem: String? { if case .other(let problem) = self { problem } else { nil } }

  /// Spaces and control characters, some of which browsers drop from URLs.
  private static func isBlank(_ byte: UInt8) -> Bool { byte <= UInt8(ascii: " ") }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (byte | 32) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
  }

  /// The index of the colon after a scheme (RFC 3986, section 3.1).
  private static func schemeEnd(of text: UnsafeRawBufferPointer) -> Int? {
    let end = text.firstIndex { !isAlphanumeric($0) && !"+-.".utf8.contains($0) }
    return end.flatMap { text[$0] == UInt8(ascii: ":") && $0 > 0 ? $0 : nil }
  }

  private static func isWeb(_ scheme: Slice<UnsafeRawBufferPointer>) -> Bool {
    let lowercased = scheme.lazy.map { $0 | 32 }
    return lowercased.elementsEqual("http".utf8) || lowercased.elementsEqual("https".utf8)
  }

  private static func reference(_ text: UnsafeRawBufferPointer, blank: Int?) -> TextLine {
    guard let first = text.first, text.contains(where: { isAlphanumeric($0) || $0 >= 0x80 }),
      !text.contains(where: { $0 < 0x20 || "\"<>{}|\\^`".utf8.contains($0) }),
      !",;:".utf8.contains(text[text.count - 1]), firstRange(of: "](", in: text[...]) == nil
    else { return .other(problem: noURL) }
    if let blank {
      let isName = isAlphanumeric(first) || first >= 0x80 || "/._(%".utf8.contains(first)
      return isName && isPath(text, withBlankAt: blank) ? .path : .other(problem: noURL)
    }
    // A URL of another scheme has its own error.
    if let scheme = schemeEnd(of: text) { return text[(scheme + 1)...].first == slash ? .path : .word }
    if text.starts(with: "/*".utf8) || text.starts(with: "//".utf8) && !hasHost(text) { return .other(problem: noURL) }
    let mark = text.firstIndex { $0 == slash || $0 == UInt8(ascii: "?") }
    let hasOwnURL = firstRange(of: "://", in: text[...]).map { mark == nil || mark! > $0 } ?? false
    if hasOwnURL || text[..<(mark ?? text.count)].contains(UInt8(ascii: "=")) { return .other(problem: noURL) }
    if mark != nil || ImageExtension.ends(text) { return .path }
    let isWord = text.allSatisfy { isAlphanumeric($0) || $0 >= 0x80 || "-_.~%@+()#".utf8.contains($0) }
    return isWord ? .word : .other(problem: noURL)
  }

  /// Whether two slashes are followed by the name of a host, not by a comment.
  private static func hasHost(_ text: UnsafeRawBufferPointer) -> Bool {
    text[2...].prefix { $0 != slash }.dropFirst().contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }
  }

  /// Whether the blanks are in the name of a file or folder, as in `/my photo.jpg`: the path ends in an image extension, and what
  /// precedes a blank is neither complete nor followed by another path or URL.
  private static func isPath(_ text: UnsafeRawBufferPointer, withBlankAt blank: Int) -> Bool {
    let end = text.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.count
    let path = UnsafeRawBufferPointer(rebasing: text[..<end])
    if blank > end { return isQuery(text[blank...]) }
    guard ImageExtension.ends(path), !text[end...].contains(where: isBlank) else { return false }
    if let authority = firstRange(of: "://", in: text[...]) {
      guard let root = text[(authority + 3)...].firstIndex(of: slash), root < blank else { return false }
    }
    guard firstRange(of: "://", in: text[blank...]) == nil else { return false }
    guard !text[blank...].contains(where: { $0 < 0x20 || "\"<>{}|`".utf8.contains($0) }) else { return false }
    return path.indices.dropFirst(blank).allSatisfy { index in
      guard isBlank(path[index]) else { return true }
      let next = path[index + 1]
      return !isBlank(next) && next != slash && !ImageExtension.ends(UnsafeRawBufferPointer(rebasing: path[..<index]))
    }
  }

  /// Whether the text from a blank in a query on belongs to the query, since another field follows: `x=a b&y=1`.
  private static func isQuery(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
    guard let lastBlank = text.lastIndex(where: isBlank), let field = text.lastIndex(of: UInt8(ascii: "&")) else { return false }
    return lastBlank < field && !text.contains { $0 < 0x20 } && firstRange(of: "://", in: text) == nil
  }

  private static func firstRange(of word: StaticString, in text: Slice<UnsafeRawBufferPointer>) -> Int? {
    text.indices.first { text[$0...].starts(with: UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)) }
  }
}
