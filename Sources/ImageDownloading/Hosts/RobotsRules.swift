import Platform
import Base

/// The rules of one site's `robots.txt` for one robot (RFC 9309).
///
/// All groups with the robot's product token count as one; if there are none, those of `*` count. The rule with the longest matching
/// pattern counts; between equally long ones, the one that allows. Lines that aren't rules are skipped.
struct RobotsRules: Sendable {
  /// Bytes beyond this are ignored (section 2.5).
  static let maximumBytes = 500 << 10
  private static let quotedBytes = 1 << 10
  /// The maximum number of bytes of paths and patterns to compare for one URL: a few milliseconds.
  private static let maximumWork = 8 << 20

  /// A rule that disallows a URL.
  struct Disallowance: Equatable {
    /// The rule as in the file, such as `Disallow: /private`, shortened for messages; nil if matching took too long.
    var rule: String?
    /// Starting at 1.
    var line: Int
  }

  private struct Rule {
    var pattern: RobotsPattern
    var isAllowed: Bool
    var line: Int
    /// Its position in `text`.
    var written: Range<Int>
  }

  /// In order of precedence.
  private var rules: [Rule] = []
  /// The patterns as written.
  private var text: [UInt8] = []

  init() {}

  /// Parses the file for the robot with that product token, case ignored.
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

  var memoryBytes: Int { rules.reduce(text.count) { $0 + MemoryLayout<Rule>.stride + $1.pattern.length } }

  /// The rule that disallows the request target of a normalised URL, its path and query; nil if it is allowed.
  func refusal(of target: some Collection<UInt8>) -> Disallowance? {
    // Always allowed (section 2.2.2).
    if rules.isEmpty || target.elementsEqual("/robots.txt".utf8) { return nil }
    let path = RobotsPattern.canonical(target)
    var work = Self.maximumWork
    guard let rule = rules.first(where: { $0.pattern.matches(path, work: &work) ?? true }) else { return nil }
    if work < 0 { return Disallowance(rule: nil, line: rule.line) }
    if rule.isAllowed { return nil }
    // A longer quotation isn't worth decoding.
    let written = String(decoding: text[rule.written].prefix(Self.quotedBytes), as: UTF8.self)
    return Disallowance(rule: "Disallow: \(written)".quotable, line: rule.line)
  }

  /// The name of a robot in such files (section 2.2.1): the first product of its `User-Agent`. Robots that begin like a browser, with
  /// `Mozilla`, have it in a comment, after `compatible` or beside their address; or right before a comment with their address.
  static func productToken(of userAgent: String) -> String {
    let own = name(userAgent)
    guard own.lowercased() == "mozilla" else { return own.lowercased() }
    var before = own[...]
    for part in userAgent.split(separator: "(", omittingEmptySubsequences: false).dropFirst() {
      let (comment, rest) = part.firstIndex(of: ")").map { (part[..<$0], part[$0...].dropFirst()) } ?? (part, "")
      let fields = comment.split(separator: ";").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
      if let index = fields.firstIndex(where: { $0.lowercased() == "compatible" }), index + 1 < fields.count {
        return name(fields[index + 1]).lowercased()
      }
      if comment.contains("://") {
        let first = fields.first { !$0.contains("://") }
        return name(first ?? before).lowercased()
      }
      before = rest.split(separator: " ").last ?? before
    }
    return own.lowercased()
  }

  /// A product's name: the text up to a slash or blank.
  private static func name(_ product: some StringProtocol) -> String {
    String(product.prefix { $0 != "/" && $0 != " " && $0 != "\t" })
  }
}

/// Parses the lines of a `robots.txt` (RFC 9309, section 2.2) and keeps the rules for one robot.
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
  // The robot of the current group.
  private var isOwn = false
  private var isGeneral = false
  /// Whether the current group has a rule, so that the next product token starts a new group.
  private var hasRule = true

  init(token: String) { self.token = Array(token.utf8) }

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
    // A rule without a pattern matches nothing.
    guard !line.pattern.isEmpty else { return }
    if isOwn { own.append(line) }
    if isGeneral { general.append(line) }
  }
}

/// A path prefix in which `*` stands for any bytes, and a final `$` for the end of the path (RFC 9309, section 2.2.3).
///
/// Pattern and path are compared in one canonical form, whichever characters are percent-encoded (section 2.2.2): unreserved ones
/// aren't, all others are, except those that separate parts of a path or fields of a query.
struct RobotsPattern: Sendable {
  /// In canonical form, with `*` for any bytes.
  private var bytes: [UInt8]
  private var isAnchored = false

  init(_ written: ArraySlice<UInt8>) {
    var written = written
    if written.last == UInt8(ascii: "$") {
      isAnchored = true
      written.removeLast()
    }
    bytes = []
    // Several stars in a row equal one.
    for byte in Self.canonical(written, keepingStars: true) where byte != Self.star || bytes.last != Self.star {
      bytes.append(byte)
    }
  }

  /// Its specificity in bytes.
  var length: Int { bytes.count + (isAnchored ? 1 : 0) }

  private static let star = UInt8(ascii: "*")

  /// Whether it matches a path in canonical form; nil if `work`, the number of bytes that may still be compared, runs out.
  ///
  /// Each part between two stars is matched at its first occurrence, which leaves the most room for the rest.
  func matches(_ path: [UInt8], work: inout Int) -> Bool? {
    bytes.withUnsafeBytes { pattern in path.withUnsafeBytes { path in Self.matches(pattern[...], path[...], isAnchored, &work) } }
  }

  private static func matches(
    _ pattern: Slice<UnsafeRawBufferPointer>,
    _ path: Slice<UnsafeRawBufferPointer>,
    _ isAnchored: Bool,
    _ work: inout Int
  ) -> Bool? {
    let first = pattern.prefix { $0 != star }
    work -= first.count
    guard first.count <= path.count, path.starts(with: first) else { return work < 0 ? nil : false }
    var rest = path.dropFirst(first.count)
    var parts = pattern.dropFirst(first.count)
    if parts.isEmpty { return !isAnchored || rest.isEmpty }
    while !parts.isEmpty {
      let part = parts.dropFirst().prefix { $0 != star }
      parts = parts.dropFirst(part.count + 1)
      work -= part.count + rest.count
      if work < 0 { return nil }
      if parts.isEmpty, isAnchored { return part.count <= rest.count && rest.suffix(part.count).elementsEqual(part) }
      if part.isEmpty { continue }
      guard let found = system_find(start(of: rest), rest.count, start(of: part), part.count), let base = start(of: rest) else {
        return false
      }
      rest = rest.dropFirst(found - base + part.count)
    }
    return true
  }

  private static func start(of bytes: Slice<UnsafeRawBufferPointer>) -> UnsafeRawPointer? {
    UnsafeRawBufferPointer(rebasing: bytes).baseAddress
  }

  static func canonical(_ text: some Collection<UInt8>, keepingStars: Bool = false) -> [UInt8] {
    var form: [UInt8] = []
    form.reserveCapacity(text.count)
    var isInQuery = false
    // Only unreserved bytes stay (RFC 3986, section 2.3).
    func encode(_ byte: UInt8) { withUnsafeBytes(of: byte) { appendPercentEncoded($0, to: &form) } }
    var rest = text[...]
    while let byte = rest.first {
      rest = rest.dropFirst()
      if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(hexadecimalValue),
        let low = rest.dropFirst().first.flatMap(hexadecimalValue)
      {
        rest = rest.dropFirst(2)
        encode(high << 4 | low)
      } else if byte == star && keepingStars || parts(byte, isInQuery) {
        form.append(byte)
        if byte == UInt8(ascii: "?") { isInQuery = true }
      } else {
        encode(byte)
      }
    }
    return form
  }

  /// Whether a byte has another meaning if it is percent-encoded.
  private static func parts(_ byte: UInt8, _ isInQuery: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "]"): !isInQuery
    case UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: "!"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "'"):
      true
    default: false
    }
  }
}

/// The rules of `robots.txt` files, and the downloads that wait for them.
///
/// Rules are kept for a day (RFC 9309, section 2.4), failures for five minutes. Above a number of hosts or bytes all are dropped.
struct RobotsRegistry {
  private static let maximumCount = 16_384
  private static let maximumBytes = 64 << 20

  struct Key: Hashable {
    /// The origin of the rules, as in the URL.
    var origin: URLOrigin
    /// The server of the connection: servers of one site may differ.
    var server: URLOrigin
    var token: String
  }

  enum Policy {
    case rules(RobotsRules)
    /// The file couldn't be fetched, for that reason, so everything is disallowed (section 2.3.1.4).
    case unreachable(ImageFailure)

    fileprivate var lasts: Duration { if case .rules = self { .seconds(86_400) } else { .seconds(300) } }

    fileprivate var memoryBytes: Int { if case .rules(let rules) = self { rules.memoryBytes } else { 0 } }
  }

  /// A `robots.txt` that is being fetched.
  struct Fetch {
    var key: Key
    var waiting: Set<Int>
  }

  private var known: [Key: (policy: Policy, until: MonotonicInstant)] = [:]
  private var knownBytes = 0
  private var fetches: [UInt64: Fetch] = [:]
  private var numbers: [Key: UInt64] = [:]
  private var lastNumber: UInt64 = 0
  // Consecutive jobs mostly have the same options.
  private var tokenOfLast: (options: PreparedOptions, token: String)?

  /// The product token of downloads with those options.
  mutating func token(for options: PreparedOptions, defaults: [HeaderField]) -> String {
    if let tokenOfLast, tokenOfLast.options === options { return tokenOfLast.token }
    let userAgent = options.options.requestValue(ofHeader: "User-Agent", defaults: defaults) ?? ""
    let token = RobotsRules.productToken(of: userAgent)
    tokenOfLast = (options, token)
    return token
  }

  /// The policy of a site; nil if its file has to be fetched.
  func policy(_ key: Key, now: MonotonicInstant) -> Policy? {
    guard let found = known[key], now < found.until else { return nil }
    return found.policy
  }

  /// Makes the job in `slot` wait for a site's file. Returns the number of its download if that has to be started.
  mutating func wait(_ slot: Int, for key: Key) -> UInt64? {
    if let number = numbers[key] {
      fetches[number]?.waiting.insert(slot)
      return nil
    }
    lastNumber += 1
    numbers[key] = lastNumber
    fetches[lastNumber] = Fetch(key: key, waiting: [slot])
    return lastNumber
  }

  /// The number of the download that fetches a site's file.
  func number(of key: Key) -> UInt64? { numbers[key] }

  /// Ends the waiting of the job in `slot`. If it was the last, returns the number of the download, which is no longer needed.
  mutating func leave(_ slot: Int, _ key: Key) -> UInt64? {
    guard let number = numbers[key] else { return nil }
    fetches[number]?.waiting.remove(slot)
    return fetches[number]?.waiting.isEmpty == true ? number : nil
  }

  /// Stores the policy from download `number`, if any. Returns the slots that waited for it, sorted.
  mutating func conclude(_ number: UInt64, _ policy: Policy?, now: MonotonicInstant) -> [Int] {
    guard let fetch = fetches.removeValue(forKey: number) else { return [] }
    numbers[fetch.key] = nil
    if let policy { keep(policy, fetch.key, now) }
    return fetch.waiting.sorted()
  }

  func key(of number: UInt64) -> Key? { fetches[number]?.key }

  private mutating func keep(_ policy: Policy, _ key: Key, _ now: MonotonicInstant) {
    if let old = known.removeValue(forKey: key) { knownBytes -= old.policy.memoryBytes }
    let bytes = policy.memoryBytes
    if known.count >= Self.maximumCount || knownBytes + bytes > Self.maximumBytes {
      known.removeAll()
      knownBytes = 0
    }
    let key = Key(origin: URLOrigin(copying: key.origin), server: URLOrigin(copying: key.server), token: key.token)
    known[key] = (policy, now.advanced(by: policy.lasts))
    knownBytes += bytes
  }
}
