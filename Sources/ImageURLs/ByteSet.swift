/// A set of ASCII bytes as 128 bits, so that a scan asks in a few instructions and without a table in memory.
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

  /// What may stand in user name and password as it is (RFC 3986 section 3.2.1).
  static let userInfo = unreserved.union(ByteSet("!$&'()*+,;=:"))

  /// What may stand in a path as it is: RFC 3986 section 3.3, and the brackets.
  ///
  /// Section 3.3 has no place for brackets in a path or query, but they are reserved and no browser encodes them; a content
  /// network that keeps images by the URL as sent would be asked for another image.
  static let path = userInfo.union(ByteSet("@/[]"))

  /// What may stand in a query as it is (RFC 3986 section 3.4), and the brackets.
  static let query = path.union(ByteSet("?"))

  /// The letters of host names as they are looked up: lower case, digits, hyphen, dot, and the underscore that some use.
  static let host = ByteSet("abcdefghijklmnopqrstuvwxyz0123456789-._")

  /// The letters of a scheme (RFC 3986 section 3.1).
  static let scheme = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.")
}
