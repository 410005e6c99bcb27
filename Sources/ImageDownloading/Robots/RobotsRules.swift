import ImagePrimitives

/// What one site's `robots.txt` tells one robot (RFC 9309).
///
/// The groups whose product token is the robot's count, as one; where there are none, those of `*`. Of the rules that match a path the
/// one with the longest pattern counts, and of equally long ones the one that allows. Lines that are no rules are passed over.
struct RobotsRules: Sendable {
  /// What lies beyond need not be read, and is not (section 2.5).
  static let maximumBytes = 500 << 10
  private static let quotedBytes = 1 << 10

  /// A rule that keeps the robot away.
  struct Refusal: Equatable {
    /// As the file has it, such as `Disallow: /private`, as far as a sentence may quote it.
    var rule: String
    /// Counted from 1.
    var line: Int
  }

  private struct Rule {
    var pattern: RobotsPattern
    var isAllowed: Bool
    var line: Int
    /// As it was written, in `text`.
    var written: Range<Int>
  }

  /// The rule that counts first.
  private var rules: [Rule] = []
  /// The patterns as they were written.
  private var text: [UInt8] = []

  /// Rules that allow everything.
  init() {}

  /// Reads the file for the robot of that product token, whose case does not matter.
  init(_ file: some Collection<UInt8>, for token: String) {
    var parser = RobotsParser(token: token)
    parser.read(Array(file.prefix(Self.maximumBytes)))
    for line in parser.rules {
      let start = text.count
      text += line.pattern
      let pattern = RobotsPattern(line.pattern)
      rules.append(Rule(pattern: pattern, isAllowed: line.isAllowed, line: line.number, written: start..<text.count))
    }
    rules.sort { left, right in
      if left.pattern.length != right.pattern.length { return left.pattern.length > right.pattern.length }
      if left.isAllowed != right.isAllowed { return left.isAllowed }
      return left.line < right.line
    }
  }

  /// What it holds in memory, about, in bytes.
  var memoryBytes: Int { rules.reduce(text.count) { $0 + MemoryLayout<Rule>.stride + $1.pattern.length } }

  /// The rule that refuses the request target of a normalised URL, its path and query; nil where it may be asked for.
  func refusal(of target: some Collection<UInt8>) -> Refusal? {
    // Always allowed (section 2.2.2).
    if rules.isEmpty || target.elementsEqual("/robots.txt".utf8) { return nil }
    let path = RobotsPattern.canonical(target)
    guard let rule = rules.first(where: { $0.pattern.matches(path) }), !rule.isAllowed else { return nil }
    // More is not quoted, and not worth decoding.
    let written = String(decoding: text[rule.written].prefix(Self.quotedBytes), as: UTF8.self)
    return Refusal(rule: "Disallow: \(written)".quotable, line: rule.line)
  }

  /// What robots call themselves in such files: a `User-Agent` up to its first slash or blank (section 2.2.1).
  static func productToken(of userAgent: String) -> String {
    String(userAgent.prefix { $0 != "/" && $0 != " " && $0 != "\t" }).lowercased()
  }
}
