import ImagePrimitives

/// The directives of `Cache-Control` that matter to a private cache (RFC 9111, section 5.2.2; RFC 5861; RFC 8246).
struct CacheControl {
  /// The greatest number of seconds that is taken as it is (RFC 9111, section 1.2.2).
  static let maximumSeconds: Int64 = 1 << 31

  /// In seconds; zero where the server wrote what is no number. Of several, the first counts (RFC 9111, section 4.2.1).
  private(set) var maxAge: Int64?
  private(set) var staleWhileRevalidate: Int64?
  private(set) var isNoStore = false
  private(set) var isNoCache = false
  private(set) var isMustRevalidate = false
  private(set) var isImmutable = false

  /// Takes the directives of one header.
  mutating func add(_ header: ArraySlice<UInt8>) {
    var rest = header
    while !rest.isEmpty {
      let directive = Self.takeDirective(&rest)
      let equals = directive.firstIndex(of: UInt8(ascii: "="))
      let name = Self.trimmed(directive[..<(equals ?? directive.endIndex)])
      let value = equals.map { Self.trimmed(directive[($0 + 1)...]) }
      take(name, value)
    }
  }

  private mutating func take(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>?) {
    if Self.is(name, "max-age") {
      maxAge = maxAge ?? Self.seconds(value) ?? 0
    } else if Self.is(name, "stale-while-revalidate") {
      staleWhileRevalidate = staleWhileRevalidate ?? Self.seconds(value) ?? 0
    } else if Self.is(name, "no-store") {
      isNoStore = true
    } else if Self.is(name, "no-cache") {
      // With field names it may be taken as without (RFC 9111, section 5.2.2.4).
      isNoCache = true
    } else if Self.is(name, "must-revalidate") {
      isMustRevalidate = true
    } else if Self.is(name, "immutable") {
      isImmutable = true
    }
  }

  /// A number of seconds, in quotation marks or not; nil for anything else.
  static func seconds(_ value: ArraySlice<UInt8>?) -> Int64? {
    guard var digits = value else { return nil }
    let mark = UInt8(ascii: "\"")
    if digits.count >= 2, digits.first == mark, digits.last == mark { digits = trimmed(digits.dropFirst().dropLast()) }
    guard !digits.isEmpty else { return nil }
    var seconds: Int64 = 0
    for digit in digits {
      guard digit &- UInt8(ascii: "0") < 10 else { return nil }
      seconds = min(maximumSeconds, seconds * 10 + Int64(digit - UInt8(ascii: "0")))
    }
    return seconds
  }

  /// Takes what stands before the next comma that is in no quotation marks.
  private static func takeDirective(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var isQuoted = false
    var index = rest.startIndex
    while index < rest.endIndex {
      switch rest[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: "\\") where isQuoted: index += 1
      case UInt8(ascii: ",") where !isQuoted:
        defer { rest = rest[(index + 1)...] }
        return rest[..<index]
      default: break
      }
      index += 1
    }
    defer { rest = [] }
    return rest
  }

  private static func `is`(_ name: ArraySlice<UInt8>, _ lowercased: StaticString) -> Bool {
    name.count == lowercased.utf8CodeUnitCount
      && name.withUnsafeBytes { ByteView($0).matchesIgnoringCase(lowercased) }
  }

  static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let rest = text.drop(while: \.isASCIIWhitespace)
    guard let last = rest.lastIndex(where: { !$0.isASCIIWhitespace }) else { return [] }
    return rest[...last]
  }
}
