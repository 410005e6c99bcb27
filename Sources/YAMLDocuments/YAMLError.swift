/// Why a text couldn't be parsed as a YAML document, and where.
public struct YAMLError: Error, Sendable, CustomStringConvertible {
  /// One sentence, without the location; libyaml's own words for syntax errors.
  public let message: String
  /// The location of the error.
  public let location: SourceLocation

  init(_ message: String, in source: SourceText, at position: SourcePosition) {
    self.message = message
    let next = SourcePosition(line: position.line, column: position.column + 1)
    location = SourceLocation(source: source, range: SourceRange(start: position, end: next))
  }

  /// `name:line:column: message`.
  public var description: String { "\(location.label): \(message)" }
}

/// Limits on a document from an untrusted author.
public struct YAMLLimits: Sendable {
  /// The size of the text in bytes; 1 MiB by default.
  public var maximumBytes = 1 << 20
  /// The depth of nested collections, with aliases resolved; 64 by default.
  public var maximumDepth = 64
  /// The number of nodes with aliases resolved, so that aliases that repeatedly double themselves are rejected; 100,000 by default.
  public var maximumNodes = 100_000
  /// The number of anchors; 1,000 by default, since libyaml's time grows with their square.
  public var maximumAnchors = 1_000

  /// Creates the default limits.
  public init() {}
}
