package import Reports

extension JobKeys {
  /// Every key with its default, values and meaning, as a job file to copy from; advanced keys are comments at its end.
  ///
  /// The text is itself a valid job. Lines are at most 120 columns wide; the text ends with a newline.
  package static func reference() -> String {
    var page = ReferencePage(isAdvanced: false)
    page.section("", indent: "")
    var advanced = ReferencePage(isAdvanced: true)
    advanced.section("", indent: "")
    let title = ["", "# Advanced keys, which few jobs need; copy them into the sections above.", "#"]
    return (page.lines + title + advanced.lines.map { "# \($0)" }).joined(separator: "\n") + "\n"
  }

  /// Every key as data, in the order of the reference.
  package static var list: JSONTree {
    .array(
      all.map { key in
        .sorted([
          "path": key.path,
          "values": key.form.synopsis,
          "default": key.defaultText,
          "example": key.example,
          "required": key.isRequired,
          "advanced": key.isAdvanced,
          "summary": key.summary,
        ])
      }
    )
  }
}

/// The lines of one part of the reference: that of normal or that of advanced keys.
private struct ReferencePage {
  private static let commentColumn = 36
  private static let maximumColumns = 118

  let isAdvanced: Bool
  var lines: [String] = []

  init(isAdvanced: Bool) { self.isAdvanced = isAdvanced }

  mutating func section(_ path: String, indent: String) {
    for key in keys(at: path) { line(of: key, indent: indent) }
  }

  /// The keys of this part at `path`, and the sections with such keys.
  private func keys(at path: String) -> [JobKey] { (JobKeys.bySection[path] ?? []).filter(isPart) }

  private func isPart(_ key: JobKey) -> Bool {
    if key.isAdvanced == isAdvanced { return true }
    switch key.kind {
    case .section: return JobKeys.bySection[key.path]?.contains(where: isPart) ?? false
    case .named: return JobKeys.bySection[key.path + "[]"]?.contains(where: isPart) ?? false
    case .entries: return key.defaultText == nil && JobKeys.bySection[key.path + "[]"]?.contains(where: isPart) ?? false
    default: return false
    }
  }

  private mutating func line(of key: JobKey, indent: String) {
    switch key.kind {
    case .section:
      add("\(indent)\(key.name):", comment(on: key))
      section(key.path, indent: indent + "  ")
    case .named:
      add("\(indent)\(key.name):", comment(on: key))
      let name = key.example.flatMap { JobKeys.node($0, of: key.path).mapping?.pairs.first?.key.scalar?.text }
      add("\(indent)  \(name ?? ""):", "")
      section(key.path + "[]", indent: indent + "    ")
    case .entries(let names, _): entries(key, exactlyOneOf: names, indent: indent)
    default: add("\(indent)\(key.name): \(key.defaultText ?? key.example ?? "")", comment(on: key))
    }
  }

  /// Adds a list: its default and the other kinds of entries as comments; without a default, an entry with all keys.
  private mutating func entries(_ list: JobKey, exactlyOneOf names: [String], indent: String) {
    add("\(indent)\(list.name):\(list.defaultText.map { " \($0)" } ?? "")", comment(on: list))
    let all = JobKeys.bySection[list.path + "[]"] ?? []
    var choices = all.filter { names.contains($0.name) }
    if list.defaultText == nil, let first = choices.first {
      choices.removeFirst()
      add("\(indent)  - \(first.name): \(first.example ?? "")", comment(on: first))
      for key in keys(at: list.path + "[]") where !names.contains(key.name) { line(of: key, indent: indent + "    ") }
    }
    guard !isAdvanced else { return }
    for key in choices {
      let isPart = list.defaultText == nil
      if case .section = key.kind {
        add("\(indent)  # - \(key.name):", comment(on: key))
        for part in JobKeys.bySection[key.path] ?? [] {
          add("\(indent)  #     \(part.name): \(part.defaultText ?? part.example ?? "")", comment(on: part))
        }
        continue
      }
      add("\(indent)  \(isPart ? "" : "# ")- \(key.name): \(key.defaultText ?? key.example ?? "PATH")", comment(on: key))
    }
    guard list.defaultText != nil else { return }
    for key in all where !names.contains(key.name) {
      add("\(indent)  #   \(key.name): \(key.defaultText ?? key.example ?? "")", comment(on: key))
    }
  }

  private func comment(on key: JobKey) -> String {
    guard key.isAdvanced == isAdvanced else { return "" }
    let marks = [key.isRequired ? "required" : "", key.form.isShown ? key.form.synopsis : "", key.summary]
    return marks.filter { !$0.isEmpty }.joined(separator: "; ")
  }

  /// Adds a line and its comment, which continue on further lines if they are long.
  private mutating func add(_ text: String, _ comment: String) {
    var text = text
    let indent = String(text.prefix { $0 == " " }) + "  "
    while text.count > Self.maximumColumns, let comma = text.prefix(Self.maximumColumns).lastIndex(of: ",") {
      lines.append(String(text[...comma]))
      text = indent + text[comma...].dropFirst(2)
    }
    guard !comment.isEmpty else { return lines.append(text) }
    var line = text + String(repeating: " ", count: max(1, Self.commentColumn - text.count)) + "#"
    for word in comment.split(separator: " ") {
      if line.count + 1 + word.count > Self.maximumColumns {
        lines.append(line)
        line = String(repeating: " ", count: Self.commentColumn) + "#"
      }
      line += " \(word)"
    }
    lines.append(line)
  }
}

extension JobKeys {
  /// The values that shells offer for the key at `path`: its words, and a default of a single word.
  package static func suggestions(for path: String) -> [String] { key(at: path).map(suggestions(for:)) ?? [] }

  /// The `KEY=VALUE` texts that shells offer for keys whose path starts with `section`, which is left out.
  package static func settings(in section: String = "") -> [String] {
    all.filter { $0.path.hasPrefix(section) && !$0.path.contains("[]") }.flatMap { key in
      suggestions(for: key).map { "\(key.path.dropFirst(section.count))=\($0)" }
    }
  }

  private static func suggestions(for key: JobKey) -> [String] {
    let words = key.form.words
    guard let text = key.defaultText, !words.contains(text), isWord(text) else { return words }
    return words + [text]
  }

  /// Whether a shell needs no quotes for the text.
  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isLetter || $0.isDigit || ".%/-".utf8.contains($0) }
  }
}
