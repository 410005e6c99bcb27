import Glibc
public import ImageURLs

/// Why a pattern cannot be used.
public struct InvalidPattern: Error, Sendable, Hashable {
  /// One sentence on what is wrong.
  public let message: String

  init(_ message: String) { self.message = message }
}

/// A rule that a URL fits or not: a glob over its path, or `re:` and a regular expression over all of it.
///
/// Both see the normal form. A glob with a slash in it must match the whole path, one without the last segment, so that `*.jpg`
/// means every JPEG file; see ``PathGlob`` for its letters. An expression is a POSIX extended one (regex(7)), found anywhere
/// unless anchored. Letter case counts in both.
public struct URLPattern: Sendable {
  private enum Kind: Sendable {
    case glob(PathGlob)
    case expression(RegularExpression)
  }

  /// The pattern as written in a job file.
  public let written: String
  private let kind: Kind

  /// The pattern as written in a job file; throws where it cannot be understood.
  public init(_ written: String) throws(InvalidPattern) {
    self.written = written
    if written.hasPrefix("re:") {
      kind = .expression(try RegularExpression(String(written.dropFirst(3))))
    } else {
      kind = .glob(try PathGlob(written))
    }
  }

  /// Whether a normalised URL fits.
  public func matches(_ url: UnsafeRawBufferPointer, parts: URLParts) -> Bool {
    switch kind {
    case .glob(let glob): glob.matches(path: url[parts.path])
    case .expression(let expression): expression.matches(url)
    }
  }
}

/// A POSIX extended regular expression (regcomp(3)).
///
/// `@unchecked Sendable`: the compiled expression is not changed after `init`, and regexec(3) may run on it in several threads.
final class RegularExpression: @unchecked Sendable {
  private let compiled = UnsafeMutablePointer<regex_t>.allocate(capacity: 1)
  /// What `deinit` may free: it runs after a failed compilation too.
  private var isCompiled = false

  init(_ expression: String) throws(InvalidPattern) {
    if expression.isEmpty { throw InvalidPattern("the expression after re: is empty") }
    // Without NOSUB, as glibc takes the range of bytes to look at from the first match.
    let status = regcomp(compiled, expression, REG_EXTENDED)
    guard status == 0 else {
      var message = [CChar](repeating: 0, count: 256)
      regerror(status, compiled, &message, message.count)
      let sentence = String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      throw InvalidPattern("“\(expression)” is no extended regular expression: \(sentence)")
    }
    isCompiled = true
  }

  deinit {
    if isCompiled { regfree(compiled) }
    compiled.deallocate()
  }

  /// Whether it is found anywhere in `text`.
  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let base = text.baseAddress else { return false }
    var range = regmatch_t(rm_so: 0, rm_eo: regoff_t(text.count))
    return regexec(compiled, base.assumingMemoryBound(to: CChar.self), 1, &range, REG_STARTEND) == 0
  }
}
