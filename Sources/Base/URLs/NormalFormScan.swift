extension URLNormalizer {
  /// The parts of a URL that is already in normal form; nil if it isn't.
  ///
  /// One pass without allocation. It accepts exactly the URLs that ``normalize(_:relativeTo:into:)`` appends, so both agree on the
  /// normal form.
  public static func parts(ofNormalForm url: UnsafeRawBufferPointer) -> URLParts? {
    guard url.count > 8, url.count <= maximumURLBytes else { return nil }
    return ByteClass.table.withUnsafeBufferPointer { NormalFormScan(url, classes: $0).parts() }
  }
}

/// The positions in a URL where a byte is allowed, found with one load: a scan has at most a nanosecond per byte.
private struct ByteClass: OptionSet {
  let rawValue: UInt8

  static let host = ByteClass(rawValue: 1)
  /// Excludes the dot and the percent sign, which need a check for dot segments.
  static let path = ByteClass(rawValue: 2)
  static let query = ByteClass(rawValue: 4)

  static let table: [ByteClass] = (UInt8.min...UInt8.max).map { byte in
    var classes: ByteClass = []
    if ByteSet.host.contains(byte) { classes.insert(.host) }
    if ByteSet.path.contains(byte), byte != UInt8(ascii: "."), byte != UInt8(ascii: "%") { classes.insert(.path) }
    if ByteSet.query.contains(byte) { classes.insert(.query) }
    return classes
  }
}

private struct NormalFormScan {
  private let url: UnsafeRawBufferPointer
  private let classes: UnsafePointer<ByteClass>

  init(_ url: UnsafeRawBufferPointer, classes: UnsafeBufferPointer<ByteClass>) {
    self.url = url
    self.classes = classes.baseAddress.unsafelyUnwrapped
  }

  /// The byte at `index`; zero, which no URL contains, at the end.
  @inline(__always)
  private func byte(at index: Int) -> UInt8 {
    index < url.count ? url.baseAddress.unsafelyUnwrapped.load(fromByteOffset: index, as: UInt8.self) : 0
  }

  /// The first index from `start` whose byte isn't of that class.
  @inline(__always)
  private func skip(_ byteClass: ByteClass, from start: Int) -> Int {
    let base = url.baseAddress.unsafelyUnwrapped
    let count = url.count
    var index = start
    while index < count, classes[Int(base.load(fromByteOffset: index, as: UInt8.self))].rawValue & byteClass.rawValue != 0 {
      index &+= 1
    }
    return index
  }

  func parts() -> URLParts? {
    let isSecure: Bool
    switch url.loadUnaligned(as: UInt64.self).littleEndian {
    case 0x2f2f_3a73_7074_7468: isSecure = true  // https://
    case let start where start & 0x00ff_ffff_ffff_ffff == 0x002f_2f3a_7074_7468: isSecure = false  // http://
    default: return nil
    }
    let authorityStart = isSecure ? 8 : 7
    if let authority = scanHostAndPort(from: authorityStart, isSecure: isSecure) {
      return scanTarget(isSecure: isSecure, hostStart: authorityStart, authority)
    }
    guard let hostStart = scanUserInfo(from: authorityStart),
      let authority = scanHostAndPort(from: hostStart, isSecure: isSecure)
    else { return nil }
    return scanTarget(isSecure: isSecure, hostStart: hostStart, authority)
  }

  /// The start of the host, after a user name and an `@`.
  private func scanUserInfo(from start: Int) -> Int? {
    var index = start
    while ByteSet.userInfo.contains(byte(at: index)) { index += 1 }
    return byte(at: index) == UInt8(ascii: "@") && index > start ? index + 1 : nil
  }

  @inline(__always)
  private func scanHostAndPort(from start: Int, isSecure: Bool) -> (hostEnd: Int, end: Int)? {
    var index = skip(.host, from: start)
    if index == start {
      guard let end = scanIPv6Address(from: start) else { return nil }
      index = end
    } else if HostName.endsInNumber(url[start..<index]), !HostName.isIPv4Address(url[start..<index]) {
      return nil
    }
    if byte(at: index) == UInt8(ascii: "/") { return (index, index) }
    guard byte(at: index) == UInt8(ascii: ":"), let end = scanPort(from: index + 1, isSecure: isSecure) else { return nil }
    return (index, end)
  }

  private func scanIPv6Address(from start: Int) -> Int? {
    guard byte(at: start) == UInt8(ascii: "["), let end = url[start...].firstIndex(of: UInt8(ascii: "]")) else { return nil }
    let address = url[(start + 1)..<end]
    return HostName.canonicalIPv6Address(address).map { $0.elementsEqual(address) } == true ? end + 1 : nil
  }

  /// Scans up to five digits without a leading zero, other than the scheme's default port.
  private func scanPort(from start: Int, isSecure: Bool) -> Int? {
    var index = start
    var port = 0
    while case let digit = byte(at: index) &- UInt8(ascii: "0"), digit < 10, index - start < 5 {
      if digit == 0, index == start { return nil }
      port = port * 10 + Int(digit)
      index += 1
    }
    guard index > start, port <= 65_535, port != (isSecure ? 443 : 80), byte(at: index) == UInt8(ascii: "/") else { return nil }
    return index
  }

  @inline(__always)
  private func scanTarget(isSecure: Bool, hostStart: Int, _ authority: (hostEnd: Int, end: Int)) -> URLParts? {
    var index = skip(.path, from: authority.end)
    while case let byte = byte(at: index), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") {
      if self.byte(at: index - 1) == UInt8(ascii: "/"), isDotSegment(at: index) { return nil }
      index = skip(.path, from: index + 1)
    }
    let pathEnd = index
    if index < url.count {
      guard byte(at: index) == UInt8(ascii: "?"), skip(.query, from: index + 1) == url.count else { return nil }
    }
    return URLParts(
      isSecure: isSecure,
      hostStart: hostStart,
      hostEnd: authority.hostEnd,
      pathStart: authority.end,
      pathEnd: pathEnd,
      end: url.count
    )
  }

  private func isDotSegment(at start: Int) -> Bool {
    let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }
    return DotSegment.dots(in: url[start...].prefix { !isEnd($0) }) > 0
  }
}
