/// Some hosts by name: `img.example.com` on any port, `img.example.com:8443`, or `*.example.com`, its subdomains at any depth.
///
/// Names are in normal form, as in URLs: lower case, punycode, IPv6 addresses in brackets.
public struct HostPattern: Sendable, Hashable, CustomStringConvertible {
  /// The host; of subdomains the domain with the dot before it.
  private let name: ArraySlice<UInt8>
  /// Nil: any.
  private let port: Int?

  fileprivate init(name: ArraySlice<UInt8>, port: Int? = nil) { (self.name, self.port) = (name, port) }

  /// Nil if the text is anything else, such as a URL.
  public init?(_ text: String) {
    let isWildcard = text.hasPrefix("*.")
    var host = text.dropFirst(isWildcard ? 1 : 0)
    var port: Int?
    if !isWildcard, !host.hasSuffix("]"), let colon = host.lastIndex(of: ":") {
      let digits = host[host.index(after: colon)...]
      guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits), (1...65_535).contains(number)
      else { return nil }
      (port, host) = (number, host[..<colon])
    }
    guard let name = Self.normalForm(of: host.dropFirst(isWildcard ? 1 : 0)), name.first != Self.dot,
      name.first == UInt8(ascii: "[") || name.allSatisfy(Self.isInNames)
    else { return nil }
    if isWildcard, Self.isAddress(name[...]) { return nil }
    self.init(name: isWildcard ? [Self.dot] + name : name[...], port: port)
  }

  /// URLs may have other characters, which are mistakes in a name.
  private static func isInNames(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "-_.".utf8.contains(byte)
  }

  /// The host in normal form; nil if it is empty or invalid.
  package static func normalForm(of host: some StringProtocol) -> [UInt8]? {
    guard !host.isEmpty, !host.utf8.contains(where: { "/?#@\\".utf8.contains($0) || $0 <= 0x20 }) else { return nil }
    if !host.hasPrefix("["), host.contains(":") { return nil }
    guard let url = try? BaseURL("http://\(host)/") else { return nil }
    return Array(url.bytes[url.parts.host])
  }

  /// Whether the host in normal form is an address (WHATWG URL Standard, "ends in a number checker").
  fileprivate static func isAddress(_ host: ArraySlice<UInt8>) -> Bool {
    host.last == UInt8(ascii: "]") || host.reversed().prefix { $0 != dot }.allSatisfy { (0x30...0x39).contains($0) }
  }

  fileprivate static let dot = UInt8(ascii: ".")

  /// The pattern in normal form, as in job files.
  public var description: String {
    (name.first == Self.dot ? "*" : "") + String(decoding: name, as: UTF8.self) + (port.map { ":\($0)" } ?? "")
  }
}

extension Dictionary where Key == HostPattern {
  /// The value of the most specific pattern that matches a host: with its port, for any port, or of the nearest domain.
  ///
  /// - Parameter host: `name` or `name:port`, as in a URL in normal form.
  package func value(of host: ArraySlice<UInt8>, isSecure: Bool) -> Value? {
    let colon = host.last == UInt8(ascii: "]") ? nil : host.lastIndex(of: UInt8(ascii: ":"))
    let name = host[..<(colon ?? host.endIndex)]
    let port = colon.map { host[($0 + 1)...].reduce(0) { $0 * 10 + Int($1) - 0x30 } } ?? (isSecure ? 443 : 80)
    if let value = self[HostPattern(name: name, port: port)] ?? self[HostPattern(name: name)] { return value }
    if HostPattern.isAddress(name) { return nil }
    for index in name.indices where name[index] == HostPattern.dot {
      if let value = self[HostPattern(name: name[index...])] { return value }
    }
    return nil
  }
}
