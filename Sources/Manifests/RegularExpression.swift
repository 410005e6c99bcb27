import Glibc

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
