internal import Base

package struct JobFileError: Error, Sendable, CustomStringConvertible {
  enum Location: Sendable {
    case file(YAMLLocation)
    /// In an option of the command line, as typed.
    case option(String)
    case path(String)
  }

  let location: Location
  /// A sentence without the location and without secrets.
  package let message: String
  /// Ranges of the text that hold secrets, which are never shown.
  let secrets: [SourceRange]

  /// `file:line:column`, or the option, or the path.
  package var label: String {
    switch location {
    case .file(let source): source.label
    case .option(let option): option
    case .path(let path): maskingCredentials(path)
    }
  }

  /// The location and the message on one line.
  package var description: String { SourceExcerpt.visible("\(label): \(message)") }

  /// The location and the message; for an error in a file also its line with carets below. Ends without a newline.
  package func formatted(color: Bool) -> String {
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

/// All errors of a job: those of the file in their order, then those of the command line.
package struct JobFileErrors: Error, Sendable, CustomStringConvertible {
  package let errors: [JobFileError]

  package init(_ errors: [JobFileError]) {
    precondition(!errors.isEmpty, "no errors")
    self.errors = errors
  }

  init(_ path: String, _ message: String) { self.init([JobFileError(location: .path(path), message: message, secrets: [])]) }

  /// All errors for a terminal, each with its line and carets, and their number; ends with a newline.
  ///
  /// - Parameter color: whether the carets are red.
  package func formatted(color: Bool) -> String {
    let count = errors.count == 1 ? "1 error" : "\(errors.count) errors"
    return (errors.map { $0.formatted(color: color) } + ["\(count); nothing was fetched", ""]).joined(separator: "\n")
  }

  package var description: String { formatted(color: false) }
}

/// Collects the errors of one job; its readers share it.
final class JobFileErrorList {
  /// The options of the command line in order, each a text of its own.
  let options: [SourceText]
  /// The ranges of secrets in the job file; found with the first error.
  private lazy var secrets = JobSecrets.ranges(in: root)
  private let root: YAMLNode
  private var found: [(order: Int, position: SourcePosition, error: JobFileError)] = []

  init(options: [SourceText], root: YAMLNode) { (self.options, self.root) = (options, root) }

  /// The errors of the job file by location, then those of options; an error repeated by an alias is listed once.
  var sorted: [JobFileError] {
    var seen: Set<String> = []
    return found.enumerated()
      .sorted { ($0.element.order, $0.element.position, $0.offset) < ($1.element.order, $1.element.position, $1.offset) }
      .map(\.element.error)
      .filter { seen.insert($0.description).inserted }
  }

  func isOption(_ node: YAMLNode) -> Bool { options.contains { $0 === node.location.source } }

  /// Whether a node of the job file may contain a secret.
  func isSecret(_ node: YAMLNode) -> Bool {
    let range = node.location.range
    return !isOption(node) && secrets.contains { $0.start < range.end && range.start < $0.end }
  }

  /// The text of a node in quotes: cut if it is long, masked if it may be a secret.
  func shown(_ text: String, of node: YAMLNode) -> String {
    if isSecret(node) || text.contains(":") && text.contains("@") { return "'***'" }
    return text.count > 60 ? "'\(text.prefix(60))…'" : "'\(text)'"
  }

  func add(_ message: String, at node: YAMLNode) { add(message, at: node.location) }

  /// Adds an error at a node, or at its key if the node is empty.
  func add(_ message: String, at node: YAMLNode, or key: YAMLNode) {
    let range = node.location.range
    add(message, at: range.start == range.end ? key.location : node.location)
  }

  func add(_ message: String, atStartOf node: YAMLNode) {
    var location = node.location
    location.range.end = location.range.start
    add(message, at: location)
  }

  /// Adds an error at the first occurrence of `part` within a scalar.
  func add(_ message: String, at node: YAMLNode, narrowedTo part: String) {
    add(message, at: node.location.first(part) ?? node.location)
  }

  func add(_ message: String, at location: YAMLLocation) {
    let option = options.firstIndex { $0 === location.source }
    let error = JobFileError(
      location: option == nil ? .file(location) : .option(location.source.name),
      message: message,
      secrets: option == nil ? secrets : []
    )
    found.append((option.map { $0 + 1 } ?? 0, location.range.start, error))
  }
}

extension YAMLLocation {
  /// The first occurrence of `part` within this range; nil if there is none, for example because of escapes or line breaks.
  fileprivate func first(_ part: String) -> YAMLLocation? {
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
      return YAMLLocation(source: source, range: SourceRange(start: start, end: end))
    }
    return nil
  }
}

/// Finds the parts of a job file that no message may show: values of keys that may hold secrets, even misspelt ones, and URLs with a user.
///
/// Values of environment variables aren't in the file, so its lines can't show them.
enum JobSecrets {
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

  /// The lines with secrets of a text that isn't YAML: those with suspicious words, and the indented lines below them.
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
    // A name may be a whole header field without its space.
    case .mapping(let mapping):
      mapping.pairs.flatMap { (($0.key.scalar?.text).map(isFieldName) ?? false ? [] : values(in: $0.key)) + values(in: $0.value) }
    }
  }

  /// Whether a key or a line may name a secret.
  private static func mayNameSecret(_ text: String) -> Bool {
    let text = text.lowercased()
    return [
      "auth", "bearer", "cookie", "credential", "header", "passw", "proxy", "salt", "secret", "sign", "token", "variants",
      "api-key", "apikey", "key-env", "notify", "slack", "teams", "url-env", "url-file", "webhook",
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
