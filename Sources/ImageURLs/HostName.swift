import Glibc

/// Questions about a host that is written in lower case.
enum HostName {
  /// Whether the last label is a number, decimal or hexadecimal, so that the host must be an IPv4 address
  /// (WHATWG URL Standard, "ends in a number"): no top-level domain is one.
  static func endsInNumber(_ host: Slice<UnsafeRawBufferPointer>) -> Bool {
    var end = host.endIndex
    if end > host.startIndex, host[end - 1] == UInt8(ascii: ".") { end -= 1 }
    var start = end
    while start > host.startIndex, host[start - 1] != UInt8(ascii: ".") { start -= 1 }
    guard start < end, isDigit(host[start]) else { return false }
    if end - start >= 2, host[start] == UInt8(ascii: "0"), host[start + 1] == UInt8(ascii: "x") {
      return host[(start + 2)..<end].allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }
    return host[start..<end].allSatisfy(isDigit)
  }

  /// Whether it is four decimal numbers up to 255 without leading zeros.
  static func isIPv4Address(_ host: Slice<UnsafeRawBufferPointer>) -> Bool {
    var (dots, digits, number) = (0, 0, 0)
    for byte in host {
      if byte == UInt8(ascii: "."), digits > 0 {
        dots += 1
        (digits, number) = (0, 0)
        continue
      }
      guard isDigit(byte), digits == 0 || number > 0 else { return false }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
      digits += 1
      guard number <= 255 else { return false }
    }
    return dots == 3 && digits > 0
  }

  /// The address between the brackets as `inet_ntop` writes it (RFC 5952); nil where it is none.
  static func canonicalIPv6Address(_ written: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
    guard written.count < Int(INET6_ADDRSTRLEN) else { return nil }
    var address = in6_addr()
    guard inet_pton(AF_INET6, written.map { CChar(bitPattern: $0) } + [0], &address) == 1 else { return nil }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil else { return nil }
    return text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}
