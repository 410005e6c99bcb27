internal import ImageURLs
public import YAMLDocuments

/// One mistake in a job, with its location.
public struct JobFileError: Error, Sendable, CustomStringConvertible {
  public enum Location: Sendable {
    /// In the job file.
    case file(SourceLocation)
    /// In what the command line sets: the option as it was typed.
    case option(String)
    /// In the file as a whole, by its path: it cannot be read.
    case path(String)
  }

  public let location: Location
  /// One sentence, without the location and without secrets.
  public let message: String
  /// Stretches of the text that hold secrets and are never shown.
  let secrets: [SourceRange]

  /// `file:line:column`, or the option, or the path.
  public var label: String {
    switch location {
    case .file(let source): source.label
    case .option(let option): option
    case .path(let path): maskingCredentials(path)
    }
  }

  /// The location and the sentence on one line.
  public var description: String { SourceExcerpt.visible("\(label): \(message)") }

  /// The location and the sentence, and for a mistake in a file its line with carets below; ends without a newline.
  public func formatted(color: Bool) -> String {
    guard case .file(let source) = location, let excerpt = SourceExcerpt(at: source, hiding: secrets) else {
      return description
    }
    let number = String(excerpt.lineNumber)
    let gutter = String(repeating: " ", count: max(0, 4 - number.count)) + number
    let carets = color ? "\u{1B}[31m\(excerpt.carets)\u{1B}[0m" : excerpt.carets
    return """
      \(description)
      \(gutter) | \(excerpt.line)
      \(String(repeating: " ", count: gutter.count)) | \(excerpt.padding)\(carets)
      """
  }
}

/// Everything that is wrong with a job: the file's mistakes in their order, then those of the command line.
public struct JobFileErrors: Error, Sendable, CustomStringConvertible {
  /// Never empty.
  public let errors: [JobFileError]

  /// Joins errors, of several jobs too, which keep their order.
  public init(_ errors: [JobFileError]) {
    precondition(!errors.isEmpty, "no mistake is no error")
    self.errors = errors
  }

  /// All mistakes for a terminal, each with its line and carets, and how many there are; ends with a newline.
  ///
  /// - Parameter color: whether the carets are red.
  public func formatted(color: Bool) -> String {
    let count = errors.count == 1 ? "1 mistake" : "\(errors.count) mistakes"
    return (errors.map { $0.formatted(color: color) } + ["\(count); nothing was fetched", ""]).joined(separator: "\n")
  }

  public var description: String { formatted(color: false) }
}

/// The mistakes found so far, and what is needed to name their locations; the readers of one job share it.
final class JobFileErrorList {
  /// What the command line set, in order: each is a text of its own.
  let options: [SourceText]
  /// Where secrets stand in the job file; looked for with the first error.
  private lazy var secrets = JobSecrets.ranges(in: root)
  private let root: YAMLNode
  private var found: [(order: Int, position: SourcePosition, mistake: JobFileError)] = []

  init(options: [SourceText], root: YAMLNode) {
    self.options = options
    self.root = root
  }

  /// Those of the job file by location, then those of the options; what an alias repeats is there once.
  var sorted: [JobFileError] {
    var seen: Set<String> = []
    return found.enumerated()
      .sorted { ($0.element.order, $0.element.position, $0.offset) < ($1.element.order, $1.element.position, $1.offset) }
      .map(\.element.mistake)
      .filter { seen.insert($0.description).inserted }
  }

  /// Whether the command line set it.
  func isOption(_ node: YAMLNode) -> Bool { options.contains { $0 === node.location.source } }

  /// Whether a node of the job file may hold a secret.
  func isSecret(_ node: YAMLNode) -> Bool {
    let range = node.location.range
    return !isOption(node) && secrets.contains { $0.start < range.end && range.start < $0.end }
  }

  /// The text of a node to show in quotes: cut if it is long, and nothing of a secret.
  func shown(_ text: String, of node: YAMLNode) -> String {
    if isSecret(node) || text.contains(":") && text.contains("@") { return "'***'" }
    return text.count > 60 ? "'\(text.prefix(60))…'" : "'\(text)'"
  }

  /// Adds a mistake at a node.
  func add(_ message: String, at node: YAMLNode) { add(message, at: node.location) }

  /// Adds a mistake at a node, or at its key where nothing is written for it.
  func add(_ message: String, at node: YAMLNode, or key: YAMLNode) {
    let range = node.location.range
    add(message, at: range.start == range.end ? key.location : node.location)
  }

  /// Adds a mistake at the first character of a node.
  func add(_ message: String, atStartOf node: YAMLNode) {
    var location = node.location
    location.range.end = location.range.start
    add(message, at: location)
  }

  /// Adds a mistake at the first occurrence within a scalar where `part` is written.
  func add(_ message: String, at node: YAMLNode, narrowedTo part: String) {
    add(message, at: node.location.first(part) ?? node.location)
  }

  func add(_ message: String, at location: SourceLocation) {
    let option = options.firstIndex { $0 === location.source }
    let mistake = JobFileError(
      location: option == nil ? .file(location) : .option(location.source.name),
      message: message,
      secrets: option == nil ? secrets : []
    )
    found.append((option.map { $0 + 1 } ?? 0, location.range.start, mistake))
  }
}

extension SourceLocation {
  /// The first stretch within this one where `part` is written; nil if it is not, for want of escapes or on two lines.
  fileprivate func first(_ part: String) -> SourceLocation? {
    let needle = Array(part.unicodeScalars)
    for number in range.start.line...max(range.start.line, range.end.line) where source.lines.indices.contains(number - 1) {
      let line = Array(source.lines[number - 1].unicodeScalars)
      let from = number == range.start.line ? range.start.column - 1 : 0
      guard line.count >= needle.count, from <= line.count - needle.count else { continue }
      guard let offset = (from...(line.count - needle.count)).first(where: { Array(line[$0..<($0 + needle.count)]) == needle })
      else {
        continue
      }
      let start = SourcePosition(line: number, column: offset + 1)
      let end = SourcePosition(line: number, column: offset + 1 + needle.count)
      return SourceLocation(source: source, range: SourceRange(start: start, end: end))
    }
    return nil
  }
}

/// Finds what no message may show of a job file: values below keys that may hold secrets, known or misspelt, and URLs with a user in them.
///
/// What variables hold never stands in the file, so its lines cannot show it.
enum JobSecrets {
  /// The stretches of all secrets below `node`.
  static func ranges(in node: YAMLNode) -> [SourceRange] {
    switch node.content {
    case .scalar(let scalar): holdsSecret(scalar.text) ? [node.location.range] : []
    case .sequence(let items): items.flatMap(ranges)
    case .mapping(let mapping):
      mapping.pairs.flatMap { pair in
        pair.key.scalar.map { mayNameSecret($0.text) } ?? true ? values(in: pair.value) : ranges(in: pair.value)
      }
    }
  }

  /// The lines of a text that is no YAML, and so has no keys: those of a secret by their words, and what is indented below such a line.
  static func lines(of source: SourceText) -> [SourceRange] {
    var secretIndent: Int?
    return source.lines.enumerated().compactMap { index, line in
      let indent = line.prefix { $0 == " " || $0 == "\t" }.count
      if indent < line.count, let secret = secretIndent, indent <= secret { secretIndent = nil }
      let isSecret = secretIndent != nil || mayNameSecret(line) || holdsSecret(line)
      if isSecret, secretIndent == nil { secretIndent = indent }
      guard isSecret else { return nil }
      let end = SourcePosition(line: index + 1, column: line.unicodeScalars.count + 1)
      return SourceRange(start: SourcePosition(line: index + 1, column: indent + 1), end: end)
    }
  }

  private static func values(in node: YAMLNode) -> [SourceRange] {
    switch node.content {
    case .scalar: [node.location.range]
    case .sequence(let items): items.flatMap(values)
    // A name may be a whole field that lacks its space.
    case .mapping(let mapping):
      mapping.pairs.flatMap { (($0.key.scalar?.text).map(isFieldName) ?? false ? [] : values(in: $0.key)) + values(in: $0.value) }
    }
  }

  /// Whether a key, or a line, is about secrets.
  private static func mayNameSecret(_ text: String) -> Bool {
    let text = text.lowercased()
    return [
      "auth", "bearer", "cookie", "credential", "header", "passw", "proxy", "secret", "token", "variants", "api-key", "apikey",
    ]
    .contains { text.contains($0) }
  }

  private static func holdsSecret(_ text: String) -> Bool {
    maskingCredentials(text) != text || text.contains("://") && text.contains("@")
  }

  private static func isFieldName(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 > UInt8(ascii: " ") && $0 < 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "=") }
  }
}
