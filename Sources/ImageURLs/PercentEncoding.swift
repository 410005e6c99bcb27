/// Percent-encoding in its normal form (RFC 3986 sections 2.1 and 6.2.2).
enum PercentEncoding {
  /// Appends `text`, encoding all bytes but the `allowed` ones.
  ///
  /// Encodings of unreserved bytes are decoded; others are kept with upper-case digits. A percent sign that begins no encoding is
  /// encoded.
  static func append(_ text: Slice<UnsafeRawBufferPointer>, allowed: ByteSet, to bytes: inout [UInt8]) {
    var index = text.startIndex
    while index < text.endIndex {
      index = appendOne(of: text, at: index, allowed: allowed, to: &bytes)
    }
  }

  /// Appends the byte or encoding at `index` and returns the index after it.
  @inline(__always)
  static func appendOne(
    of text: Slice<UnsafeRawBufferPointer>,
    at index: Int,
    allowed: ByteSet,
    to bytes: inout [UInt8]
  ) -> Int {
    let byte = text[index]
    if allowed.contains(byte) {
      bytes.append(byte)
      return index + 1
    }
    guard byte == UInt8(ascii: "%"), index + 2 < text.endIndex, let high = value(text[index + 1]),
      let low = value(text[index + 2])
    else {
      appendEncoded(byte, to: &bytes)
      return index + 1
    }
    let decoded = high << 4 | low
    if ByteSet.unreserved.contains(decoded) { bytes.append(decoded) } else { appendEncoded(decoded, to: &bytes) }
    return index + 3
  }

  fileprivate static func appendEncoded(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    bytes.append(upperCaseDigit(byte >> 4))
    bytes.append(upperCaseDigit(byte & 15))
  }

  private static func upperCaseDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  /// The value of a hexadecimal digit in upper case, as the normal form requires.
  static func upperCaseValue(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: upperCaseValue(digit)
    }
  }
}

/// Appends `text` as a part of another URL, such as a value of its query: only unreserved bytes stay (RFC 3986 section 2.3).
package func appendPercentEncoded(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
  for byte in text {
    if ByteSet.unreserved.contains(byte) { bytes.append(byte) } else { PercentEncoding.appendEncoded(byte, to: &bytes) }
  }
}

/// A set of ASCII bytes as 128 bits: a lookup takes a few instructions and no memory access.
struct ByteSet {
  private let low: UInt64
  private let high: UInt64

  init(_ members: StaticString) {
    var low: UInt64 = 0
    var high: UInt64 = 0
    members.withUTF8Buffer {
      for byte in $0 {
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
      }
    }
    self.init(low: low, high: high)
  }

  private init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  @inline(__always)
  func contains(_ byte: UInt8) -> Bool {
    byte < 128 && ((byte & 64 == 0 ? low : high) &>> UInt64(byte & 63)) & 1 != 0
  }

  func union(_ other: ByteSet) -> ByteSet { ByteSet(low: low | other.low, high: high | other.high) }
}

extension ByteSet {
  /// RFC 3986 section 2.3.
  static let unreserved = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

  /// The bytes allowed in a user name and password (RFC 3986 section 3.2.1).
  static let userInfo = unreserved.union(ByteSet("!$&'()*+,;=:"))

  /// The bytes allowed in a path: RFC 3986 section 3.3, and brackets.
  ///
  /// Section 3.3 doesn't allow brackets in a path or query, but they are reserved and browsers don't encode them. If they were
  /// encoded, a CDN that keys images by the URL as sent would return another image.
  static let path = userInfo.union(ByteSet("@/[]"))

  /// The bytes allowed in a query (RFC 3986 section 3.4), and brackets.
  static let query = path.union(ByteSet("?"))

  /// The bytes of resolvable host names: lower case, digits, hyphen, dot, and the underscore that some names have.
  static let host = ByteSet("abcdefghijklmnopqrstuvwxyz0123456789-._")

  /// The bytes of a scheme (RFC 3986 section 3.1).
  static let scheme = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.")
}
