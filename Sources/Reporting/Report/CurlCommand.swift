/// The curl command that makes the request of an entry again, secrets masked.
public struct CurlCommand: Sendable, Hashable {
  /// What stands between `curl` and the URL: options as a POSIX shell takes them, with `***` in place of secrets.
  public var options: String

  /// A command with those options, which are quoted already; see ``shellQuoted(_:)``.
  public init(options: String) { self.options = options }

  /// The line for a URL as reports show it.
  public func line(for url: String) -> String {
    (options.isEmpty ? ["curl", shellQuoted(url)] : ["curl", options, shellQuoted(url)]).joined(separator: " ")
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
