import Base

/// A URL's scheme, host and port (RFC 6454): the host that limits count, and the origin that may see a job's own headers.
///
/// A normalised URL omits the default port, so name and port imply the scheme except with very unusual ports.
struct URLOrigin: Hashable {
  let isSecure: Bool
  /// As in the URL: with the port only if it isn't the scheme's default.
  let hostAndPort: ArraySlice<UInt8>
}

extension URLOrigin {
  init(_ url: [UInt8], _ parts: URLParts) { self.init(isSecure: parts.isSecure, hostAndPort: url[parts.hostAndPort]) }

  /// Nil for a URL that is not in normal form.
  init?(_ url: [UInt8]) {
    guard let parts = url.withUnsafeBytes({ URLNormalizer.parts(ofNormalForm: $0) }) else { return nil }
    self.init(url, parts)
  }

  /// The substitute for the host of a URL that only a loader knows: its scheme with a colon, which ends no host's name.
  init(schemeOf url: [UInt8]) {
    self.init(isSecure: false, hostAndPort: url.prefix { $0 != UInt8(ascii: ":") } + [UInt8(ascii: ":")])
  }

  /// A copy that doesn't keep the whole URL in memory.
  init(copying other: URLOrigin) {
    self.init(isSecure: other.isSecure, hostAndPort: Array(other.hostAndPort)[...])
  }

  private var portColon: ArraySlice<UInt8>.Index? {
    guard hostAndPort.last != UInt8(ascii: "]") else { return nil }
    return hostAndPort.lastIndex(of: UInt8(ascii: ":"))
  }

  /// The name or address, for display.
  var name: String { String(decoding: hostAndPort[..<(portColon ?? hostAndPort.endIndex)], as: UTF8.self) }

  /// `name`, or `name:port` if the port isn't the scheme's default, as in URLs.
  var written: String { String(decoding: hostAndPort, as: UTF8.self) }

  /// `name:port`, for display.
  var address: String { portColon == nil ? "\(written):\(port)" : written }

  /// The port, written or implied.
  var port: Int {
    portColon.flatMap { Int(String(decoding: hostAndPort[($0 + 1)...], as: UTF8.self)) } ?? (isSecure ? 443 : 80)
  }
}
