extension StringProtocol {
  /// What a sentence quotes of it where a server wrote it: at most 200 characters, of which the last is "…" where it was cut.
  ///
  /// Characters are Unicode scalars here, so that it stays below a kilobyte, whatever it is made of.
  public var quotable: String {
    let maximumCharacters = 200
    guard !unicodeScalars.dropFirst(maximumCharacters).isEmpty else { return String(self) }
    var text = String.UnicodeScalarView(unicodeScalars.prefix(maximumCharacters - 1))
    text.append("…")
    return String(text)
  }
}
