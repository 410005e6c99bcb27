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

/// Appends what ``maskingCredentials(_:)->[UInt8]`` returns, for rows that are written without a copy in between.
public func appendMaskingCredentials(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
  let secret = CredentialMask.secret(in: text)
  bytes.append(contentsOf: text[..<secret.lowerBound])
  if !secret.isEmpty { bytes.append(contentsOf: "***".utf8) }
  bytes.append(contentsOf: text[secret.upperBound...])
}

/// Finds user name and password where people write them, right or wrong.
///
/// In a URL that can be read they end at the `@` before the host. In one that cannot, such as a password with a bare slash, it is
/// better to hide too much; yet an `@` in a path, as in `photo@2x.png`, is no secret.
private enum CredentialMask {
  static func secret(in text: UnsafeRawBufferPointer) -> Range<Int> {
    // Most URLs have no `@` at all.
    guard let lastAt = text.lastIndex(of: UInt8(ascii: "@")) else { return text.count..<text.count }
    let start = authorityStart(in: text)
    guard let start else { return text.count..<text.count }
    let end = text[start...].firstIndex(where: isDelimiter) ?? text.count
    if let at = text[start..<end].lastIndex(of: UInt8(ascii: "@")) { return start..<at }
    // `user:pa/ss@host`: what follows the colon is no port, so the slash belongs to a password.
    if let colon = text[start..<end].firstIndex(of: UInt8(ascii: ":")), lastAt > end,
      !text[(colon + 1)..<end].allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), text[start] != UInt8(ascii: "[")
    {
      return start..<lastAt
    }
    return text.count..<text.count
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
    let end = text[first...].firstIndex(where: isDelimiter) ?? text.count
    let colon = text[first..<end].firstIndex(of: UInt8(ascii: ":"))
    return colon == nil ? nil : first
  }

  private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }
}
