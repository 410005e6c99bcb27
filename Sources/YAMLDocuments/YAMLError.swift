/// Why a text could not be read as a YAML document, and where.
public struct YAMLError: Error, Sendable, CustomStringConvertible {
  /// One sentence, without the place; libyaml's own words for mistakes of syntax.
  public let message: String
  /// Where the mistake was found.
  public let location: SourceLocation

  init(_ message: String, in source: SourceText, at position: SourcePosition) {
    self.message = message
    let next = SourcePosition(line: position.line, column: position.column + 1)
    location = SourceLocation(source: source, range: SourceRange(start: position, end: next))
  }

  /// `name:line:column: message`.
  public var description: String { "\(location.label): \(message)" }
}

/// How much a document may ask of us, whoever wrote it.
public struct YAMLLimits: Sendable {
  /// Bytes of the text; 1 MiB by default.
  public var maximumBytes = 1 << 20
  /// Collections within one another, aliases resolved; 64 by default.
  public var maximumDepth = 64
  /// Nodes with aliases resolved, so that an alias that doubles itself again and again is refused; 100,000 by default.
  public var maximumNodes = 100_000
  /// Anchors; 1,000 by default, since libyaml's time grows with their square.
  public var maximumAnchors = 1_000

  /// The limits by default.
  public init() {}
}
