import Platform

/// Percent-encoding (RFC 3986, section 2.1).
enum PercentEncoding {
  /// Appends `text`, encoding all bytes but the `allowed` ones.
  static func append(_ text: Slice<UnsafeRawBufferPointer>, allowed: ByteSet, to bytes: inout [UInt8]) {
    for byte in text {
      if allowed.contains(byte) { bytes.append(byte) } else { appendEncoded(byte, to: &bytes) }
    }
  }

  fileprivate static func appendEncoded(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    bytes.append(upperCaseDigit(byte >> 4))
    bytes.append(upperCaseDigit(byte & 15))
  }

  private static func upperCaseDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

/// The form of a URL, or of a part of it, that all spellings of its percent-encodings share: unreserved characters are decoded, and
/// digits are in upper case (RFC 3986, section 6.2.2). Nil if it is in that form.
///
/// It serves to compare URLs, never to request one: servers, caches and signatures may distinguish spellings.
package func withUnifiedEncodings(_ url: UnsafeRawBufferPointer) -> [UInt8]? {
  guard let start = url.baseAddress, memchr(start, Int32(UInt8(ascii: "%")), url.count) != nil else { return nil }
  var form: [UInt8] = []
  form.reserveCapacity(url.count)
  var rest = url[...]
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "%"), let high = rest.first.flatMap(hexadecimalValue),
      let low = rest.dropFirst().first.flatMap(hexadecimalValue)
    else {
      form.append(byte)
      continue
    }
    rest = rest.dropFirst(2)
    let value = high << 4 | low
    if ByteSet.unreserved.contains(value) { form.append(value) } else { PercentEncoding.appendEncoded(value, to: &form) }
  }
  return form.elementsEqual(url) ? nil : form
}

package func hexadecimalValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
  default: nil
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

  private init(low: UInt64, high: UInt64) { (self.low, self.high) = (low, high) }

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
  static let userInfo = unreserved.union(ByteSet("!$&'()*+,;=:%"))

  /// The bytes that stay as they are in a path: all but those of the path percent-encode set (WHATWG URL Standard, section 1.3). A
  /// percent sign stays, whether it begins an encoding or not.
  static let path = userInfo.union(ByteSet("@/[]|"))

  /// The bytes that stay as they are in a query: all but those of the special-query percent-encode set.
  static let query = unreserved.union(ByteSet("!$&()*+,;=:%@/[]|?\\^`{}"))

  /// The bytes of resolvable host names: lower case, digits, hyphen, dot, and the underscore that some names have.
  static let host = ByteSet("abcdefghijklmnopqrstuvwxyz0123456789-._")

  /// The bytes of a scheme (RFC 3986 section 3.1).
  static let scheme = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.")
}
