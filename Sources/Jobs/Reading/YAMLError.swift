/// Why a text couldn't be parsed as a YAML document, and where.
struct YAMLError: Error, Sendable, CustomStringConvertible {
  /// One sentence, without the location; libyaml's own words for syntax errors.
  let message: String
  /// The location of the error.
  let location: YAMLLocation

  init(_ message: String, in source: SourceText, at position: SourcePosition) {
    self.message = message
    let next = SourcePosition(line: position.line, column: position.column + 1)
    location = YAMLLocation(source: source, range: SourceRange(start: position, end: next))
  }

  /// `name:line:column: message`.
  var description: String { "\(location.label): \(message)" }
}

/// Limits on a document from an untrusted author.
struct YAMLLimits: Sendable {
  /// The size of the text in bytes; 1 MiB by default.
  var maximumBytes = 1 << 20
  /// The depth of nested collections, with aliases resolved; 64 by default.
  var maximumDepth = 64
  /// The number of nodes with aliases resolved, so that aliases that repeatedly double themselves are rejected; 100,000 by default.
  var maximumNodes = 100_000
  /// The number of anchors; 1,000 by default, since libyaml's time grows with their square.
  var maximumAnchors = 1_000
}
