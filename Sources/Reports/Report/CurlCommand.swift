package import Base

/// The curl command that repeats the request of an entry, with secrets masked.
public struct CurlCommand: Sendable, Hashable {
  /// The words between `curl` and the URL, with `***` in place of secrets.
  public var options: [String]

  public init(options: [String]) { self.options = options }

  /// The line for a URL as reports show it, in the form in which it is requested.
  public func line(for url: String) -> String { "\(prefix) \(word(for: url))" }
  private var prefix: String { (["curl"] + options).map(shellQuoted).joined(separator: " ") }

  private func word(for url: String) -> String {
    let sent = sentForm(of: url)
    // Text that isn't a URL must not become an option.
    let words = (hasPattern(sent) ? ["--globoff"] : []) + (sent.hasPrefix("-") ? ["--url"] : [])
    return (words + [sent]).map(shellQuoted).joined(separator: " ")
  }

  /// The line for a failure; nil if there was no request, such as for an invalid line, or if the line would request something else than
  /// it shows: URL or options contain invisible characters, or the URL wasn't UTF-8.
  func line(of failure: FailureRecord) -> String? { parts(of: failure).map { "\($0.prefix) \($0.word)" } }

  /// The same line in two parts, of which the first is the same for all failures of a kind and status.
  func parts(of failure: FailureRecord) -> (prefix: String, word: String)? {
    guard failure.failure?.kind != .invalidURL, isWebAddress(failure.url) else { return nil }
    guard (options + [failure.url]).allSatisfy(showsItself) else { return nil }
    return (failed(failure.failure).prefix, word(for: failure.url))
  }

  /// The command for the request that failed: a plain GET confirms failures of HEAD and ranges, except those that depend on neither.
  private func failed(_ failure: ImageFailure?) -> CurlCommand {
    let kinds: Set<FailureKind> = [.httpStatus, .reset, .truncated]
    guard let failure, kinds.contains(failure.kind), failure.status != 429 else { return self }
    var command = self
    if let range = options.firstIndex(of: "--range") { command.options.removeSubrange(range..<min(range + 2, options.count)) }
    if let head = options.firstIndex(of: "--head") {
      command.options.replaceSubrange(head...head, with: ["-D", "-", "-o", "/dev/null"])
    }
    return command
  }
}

extension FinishedReport {
  /// The line that repeats the request of a failure; nil if the request is unknown, there was none, such as for an invalid line, or it
  /// can't be shown.
  public func curlLine(of failure: FailureRecord) -> String? {
    requests.first { $0.variant == failure.variant }?.curl.line(of: failure)
  }
}

public struct ReportedRequest: Sendable, Hashable {
  package var variant: RequestVariant
  public var curl: CurlCommand

  package init(variant: RequestVariant = .plain, curl: CurlCommand) { (self.variant, self.curl) = (variant, curl) }
}

/// Text as one word of a POSIX shell: in single quotes if it contains special characters.
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

private func showsItself(_ text: String) -> Bool { text.unicodeScalars.allSatisfy { !isHidden($0.value) && $0 != "\u{FFFD}" } }

private func isWebAddress(_ url: String) -> Bool {
  ["http://", "https://"].contains { url.utf8.count > $0.utf8.count && url.prefix($0.count).lowercased() == $0 }
}

/// The URL as it is requested; a text that isn't one stays as it is.
private func sentForm(of url: String) -> String {
  do throws(InvalidURL) { return String(decoding: try BaseURL(url).bytes, as: UTF8.self) } catch { return url }
}

/// Whether curl would find a pattern in it: brackets or braces (curl(1), "Globbing"), except those of an IPv6 address.
private func hasPattern(_ url: String) -> Bool {
  url.unicodeScalars[pathStart(of: url)...].contains { "[]{}".unicodeScalars.contains($0) }
}

/// The end of a URL's scheme and host.
private func pathStart(of url: String) -> String.Index {
  let scalars = url.unicodeScalars
  let slashes = url.firstRange(of: "://")?.upperBound ?? scalars.startIndex
  return scalars[slashes...].firstIndex { "/?#".unicodeScalars.contains($0) } ?? scalars.endIndex
}

extension CurlCommand {
  /// Options with a value, which may be any text. At worst, a value makes curl request other servers in another way; none reads a
  /// file to send it, or writes one.
  private static let withAnyValue: Set<String> = [
    "--cacert", "--capath", "--cert", "--connect-timeout", "--connect-to", "--key", "--max-redirs", "--max-time", "--noproxy",
    "--proxy", "--range", "--user",
  ]
  private static let withoutValue: Set<String> = [
    "-sS", "--head", "--http1.1", "--http2-prior-knowledge", "--insecure", "--location",
  ]
  /// Options with fixed values, since other values would write or read a file.
  private static let withOneValue = ["-D": "-", "-o": "/dev/null", "--cookie": ""]

  /// Whether all of its options are those of runs, so that its line only requests an image. A report may come from anyone, and
  /// users copy such lines: quoting doesn't help against `--upload-file`.
  var hasOurOptionsOnly: Bool {
    var rest = options[...]
    while let option = rest.popFirst() {
      if Self.withoutValue.contains(option) { continue }
      guard let value = rest.popFirst() else { return false }
      switch option {
      // A field that starts with an @ names a file of fields (curl(1), `--header`).
      case "-H": if value.hasPrefix("@") { return false }
      case _ where Self.withAnyValue.contains(option): break
      default: if Self.withOneValue[option] != value { return false }
      }
    }
    return true
  }
}
