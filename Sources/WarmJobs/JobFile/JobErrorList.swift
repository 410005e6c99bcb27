internal import YAMLDocuments

/// The mistakes found so far, and what is needed to name their places; the readers of one job share it.
final class JobErrorList {
  /// What the command line set, in order: each is a text of its own.
  let options: [SourceText]
  /// Where secrets stand in the job file.
  let secrets: [SourceRange]
  private var found: [(order: Int, position: SourcePosition, mistake: JobMistake)] = []

  init(options: [SourceText], secrets: [SourceRange]) {
    self.options = options
    self.secrets = secrets
  }

  /// Those of the job file by place, then those of the options; what an alias repeats is there once.
  var sorted: [JobMistake] {
    var seen: Set<String> = []
    return found.enumerated()
      .sorted { ($0.element.order, $0.element.position, $0.offset) < ($1.element.order, $1.element.position, $1.offset) }
      .map(\.element.mistake)
      .filter { seen.insert($0.description).inserted }
  }

  /// Whether the command line set it.
  func isOption(_ node: YAMLNode) -> Bool { options.contains { $0 === node.location.source } }

  /// Text to show in quotes: cut where it is long, and nothing of what may be a user and a password.
  func shown(_ text: String) -> String {
    if text.contains(":"), text.contains("@") { return "'***'" }
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

  /// Adds a mistake at the first place within a scalar where `part` is written.
  func add(_ message: String, at node: YAMLNode, narrowedTo part: String) {
    add(message, at: node.location.first(part) ?? node.location)
  }

  func add(_ message: String, at location: SourceLocation) {
    let option = options.firstIndex { $0 === location.source }
    let place = option == nil ? JobMistake.Place.file(location) : .option(location.source.name)
    let mistake = JobMistake(place: place, message: message, secrets: option == nil ? secrets : [])
    found.append((option.map { $0 + 1 } ?? 0, location.range.start, mistake))
  }
}

extension SourceLocation {
  /// The first stretch within this one where `part` is written; nil where it is not, for want of escapes or on two lines.
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
