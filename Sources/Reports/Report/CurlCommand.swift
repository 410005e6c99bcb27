import ImagePrimitives

/// The curl command that makes the request of an entry again, secrets masked.
public struct CurlCommand: Sendable, Hashable {
  /// What stands between `curl` and the URL, a word each, with `***` in place of secrets.
  public var options: [String]

  /// A command with those options, which are quoted where a line is made of them.
  public init(options: [String]) { self.options = options }

  /// The line for a URL as reports show it, which is written as it is sent: what may not stand in a URL is percent-encoded.
  public func line(for url: String) -> String {
    let sent = sentForm(of: url)
    var words = ["curl"] + options
    if hasPattern(sent) { words.append("--globoff") }
    // What is no URL must not be an option either.
    if sent.hasPrefix("-") { words.append("--url") }
    return (words + [sent]).map(shellQuoted).joined(separator: " ")
  }

  /// The line for a failure; nil where there was no request, as of a bad line, and where the line would ask for something else than it
  /// shows: URL or options have characters that cannot be seen, or the URL was not UTF-8.
  func line(of failure: FailureRecord) -> String? {
    guard failure.failure?.kind != .invalidURL, isWebAddress(failure.url) else { return nil }
    guard (options + [failure.url]).allSatisfy(showsItself) else { return nil }
    return line(for: failure.url)
  }
}

extension FinishedReport {
  /// The line that makes the request of a failure again; nil where that is not known, where there was none, as of a bad line, and where it
  /// cannot be shown.
  public func curlLine(of failure: FailureRecord) -> String? {
    requests.first { $0.variant == failure.variant }?.curl.line(of: failure)
  }
}

/// The way in which entries of a variant were asked for.
public struct ReportedRequest: Sendable, Hashable {
  /// Which entries.
  public var variant: ReportedVariant
  /// What repeats their requests.
  public var curl: CurlCommand

  /// The requests of the plain variant, where no other is named.
  public init(variant: ReportedVariant = ReportedVariant(name: nil, edge: nil), curl: CurlCommand) {
    self.variant = variant
    self.curl = curl
  }
}

/// Text as one word of a POSIX shell: as it is where it holds nothing that means something there, else in single quotes.
public func shellQuoted(_ text: String) -> String {
  let plain = text.utf8.allSatisfy { byte in
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: "@%+=:,./_-".utf8.contains(byte)
    }
  }
  if plain, !text.isEmpty { return text }
  return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
}

/// Whether all of a text can be seen.
private func showsItself(_ text: String) -> Bool { text.unicodeScalars.allSatisfy { !isHidden($0.value) && $0 != "\u{FFFD}" } }

/// Whether curl asks a web server for it.
private func isWebAddress(_ url: String) -> Bool {
  ["http://", "https://"].contains { url.utf8.count > $0.utf8.count && url.prefix($0.count).lowercased() == $0 }
}

/// The URL with spaces, hidden characters and bytes beyond ASCII as a request line has them, and encodings in normal form (RFC 3986,
/// section 6.2.2); a host's name stays as it is, in which curl reads letters of all languages. curl removes dot segments itself.
private func sentForm(of url: String) -> String {
  let scalars = url.unicodeScalars
  let authorityEnd = pathStart(of: url)
  var result = ""
  var index = scalars.startIndex
  while index < scalars.endIndex {
    let scalar = scalars[index]
    let isUnsafe =
      switch scalar {
      case "\u{0}"..."\u{20}", "\u{7F}", "\"", "<", ">", "\\", "^", "`", "{", "|", "}": true
      case "%": encodedByte(scalars[index...]) == nil
      default: scalar.value > 0x7F && (index >= authorityEnd || isHidden(scalar.value))
      }
    if scalar == "%", index >= authorityEnd, let byte = encodedByte(scalars[index...]) {
      if isUnreserved(byte) { result.unicodeScalars.append(Unicode.Scalar(byte)) } else { result += percentEncoding(of: byte) }
      scalars.formIndex(&index, offsetBy: 3)
      continue
    }
    if isUnsafe { result += String(scalar).utf8.map(percentEncoding).joined() } else { result.unicodeScalars.append(scalar) }
    scalars.formIndex(after: &index)
  }
  return result
}

private func percentEncoding(of byte: UInt8) -> String { (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true) }

/// The byte that a percent sign and the two hexadecimal digits behind it stand for; nil where there are none.
private func encodedByte(_ text: Substring.UnicodeScalarView) -> UInt8? {
  let digits = text.dropFirst().prefix(2)
  guard digits.count == 2, digits.allSatisfy({ $0.isASCII && $0.properties.isASCIIHexDigit }) else { return nil }
  return UInt8(String(digits), radix: 16)
}

/// Whether a byte means the same encoded or not (RFC 3986, section 2.3).
private func isUnreserved(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
  default: "-._~".utf8.contains(byte)
  }
}

/// Whether curl would read a pattern in it: brackets and braces are some (curl(1), "Globbing"), but not those of an IPv6 address.
private func hasPattern(_ url: String) -> Bool {
  url.unicodeScalars[pathStart(of: url)...].contains { "[]{}".unicodeScalars.contains($0) }
}

/// Where scheme and host of a URL end.
private func pathStart(of url: String) -> String.Index {
  let scalars = url.unicodeScalars
  let slashes = url.firstRange(of: "://")?.upperBound ?? scalars.startIndex
  return scalars[slashes...].firstIndex { "/?#".unicodeScalars.contains($0) } ?? scalars.endIndex
}
