import Glibc
import ImageURLs

/// One line of an access log in the combined or the common format, as Apache and nginx write them.
///
///     192.0.2.7 - - [21/Nov/2026:09:00:00 +0000] "GET /hero.jpg HTTP/1.1" 200 5120 "https://…" "Mozilla/5.0 …"
struct AccessLogLine {
  /// What a good GET asked for, with its escapes; nil for any other request.
  let target: UnsafeRawBufferPointer?

  /// nil if the line has another form.
  init?(_ line: UnsafeRawBufferPointer) {
    // Host, ident and user; the user may hold anything but a space. Then the time, which nothing here needs.
    var rest = line[...]
    for _ in 0..<3 {
      guard Self.takeField(&rest) != nil else { return nil }
    }
    guard rest.first == UInt8(ascii: "["), let close = rest.firstIndex(of: UInt8(ascii: "]")),
      rest[close...].starts(with: "] \"".utf8)
    else { return nil }
    rest = rest[(close + 3)...]
    guard let quote = Self.closingQuote(in: rest), rest[quote...].starts(with: "\" ".utf8) else { return nil }
    let request = rest[..<quote]
    rest = rest[(quote + 2)...]
    guard let status = Self.takeField(&rest), status.count == 3, status.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }),
      !rest.isEmpty
    else { return nil }
    target = Self.isGood(status) ? Self.target(of: request) : nil
  }

  /// The field up to the next space, which is passed over too.
  private static func takeField(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer>? {
    guard let space = rest.firstIndex(of: UInt8(ascii: " ")), space > rest.startIndex else { return nil }
    defer { rest = rest[(space + 1)...] }
    return rest[..<space]
  }

  private static func closingQuote(in text: Slice<UnsafeRawBufferPointer>) -> Int? {
    var isEscaped = false
    return text.firstIndex { byte in
      if byte == UInt8(ascii: "\""), !isEscaped { return true }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      return false
    }
  }

  private static func isGood(_ status: Slice<UnsafeRawBufferPointer>) -> Bool {
    status.elementsEqual("200".utf8) || status.elementsEqual("206".utf8) || status.elementsEqual("304".utf8)
  }

  /// What stands between the method and the version, which HTTP/0.9 has not; spaces in it are the client's mistake.
  private static func target(of request: Slice<UnsafeRawBufferPointer>) -> UnsafeRawBufferPointer? {
    guard request.starts(with: "GET ".utf8) else { return nil }
    let rest = request.dropFirst(4)
    var end = rest.endIndex
    if let space = rest.lastIndex(of: UInt8(ascii: " ")), rest[space...].starts(with: " HTTP/".utf8) { end = space }
    let target = UnsafeRawBufferPointer(rebasing: rest[..<end])
    return target.isEmpty ? nil : target
  }
}

/// The escapes of log files: `\xHH`, `\"`, `\\`, and those of C for white space.
enum LogEscapes {
  /// Appends the text without its escapes; a backslash that begins none stands for itself.
  static func appendUndone(_ text: UnsafeRawBufferPointer, to bytes: GrowingBytes) {
    var rest = text[...]
    while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      bytes.append(UnsafeRawBufferPointer(rebasing: rest[..<backslash]))
      let (byte, length) = meaning(rest[backslash...])
      withUnsafeBytes(of: byte) { bytes.append($0) }
      rest = rest[(backslash + length)...]
    }
    bytes.append(UnsafeRawBufferPointer(rebasing: rest))
  }

  private static func meaning(_ text: Slice<UnsafeRawBufferPointer>) -> (byte: UInt8, length: Int) {
    guard text.count > 1 else { return (UInt8(ascii: "\\"), 1) }
    let letter = text[text.startIndex + 1]
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): return (letter, 2)
    case UInt8(ascii: "t"): return (9, 2)
    case UInt8(ascii: "n"): return (10, 2)
    case UInt8(ascii: "r"): return (13, 2)
    case UInt8(ascii: "x") where text.count > 3:
      let digits = text[(text.startIndex + 2)..<(text.startIndex + 4)]
      if digits.allSatisfy({ isxdigit(Int32($0)) != 0 }), let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) {
        return (byte, 4)
      }
    default: break
    }
    return (UInt8(ascii: "\\"), 1)
  }
}

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

  /// What of a target is to be resolved against the base, or the whole of it where there is none; nil if it is no URL of
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
