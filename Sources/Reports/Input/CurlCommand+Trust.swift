extension CurlCommand {
  /// Options that are followed by a value, which may be any.
  ///
  /// What a value of these makes curl do is ask other servers, in another way: none reads a file to send it, or writes one.
  private static let withAnyValue: Set<String> = [
    "--cacert", "--capath", "--cert", "--connect-timeout", "--connect-to", "--key", "--max-redirs", "--max-time", "--noproxy",
    "--proxy", "--range", "--user",
  ]
  private static let withoutValue: Set<String> = [
    "-sS", "--head", "--http1.1", "--http2-prior-knowledge", "--insecure", "--location",
  ]
  /// Those of which other values would write a file, or read one.
  private static let withOneValue = ["-D": "-", "-o": "/dev/null", "--cookie": ""]

  /// Whether it is made of options that runs give alone, so that whoever repeats its line does nothing but ask for an image.
  ///
  /// A report may come from anyone, and a line is there to be copied: quoting does not help against `--upload-file`.
  var hasOurOptionsOnly: Bool {
    var rest = options[...]
    while let option = rest.popFirst() {
      if Self.withoutValue.contains(option) { continue }
      guard let value = rest.popFirst() else { return false }
      switch option {
      // A field that begins with an @ names a file of fields (curl(1), `--header`).
      case "-H": if value.hasPrefix("@") { return false }
      case _ where Self.withAnyValue.contains(option): break
      default: if Self.withOneValue[option] != value { return false }
      }
    }
    return true
  }
}
