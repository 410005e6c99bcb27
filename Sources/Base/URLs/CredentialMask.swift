import Platform

/// Replaces user names and passwords with `***` in any text, whether it is a URL or not.
public func maskingCredentials(_ text: UnsafeRawBufferPointer) -> [UInt8] {
  var secrets = CredentialMask.secrets(in: text)
  if let decoded = PercentDecoded(text) {
    let encoded = decoded.bytes.withUnsafeBytes(CredentialMask.secrets).map {
      decoded.offsets[$0.lowerBound]..<decoded.offsets[$0.upperBound]
    }
    secrets = (secrets + encoded).sorted { $0.lowerBound < $1.lowerBound }
  }
  var masked: [UInt8] = []
  var start = 0
  for secret in secrets where secret.upperBound > start {
    if secret.lowerBound >= start {
      masked += text[start..<secret.lowerBound]
      masked += "***".utf8
    }
    start = secret.upperBound
  }
  return masked + text[start...]
}

/// Replaces user names and passwords with `***` in any text, whether it is a URL or not.
public func maskingCredentials(_ text: String) -> String {
  String(decoding: Array(text.utf8).withUnsafeBytes { maskingCredentials($0) }, as: UTF8.self)
}

extension BaseURL {
  /// The URL with credentials masked.
  package var shown: String { String(decoding: bytes.withRawBytes { maskingCredentials($0) }, as: UTF8.self) }
}

/// Whether ``maskingCredentials(_:)->[UInt8]`` would change the text; for most texts one pass over the bytes.
public func holdsCredentials(_ text: UnsafeRawBufferPointer) -> Bool {
  if let decoded = PercentDecoded(text), decoded.bytes.withUnsafeBytes({ CredentialMask.nextSecret(in: $0, from: 0) }) != nil {
    return true
  }
  return CredentialMask.nextSecret(in: text, from: 0) != nil
}

/// A percent-decoded text, in which a URL inside another URL's query becomes readable.
private struct PercentDecoded {
  var bytes: [UInt8]
  /// The offset in the text of each of ``bytes``, and of the text's end.
  var offsets: [Int]

  /// Nil if the text has no encoded `@`, as is usual.
  init?(_ text: UnsafeRawBufferPointer) {
    guard Self.holdsEncodedAt(text) else { return nil }
    bytes = Array(text)
    offsets = Array(0...text.count)
    // URLs nested in URLs are encoded several times.
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

  private mutating func decode() -> Bool {
    var (read, written) = (0, 0)
    while read < bytes.count {
      (bytes[written], offsets[written]) = (bytes[read], offsets[read])
      if bytes[read] == UInt8(ascii: "%"), read + 2 < bytes.count, let high = hexadecimalValue(bytes[read + 1]),
        let low = hexadecimalValue(bytes[read + 2])
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
}

/// Finds user names and passwords, in valid and malformed URLs.
///
/// In a valid URL they end at the `@` before the host. In a malformed one, such as a password with a bare slash, hiding too much is
/// safer; but an `@` in a path, as in `photo@2x.png`, isn't a secret. The text may contain further URLs, in a query or a path, or
/// because it is a row of some other format.
private enum CredentialMask {
  static func secrets(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    var secrets: [Range<Int>] = []
    while let secret = nextSecret(in: text, from: secrets.last?.upperBound ?? 0) { secrets.append(secret) }
    return secrets
  }

  /// The first secret after `start`, which is 0 or the end of the previous secret.
  static func nextSecret(in text: UnsafeRawBufferPointer, from start: Int) -> Range<Int>? {
    // Most URLs have no `@`, and `memchr` checks several bytes at a time.
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

  /// The user name and password of the authority that begins at `start` and seems to end at `end`.
  private static func secret(in text: UnsafeRawBufferPointer, from start: Int, to end: Int, _ lastAt: Int) -> Range<Int>? {
    if let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")) { return at > start ? start..<at : nil }
    // `user:pa/ss@host`: the text after the colon isn't a port, so the slash belongs to a password.
    if let colon = text[start..<end].firstIndex(of: UInt8(ascii: ":")), lastAt > end,
      !text[(colon + 1)..<end].allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), text[start] != UInt8(ascii: "[")
    {
      return start..<lastAt
    }
    return nil
  }

  /// The offset after `http:` and any slashes, after two slashes, or at the start of `user:password@host`; nil for a path.
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

  /// The offset after the next two or more slashes that follow a colon or precede a user name and password.
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

  /// Whether the byte ends the authority of a URL within a text, such as one in a query.
  private static func isInnerDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "&"), UInt8(ascii: "\""),
      0...UInt8(ascii: " "):
      true
    default: false
    }
  }
}
