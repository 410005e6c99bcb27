import ImagePrimitives

/// The curl command that makes the request of an entry again, secrets masked.
public struct CurlCommand: Sendable, Hashable {
  /// What stands between `curl` and the URL: options as a POSIX shell takes them, with `***` in place of secrets.
  public var options: String

  /// A command with those options, which are quoted already; see ``shellQuoted(_:)``.
  public init(options: String) { self.options = options }

  /// The line for a URL as reports show it, which is written as it is sent: what may not stand in a URL is percent-encoded.
  public func line(for url: String) -> String {
    let sent = percentEncoded(url)
    var words = ["curl"]
    if !options.isEmpty { words.append(options) }
    if hasPattern(sent) { words.append("--globoff") }
    return (words + [shellQuoted(sent)]).joined(separator: " ")
  }
}

extension FinishedReport {
  /// The line that makes the request of a failure again; nil where that is not known, and where there was none, as of a bad line.
  public func curlLine(of failure: FailureRecord) -> String? {
    guard failure.failure?.kind != .invalidURL else { return nil }
    return requests.first { $0.variant == failure.variant }?.curl.line(for: failure.url)
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

/// The URL with spaces, hidden characters and bytes beyond ASCII as a request line has them; a host's name stays as it is, in which
/// curl reads letters of all languages.
private func percentEncoded(_ url: String) -> String {
  let authorityEnd = pathStart(of: url)
  var result = ""
  for (index, scalar) in zip(url.unicodeScalars.indices, url.unicodeScalars) {
    let isUnsafe =
      switch scalar {
      case "\u{0}"..."\u{20}", "\u{7F}", "\"", "<", ">", "\\", "^", "`", "{", "|", "}": true
      case "%": !beginsEncoding(url.unicodeScalars[index...])
      default: scalar.value > 0x7F && (index >= authorityEnd || isHidden(scalar.value))
      }
    guard isUnsafe else {
      result.unicodeScalars.append(scalar)
      continue
    }
    for byte in String(scalar).utf8 {
      result += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
    }
  }
  return result
}

/// Whether a percent sign has two hexadecimal digits behind it.
private func beginsEncoding(_ text: Substring.UnicodeScalarView) -> Bool {
  let digits = text.dropFirst().prefix(2)
  return digits.count == 2 && digits.allSatisfy { $0.isASCII && $0.properties.isASCIIHexDigit }
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
