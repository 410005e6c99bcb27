import Platform

/// The IP addresses of the public Internet, by IANA's special-purpose registries (RFC 6890).
///
/// The tables hold the entries of the IANA IPv4 and IPv6 Special-Purpose Address Registries that aren't "globally reachable",
/// multicast (RFC 5771, RFC 4291) and deprecated ranges. The longest matching prefix counts. An IPv6 address that embeds an IPv4
/// address is judged by that one, since connections reach it.
struct IPAddressRules {
  /// An address in network order: 4 or 16 bytes.
  struct Address: Equatable {
    let bytes: [UInt8]
  }

  /// Addresses that share their first bits.
  private struct Block {
    let bits: [UInt8]
    let length: Int
    let isPublic: Bool

    func holds(_ address: [UInt8]) -> Bool {
      let whole = length / 8
      guard bits[..<whole] == address[..<whole] else { return false }
      let rest = length % 8
      return rest == 0 || (bits[whole] ^ address[whole]) >> (8 - rest) == 0
    }
  }

  /// Whether connections to it are allowed if only public addresses are.
  static func isPublic(_ address: Address) -> Bool {
    if let embedded = embeddedIPv4(address.bytes) { return isPublic(embedded, by: ipv4) }
    return isPublic(address.bytes, by: address.bytes.count == 4 ? ipv4 : ipv6)
  }

  private static func isPublic(_ bytes: [UInt8], by blocks: [Block]) -> Bool {
    let holding = blocks.filter { $0.holds(bytes) }.max { $0.length < $1.length }
    // Only the global unicast addresses of IPv6 are assigned (RFC 4291, section 2.4; IANA, 2000::/3).
    return holding?.isPublic ?? (bytes.count == 4 || bytes[0] >> 5 == 1)
  }

  /// The IPv4 address that an IPv6 address leads to: IPv4-mapped (RFC 4291, section 2.5.5.2), NAT64's well-known prefix
  /// (RFC 6052), 6to4 (RFC 3056).
  private static func embeddedIPv4(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count == 16 else { return nil }
    if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF { return Array(bytes[12...]) }
    if bytes[..<4] == [0, 0x64, 0xFF, 0x9B], bytes[4..<12].allSatisfy({ $0 == 0 }) { return Array(bytes[12...]) }
    return bytes[..<2] == [0x20, 0x02] ? Array(bytes[2..<6]) : nil
  }

  private static let ipv4 = blocks(
    special: [
      "0.0.0.0/8",  // this network (RFC 791)
      "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",  // private use (RFC 1918)
      "100.64.0.0/10",  // shared address space (RFC 6598)
      "127.0.0.0/8",  // loopback (RFC 1122)
      "169.254.0.0/16",  // link-local (RFC 3927)
      "192.0.0.0/24",  // IETF protocol assignments (RFC 6890)
      "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24",  // documentation (RFC 5737)
      "192.88.99.0/24",  // deprecated 6to4 relay anycast (RFC 7526)
      "198.18.0.0/15",  // benchmarking (RFC 2544)
      "224.0.0.0/4",  // multicast (RFC 5771)
      "240.0.0.0/4",  // reserved, and limited broadcast (RFC 1112, RFC 8190)
    ],
    public: [
      "192.0.0.9/32", "192.0.0.10/32",  // port control protocol anycast (RFC 7723), TURN anycast (RFC 8155)
      "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24",  // AS112 and AMT (RFC 7535, RFC 7450, RFC 7534)
    ]
  )

  private static let ipv6 = blocks(
    special: [
      "64:ff9b:1::/48",  // IPv4-IPv6 translation for local use (RFC 8215)
      "100::/64", "100:0:0:1::/64",  // discard-only (RFC 6666), dummy prefix (RFC 9780)
      "2001::/23",  // IETF protocol assignments, with Teredo (RFC 2928, RFC 4380), benchmarking (RFC 5180), ORCHID (RFC 4843)
      "2001:db8::/32", "3fff::/20",  // documentation (RFC 3849, RFC 9637)
      "5f00::/16",  // segment routing (RFC 9602)
      "fc00::/7",  // unique-local (RFC 4193)
      "fe80::/10", "fec0::/10",  // link-local (RFC 4291), deprecated site-local (RFC 3879)
      "ff00::/8",  // multicast (RFC 4291)
    ],
    public: [
      "2001:1::1/128", "2001:1::2/128", "2001:1::3/128",  // anycast of PCP, TURN and DNS-SD (RFC 7723, RFC 8155, RFC 9665)
      "2001:3::/32", "2001:4:112::/48",  // AMT (RFC 7450), AS112 (RFC 7535)
      "2001:20::/28", "2001:30::/28",  // ORCHIDv2 (RFC 7343), drone remote identification (RFC 9374)
      "2620:4f:8000::/48",  // AS112 (RFC 7534)
    ]
  )

  private static func blocks(special: [String], public others: [String]) -> [Block] {
    special.map { block($0, isPublic: false) } + others.map { block($0, isPublic: true) }
  }

  private static func block(_ text: String, isPublic: Bool) -> Block {
    let parts = text.split(separator: "/")
    guard let address = Address(String(parts[0])), let length = Int(parts[1]) else {
      preconditionFailure("\(text) isn't a block of addresses")
    }
    return Block(bits: address.bytes, length: length, isPublic: isPublic)
  }
}

extension IPAddressRules.Address: CustomStringConvertible {
  /// Parses an address as `inet_pton` does; nil for any other text.
  init?(_ text: String) {
    var (four, six) = (in_addr(), in6_addr())
    if inet_pton(AF_INET, text, &four) == 1 {
      bytes = withUnsafeBytes(of: &four) { Array($0) }
    } else if inet_pton(AF_INET6, text, &six) == 1 {
      bytes = withUnsafeBytes(of: &six) { Array($0) }
    } else {
      return nil
    }
  }

  /// The address of a socket; nil for families other than IPv4 and IPv6.
  init?(_ socketAddress: UnsafeRawBufferPointer) {
    guard socketAddress.count >= MemoryLayout<sa_family_t>.size else { return nil }
    switch Int32(socketAddress.loadUnaligned(as: sa_family_t.self)) {
    case AF_INET where socketAddress.count >= MemoryLayout<sockaddr_in>.size:
      var address = socketAddress.loadUnaligned(as: sockaddr_in.self).sin_addr
      bytes = withUnsafeBytes(of: &address) { Array($0) }
    case AF_INET6 where socketAddress.count >= MemoryLayout<sockaddr_in6>.size:
      var address = socketAddress.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      bytes = withUnsafeBytes(of: &address) { Array($0) }
    default: return nil
    }
  }

  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = bytes.withUnsafeBytes { inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, $0.baseAddress, &text, socklen_t(text.count)) }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
