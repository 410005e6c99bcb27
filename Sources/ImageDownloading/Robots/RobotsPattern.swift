/// A pattern of a `robots.txt`: a path prefix in which `*` stands for any bytes, and a final `$` for the end of the path
/// (RFC 9309, section 2.2.3).
///
/// Pattern and path are compared in one canonical form, whichever characters are percent-encoded (section 2.2.2): unreserved ones
/// aren't, all others are, except those that separate parts of a path or fields of a query.
import Platform
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

  /// The canonical form of a path or pattern.
  static func canonical(_ text: some Collection<UInt8>, keepingStars: Bool = false) -> [UInt8] {
    var form: [UInt8] = []
    form.reserveCapacity(text.count)
    var isInQuery = false
    var rest = text[...]
    while let byte = rest.first {
      rest = rest.dropFirst()
      if byte == UInt8(ascii: "%"), let value = value(rest.prefix(2)) {
        rest = rest.dropFirst(2)
        append(value, isPlain: isUnreserved(value), to: &form)
      } else if byte == star, keepingStars {
        form.append(star)
      } else {
        append(byte, isPlain: isUnreserved(byte) || parts(byte, isInQuery), to: &form)
        if byte == UInt8(ascii: "?") { isInQuery = true }
      }
    }
    return form
  }

  private static func append(_ byte: UInt8, isPlain: Bool, to form: inout [UInt8]) {
    if isPlain { return form.append(byte) }
    let digits: StaticString = "0123456789ABCDEF"
    form += [UInt8(ascii: "%"), digits.utf8Start[Int(byte >> 4)], digits.utf8Start[Int(byte & 15)]]
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

  /// RFC 3986, section 2.3.
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// The value of two hexadecimal digits.
  private static func value(_ digits: some Collection<UInt8>) -> UInt8? {
    guard digits.count == 2, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit && $0 < 0x80 }) else { return nil }
    return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
  }
}
