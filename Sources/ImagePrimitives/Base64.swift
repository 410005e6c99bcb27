extension [UInt8] {
  /// The bytes in Base64 with padding (RFC 4648, section 4), as ASCII.
  package var base64: [UInt8] {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var text: [UInt8] = []
    text.reserveCapacity((count + 2) / 3 * 4)
    for start in stride(from: 0, to: count, by: 3) {
      let group = self[start..<Swift.min(start + 3, count)]
      let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
      for index in 0..<4 { text.append(index <= group.count ? digits[bits >> (18 - 6 * index) & 63] : UInt8(ascii: "=")) }
    }
    return text
  }
}
