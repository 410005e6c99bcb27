import Platform

/// The IP addresses of the public Internet, by IANA's special-purpose registries (RFC 6890).
///
/// The tables hold the entries of the IANA IPv4 and IPv6 Special-Purpose Address Registries that aren't "globally reachable",
/// multicast (RFC 5771, RFC 4291) and deprecated ranges. The longest matching prefix counts. An IPv6 address that embeds an IPv4
/// address is judged by that one, since connections reach it.
enum IPAddressRules {
  /// Addresses that share their first bits.
  private struct Block {
    let bits: UInt128
    let length: Int
    let isPublic: Bool

    func holds(_ address: UInt128) -> Bool { (bits ^ address) >> (128 - length) == 0 }
  }

  /// Whether connections to it are allowed if only public addresses are; false for anything that `inet_pton` doesn't read.
  static func isPublic(_ address: String) -> Bool {
    guard let address = number(of: address) else { return false }
    let holding = blocks.filter { $0.holds(address) }.max { $0.length < $1.length }
    // Only the global unicast addresses of IPv6 are assigned (RFC 4291, section 2.4; IANA, 2000::/3).
    return holding?.isPublic ?? (address >> 125 == 1)
  }

  /// The address as a number, an IPv4 address as IPv4-mapped (RFC 4291, section 2.5.5.2): also one that an IPv6 address leads to, by
  /// NAT64's well-known prefix (RFC 6052) or 6to4 (RFC 3056).
  private static func number(of text: String) -> UInt128? {
    var bytes = in6_addr()
    guard inet_pton(AF_INET6, text, &bytes) == 1 || inet_pton(AF_INET6, "::ffff:\(text)", &bytes) == 1 else { return nil }
    let number = withUnsafeBytes(of: &bytes) { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
    let isTranslated = number >> 32 == 0x0064_FF9B << 64
    guard isTranslated || number >> 112 == 0x2002 else { return number }
    return 0xFFFF << 32 | UInt128(UInt32(truncatingIfNeeded: isTranslated ? number : number >> 80))
  }

  private static let blocks = special.map { block($0, isPublic: false) } + exceptions.map { block($0, isPublic: true) }

  private static let special = [
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
    "64:ff9b:1::/48",  // IPv4-IPv6 translation for local use (RFC 8215)
    "100::/64", "100:0:0:1::/64",  // discard-only (RFC 6666), dummy prefix (RFC 9780)
    "2001::/23",  // IETF protocol assignments, with Teredo (RFC 2928, RFC 4380), benchmarking (RFC 5180), ORCHID (RFC 4843)
    "2001:db8::/32", "3fff::/20",  // documentation (RFC 3849, RFC 9637)
    "5f00::/16",  // segment routing (RFC 9602)
    "fc00::/7",  // unique-local (RFC 4193)
    "fe80::/10", "fec0::/10",  // link-local (RFC 4291), deprecated site-local (RFC 3879)
    "ff00::/8",  // multicast (RFC 4291)
  ]

  private static let exceptions = [
    "0.0.0.0/0",  // IPv4 otherwise
    "192.0.0.9/32", "192.0.0.10/32",  // port control protocol anycast (RFC 7723), TURN anycast (RFC 8155)
    "192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24",  // AS112 and AMT (RFC 7535, RFC 7450, RFC 7534)
    "2001:1::1/128", "2001:1::2/128", "2001:1::3/128",  // anycast of PCP, TURN and DNS-SD (RFC 7723, RFC 8155, RFC 9665)
    "2001:3::/32", "2001:4:112::/48",  // AMT (RFC 7450), AS112 (RFC 7535)
    "2001:20::/28", "2001:30::/28",  // ORCHIDv2 (RFC 7343), drone remote identification (RFC 9374)
    "2620:4f:8000::/48",  // AS112 (RFC 7534)
  ]

  private static func block(_ text: String, isPublic: Bool) -> Block {
    let parts = text.split(separator: "/")
    guard let bits = number(of: String(parts[0])), let length = Int(parts[1]) else {
      preconditionFailure("\(text) isn't a block of addresses")
    }
    return Block(bits: bits, length: text.contains(":") ? length : 96 + length, isPublic: isPublic)
  }
}
