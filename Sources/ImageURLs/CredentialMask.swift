import Glibc

/// The text with user name and password shown as `***`, be it a URL in any form or none at all.
public func maskingCredentials(_ text: UnsafeRawBufferPointer) -> [UInt8] {
  var masked: [UInt8] = []
  appendMaskingCredentials(text, to: &masked)
  return masked
}

/// The text with user name and password shown as `***`, be it a URL in any form or none at all.
public func maskingCredentials(_ text: String) -> String {
  String(decoding: Array(text.utf8).withUnsafeBytes { maskingCredentials($0) }, as: UTF8.self)
}

/// Whether ``maskingCredentials(_:)->[UInt8]`` changes the text; for most texts that takes a look at each byte.
public func holdsCredentials(_ text: UnsafeRawBufferPointer) -> Bool {
  if let decoded = PercentDecoded(text), decoded.bytes.withUnsafeBytes({ CredentialMask.nextSecret(in: $0, from: 0) }) != nil {
    return true
  }
  return CredentialMask.nextSecret(in: text, from: 0) != nil
}

/// Appends what ``maskingCredentials(_:)->[UInt8]`` returns, for rows that are written without a copy in between.
public func appendMaskingCredentials(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
  var secrets = CredentialMask.secrets(in: text)
  if let decoded = PercentDecoded(text) {
    let encoded = decoded.bytes.withUnsafeBytes(CredentialMask.secrets).map {
      decoded.offsets[$0.lowerBound]..<decoded.offsets[$0.upperBound]
    }
    secrets = (secrets + encoded).sorted { $0.lowerBound < $1.lowerBound }
  }
  var start = 0
  for secret in secrets where secret.upperBound > start {
    if secret.lowerBound >= start {
      bytes.append(contentsOf: text[start..<secret.lowerBound])
      bytes.append(contentsOf: "***".utf8)
    }
    start = secret.upperBound
  }
  bytes.append(contentsOf: text[start...])
}

/// A text in which percent-encoded bytes stand for themselves, so that a URL within a URL's query is one again.
private struct PercentDecoded {
  var bytes: [UInt8]
  /// Where each of ``bytes`` begins in the text, and the text's end.
  var offsets: [Int]

  /// nil for a text that holds no encoded `@`, as nearly all do.
  init?(_ text: UnsafeRawBufferPointer) {
    guard Self.holdsEncodedAt(text) else { return nil }
    bytes = Array(text)
    offsets = Array(0...text.count)
    // A URL in a URL in a URL is encoded once for each.
    for _ in 0..<4 where decode() {}
  }

  private static func holdsEncodedAt(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let start = text.baseAddress, memchr(start, Int32(UInt8(ascii: "%")), text.count) != nil else { return false }
    return text.indices.dropLast(2).contains { index in
      // `%40`, or `%2540` and so on.
      text[index + 1] == UInt8(ascii: "4") && text[index + 2] == UInt8(ascii: "0")
        && (text[index] == UInt8(ascii: "%") || text[index] == UInt8(ascii: "5"))
    }
  }

  /// Decodes once; returns whether that changed anything.
  private mutating func decode() -> Bool {
    var (read, written) = (0, 0)
    while read < bytes.count {
      (bytes[written], offsets[written]) = (bytes[read], offsets[read])
      if bytes[read] == UInt8(ascii: "%"), read + 2 < bytes.count, let high = digit(bytes[read + 1]),
        let low = digit(bytes[read + 2])
      {
        bytes[written] = high << 4 | low
        read += 2
      }
      (read, written) = (read + 1, written + 1)
    }
    offsets[written] = offsets[bytes.count]
    let isChanged = written < bytes.count
    bytes.removeLast(bytes.count - written)
    offsets.removeLast(offsets.count - written - 1)
    return isChanged
  }

  /// The value of a hexadecimal digit.
  private func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

/// Finds user name and password where people write them, right or wrong.
///
/// In a URL that can be read they end at the `@` before the host. In one that cannot, such as a password with a bare slash, it is
/// better to hide too much; yet an `@` in a path, as in `photo@2x.png`, is no secret. Further URLs may stand within the text:
/// in a query or a path, or because the text is a row of something else.
private enum CredentialMask {
  /// All secrets in the order in which they stand.
  static func secrets(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    var secrets: [Range<Int>] = []
    while let secret = nextSecret(in: text, from: secrets.last?.upperBound ?? 0) { secrets.append(secret) }
    return secrets
  }

  /// The first secret behind `start`, which is 0 or the end of another one.
  static func nextSecret(in text: UnsafeRawBufferPointer, from start: Int) -> Range<Int>? {
    // Most URLs have no `@` at all, which libc sees several bytes at a time.
    guard let bytes = text.baseAddress, memchr(bytes + start, Int32(UInt8(ascii: "@")), text.count - start) != nil,
      let lastAt = text[start...].lastIndex(of: UInt8(ascii: "@"))
    else { return nil }
    if start == 0, let authority = authorityStart(in: text),
      let secret = secret(in: text, from: authority, to: authorityEnd(in: text, from: authority), lastAt)
    {
      return secret
    }
    var index = start
    while let authority = innerAuthorityStart(in: text, from: index), authority < lastAt {
      let end = text[authority...].firstIndex(where: isInnerDelimiter) ?? text.count
      if let secret = secret(in: text, from: authority, to: end, lastAt), !secret.isEmpty { return secret }
      index = authority
    }
    return nil
  }

  /// The user and password of the authority that begins at `start` and seems to end at `end`.
  private static func secret(in text: UnsafeRawBufferPointer, from start: Int, to end: Int, _ lastAt: Int) -> Range<Int>? {
    if let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")) { return at > start ? start..<at : nil }
    // `user:pa/ss@host`: what follows the colon is no port, so the slash belongs to a password.
    if let colon = text[start..<end].firstIndex(of: UInt8(ascii: ":")), lastAt > end,
      !text[(colon + 1)..<end].allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), text[start] != UInt8(ascii: "[")
    {
      return start..<lastAt
    }
    return nil
  }

  /// After `http:` and any slashes, after two slashes, or at the start of `user:password@host`; nil for a path.
  private static func authorityStart(in text: UnsafeRawBufferPointer) -> Int? {
    let first = text.firstIndex { $0 > UInt8(ascii: " ") } ?? text.count
    let schemeEnd = text[first...].firstIndex { !ByteSet.scheme.contains($0) } ?? text.count
    let hasColon = schemeEnd > first && schemeEnd < text.count && text[schemeEnd] == UInt8(ascii: ":")
    let afterScheme = hasColon ? schemeEnd + 1 : first
    let afterSlashes = text[afterScheme...].firstIndex { !isSlash($0) } ?? text.count
    let lowerCase = text[first..<schemeEnd].lazy.map { $0 | 32 }
    let isWeb = hasColon && (lowerCase.elementsEqual("http".utf8) || lowerCase.elementsEqual("https".utf8))
    if isWeb || afterSlashes - afterScheme >= 2 { return afterSlashes }
    let colon = text[first..<authorityEnd(in: text, from: first)].firstIndex(of: UInt8(ascii: ":"))
    return colon == nil ? nil : first
  }

  private static func authorityEnd(in text: UnsafeRawBufferPointer, from start: Int) -> Int {
    text[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.count
  }

  /// Behind the next two slashes or more that follow a colon, or that a user and a password follow.
  private static func innerAuthorityStart(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var index = start
    while let slash = text[index...].firstIndex(where: isSlash) {
      let end = text[slash...].firstIndex { !isSlash($0) } ?? text.count
      if end - slash >= 2 {
        let at = text[end...].firstIndex { isInnerDelimiter($0) || $0 == UInt8(ascii: "@") } ?? text.count
        let hasColon = slash > 0 && text[slash - 1] == UInt8(ascii: ":") || text[end..<at].contains(UInt8(ascii: ":"))
        if hasColon { return end }
      }
      index = end
    }
    return nil
  }

  private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

  /// What ends the authority of a URL within a text, where it may be a value of a query or a word.
  private static func isInnerDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "&"), UInt8(ascii: "\""),
      0...UInt8(ascii: " "):
      true
    default: false
    }
  }
}
