import CCurl
import Platform

/// Parses host and port with libcurl's URL parser, the one that later connects, so that both always agree on the host.
///
/// It owns a `CURLU`; only one thread may use it at a time.
final class AuthorityParser {
  private let handle: OpaquePointer
  private var text: [CChar] = []
  private var host: [UInt8] = []

  init() {
    guard let handle = curl_url() else { fatalError("curl_url: out of memory") }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  /// Appends host and port in normal form: lower case, A-labels, canonical addresses, no default port.
  func append(_ authority: Slice<UnsafeRawBufferPointer>, isSecure: Bool, to bytes: inout [UInt8]) throws(InvalidURL) {
    // A zone (RFC 6874) has a meaning on one machine only, and browsers reject it.
    if authority.first == UInt8(ascii: "["), authority.contains(UInt8(ascii: "%")) {
      throw InvalidURL(.host, "the text in brackets isn't an IPv6 address")
    }
    text.removeAll(keepingCapacity: true)
    text.append(contentsOf: (isSecure ? "https://" : "http://").utf8.lazy.map { CChar(bitPattern: $0) })
    text.append(contentsOf: authority.lazy.map { CChar(bitPattern: $0) })
    text.append(0)
    try Self.check(curl_url_set(handle, CURLUPART_URL, text, 0))
    try readHost()
    try Self.appendNormalized(host, to: &bytes)
    try appendPort(to: &bytes)
  }

  private func appendPort(to bytes: inout [UInt8]) throws(InvalidURL) {
    var port: UnsafeMutablePointer<CChar>?
    let status = curl_url_get(handle, CURLUPART_PORT, &port, UInt32(CURLU_NO_DEFAULT_PORT))
    if status == CURLUE_NO_PORT { return }
    try Self.check(status)
    defer { curl_free(port) }
    let digits = UnsafeRawBufferPointer(start: port!, count: strlen(port!))
    if digits.elementsEqual("0".utf8) { throw InvalidURL(.port, "the port is 0; use 1 to 65535") }
    bytes.append(UInt8(ascii: ":"))
    bytes.append(contentsOf: digits)
  }

  private func readHost() throws(InvalidURL) {
    try Self.check(readHost(flags: 0))
    guard host.contains(where: { $0 >= 128 }) else { return }
    // libidn2 reads the name in the locale's encoding, so this thread switches to UTF-8 for one call.
    guard let utf8 = Self.utf8Locale.handle else {
      throw InvalidURL(.host, "non-ASCII host names require the locale C.UTF-8, which this system lacks")
    }
    let before = uselocale(utf8)
    defer { uselocale(before) }
    guard isConvertible(), readHost(flags: UInt32(CURLU_PUNYCODE)) == CURLUE_OK else {
      throw InvalidURL(.host, "the host isn't a valid internationalised domain name")
    }
  }

  /// Whether libidn2 accepts the host. libcurl 7.88 leaks a host that it doesn't, unless asked for the whole URL.
  private func isConvertible() -> Bool {
    var url: UnsafeMutablePointer<CChar>?
    defer { curl_free(url) }
    return curl_url_get(handle, CURLUPART_URL, &url, UInt32(CURLU_PUNYCODE)) == CURLUE_OK
  }

  private func readHost(flags: UInt32) -> CURLUcode {
    var part: UnsafeMutablePointer<CChar>?
    let status = curl_url_get(handle, CURLUPART_HOST, &part, flags)
    guard status == CURLUE_OK, let part else { return status }
    defer { curl_free(part) }
    host.removeAll(keepingCapacity: true)
    host.append(contentsOf: UnsafeRawBufferPointer(start: part, count: strlen(part)))
    return status
  }

  private static func appendNormalized(_ host: [UInt8], to bytes: inout [UInt8]) throws(InvalidURL) {
    let start = bytes.count
    bytes.append(contentsOf: host.lazy.map { 65...90 ~= $0 ? $0 | 32 : $0 })
    let error = bytes.withUnsafeBytes { bytes -> InvalidURL? in
      let host = bytes[start...]
      if host.first == UInt8(ascii: "[") { return nil }
      guard !host.isEmpty, host.allSatisfy(ByteSet.host.contains) else {
        return InvalidURL(.host, "the host has a character that host names can't contain")
      }
      return HostName.endsInNumber(host) && !HostName.isIPv4Address(host)
        ? InvalidURL(.host, "the host ends in a number but isn't an IPv4 address") : nil
    }
    if let error { throw error }
    guard bytes[start] == UInt8(ascii: "[") else { return }
    let address = bytes.withUnsafeBytes { HostName.canonicalIPv6Address($0[(start + 1)...].dropLast()) }
    guard let address else { throw InvalidURL(.host, "the text in brackets isn't an IPv6 address") }
    bytes.replaceSubrange((start + 1)..<(bytes.count - 1), with: address)
  }

  private static func check(_ status: CURLUcode) throws(InvalidURL) {
    switch status {
    case CURLUE_OK: return
    case CURLUE_NO_HOST: throw InvalidURL(.host, "the URL has no host")
    case CURLUE_BAD_PORT_NUMBER: throw InvalidURL(.port, "the port isn't a number from 1 to 65535")
    case CURLUE_BAD_IPV6: throw InvalidURL(.host, "the text in brackets isn't an IPv6 address")
    case CURLUE_BAD_HOSTNAME: throw InvalidURL(.host, "the host has a character that host names can't contain")
    default: throw InvalidURL(.host, "the host can't be parsed: \(String(cString: curl_url_strerror(status)))")
    }
  }

  /// The locale `C.UTF-8`; nil if the system lacks it, which Debian never does.
  ///
  /// `@unchecked Sendable`: a locale never changes once created, and this one is never freed.
  private struct Locale: @unchecked Sendable {
    let handle: locale_t?
  }

  private static let utf8Locale = Locale(handle: newlocale(LC_CTYPE_MASK, "C.UTF-8", nil))
}

/// Checks of a host in lower case.
enum HostName {
  /// Whether the last label is a decimal or hexadecimal number, so that the host must be an IPv4 address (WHATWG URL Standard,
  /// "ends in a number"): no top-level domain is a number.
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

  /// Whether the host is four decimal numbers up to 255 without leading zeros.
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

  /// The address between the brackets as `inet_ntop` formats it (RFC 5952); nil if it isn't an IPv6 address.
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
