import ImageURLs

/// Which targets of logged requests are URLs of the site whose log it is.
///
/// Targets are what visitors wrote, whom nobody trusts: one that led to another host would have that host asked, with the
/// headers and credentials of the job, by whoever sends a request. So a target that begins with a slash is a path of the base
/// whatever follows (RFC 9112 section 3.2.1), even where it would be a host in a reference, and one in absolute form (section
/// 3.2.2) counts only where it has the base's scheme, host and port.
struct LoggedTargets {
  private let base: BaseURL?
  private let normalizer = URLNormalizer()

  init(base: BaseURL?) { self.base = base }

  /// What of a target is to be resolved against the base, or the whole of it where there is none; nil where it is no URL of
  /// the base's site.
  func accepted(_ target: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    if target.first == UInt8(ascii: "/") { return target }
    guard let authorityStart = Self.authorityStart(of: target) else { return nil }
    guard let base else { return target }
    let isEnd = { (byte: UInt8) in byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }
    guard let end = target[authorityStart...].firstIndex(where: isEnd), target[end] == UInt8(ascii: "/"),
      isOrigin(UnsafeRawBufferPointer(rebasing: target[..<end]), of: base)
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: target[end...])
  }

  /// A path as a reference that leads nowhere but to itself: two slashes at its start would name a host (RFC 3986 section 4.2),
  /// and the dot segment that keeps them apart goes when it is resolved.
  static func appendReference(_ path: UnsafeRawBufferPointer, to bytes: GrowingBytes) {
    if path.starts(with: "//".utf8) { "/.".utf8.withContiguousStorageIfAvailable { bytes.append(UnsafeRawBufferPointer($0)) } }
    bytes.append(path)
  }

  /// Where what follows `http://` or `https://` begins; nil for all else, such as `*` and `host:port`.
  private static func authorityStart(of target: UnsafeRawBufferPointer) -> Int? {
    for scheme in ["http://", "https://"] as [StaticString] where target.count > scheme.utf8CodeUnitCount {
      // Letters alone differ by that bit; a colon and a slash have it set.
      let fits = (0..<scheme.utf8CodeUnitCount).allSatisfy { target[$0] | 0x20 == scheme.utf8Start[$0] }
      if fits { return scheme.utf8CodeUnitCount }
    }
    return nil
  }

  private func isOrigin(_ text: UnsafeRawBufferPointer, of base: BaseURL) -> Bool {
    var bytes: [UInt8] = []
    do throws(InvalidURL) {
      let parts = try normalizer.normalize(text, relativeTo: nil, into: &bytes)
      return parts.userInfo.isEmpty && parts.isSecure == base.parts.isSecure
        && bytes[parts.hostAndPort] == base.bytes[base.parts.hostAndPort]
    } catch {
      return false
    }
  }
}
