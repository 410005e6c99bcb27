extension JobKeys {
  /// Every key with its default, what it takes and what it means, as a job file that can be copied and cut down.
  ///
  /// The text is itself a valid job. Lines are at most 120 columns wide; the text ends with a newline.
  public static func reference() -> String {
    var page = ReferencePage()
    page.section("", indent: "")
    return page.lines.joined(separator: "\n") + "\n"
  }
}

/// The lines of the list of keys.
private struct ReferencePage {
  private static let commentColumn = 36
  private static let maximumColumns = 120

  var lines: [String] = []

  /// The keys of the section at `path`.
  mutating func section(_ path: String, indent: String) {
    for key in JobKeys.bySection[path] ?? [] { line(of: key, indent: indent) }
  }

  private mutating func line(of key: JobKey, indent: String) {
    switch key.type {
    case .section:
      add("\(indent)\(key.name):", comment(on: key))
      section(key.path, indent: indent + "  ")
    case .entries(let names, _): entries(key, exactlyOneOf: names, indent: indent)
    default: add("\(indent)\(key.name): \(key.defaultText ?? key.example ?? "")", comment(on: key))
    }
  }

  /// A list: its default and what else its entries may be; where it has none, an entry with all keys.
  private mutating func entries(_ list: JobKey, exactlyOneOf names: [String], indent: String) {
    add("\(indent)\(list.name):\(list.defaultText.map { " \($0)" } ?? "")", comment(on: list))
    let keys = JobKeys.bySection[list.path + "[]"] ?? []
    var others = keys.filter { names.contains($0.name) }
    if list.defaultText == nil, let first = others.first {
      others.removeFirst()
      add("\(indent)  - \(first.name): \(first.example ?? "")", comment(on: first))
      for key in keys where !names.contains(key.name) { line(of: key, indent: indent + "    ") }
    }
    for key in others {
      let isPart = list.defaultText == nil
      add("\(indent)  \(isPart ? "" : "# ")- \(key.name): \(key.defaultText ?? key.example ?? "PATH")", comment(on: key))
    }
  }

  private func comment(on key: JobKey) -> String {
    let marks = [key.isRequired ? "required" : "", synopsis(of: key), key.summary]
    return marks.filter { !$0.isEmpty }.joined(separator: "; ")
  }

  /// What it takes, where the default alone does not tell.
  private func synopsis(of key: JobKey) -> String {
    switch key.type {
    case .choice, .either, .wordOrSection, .textOrSection, .mapping, .limits, .list(of: .connectTarget): key.type.synopsis
    case .integer(let range) where range.lowerBound < range.upperBound: key.type.synopsis
    default: ""
    }
  }

  /// A line and its comment, which goes on below itself where it is long.
  private mutating func add(_ text: String, _ comment: String) {
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
  /// Values that a shell may offer for the key at `path`: its words, and a default that is a single word; nothing for other keys.
  public static func suggestions(for path: String) -> [String] { key(at: path).map(suggestions(for:)) ?? [] }

  /// `KEY=VALUE` for every key with a value to offer whose path begins with `section`, which is left out of it; as `--set` takes it.
  public static func settings(in section: String = "") -> [String] {
    all.filter { $0.path.hasPrefix(section) && !$0.path.contains("[]") }.flatMap { key in
      suggestions(for: key).map { "\(key.path.dropFirst(section.count))=\($0)" }
    }
  }

  private static func suggestions(for key: JobKey) -> [String] {
    let words = suggestions(for: key.type)
    guard let text = key.defaultText, !words.contains(text), isWord(text) else { return words }
    return words + [text]
  }

  private static func suggestions(for type: JobValueType) -> [String] {
    switch type {
    case .boolean: ["true", "false"]
    case .choice(_, let words), .wordOrSection(let words, _): words
    case .either(let word, let inner): [word] + suggestions(for: inner)
    default: []
    }
  }

  /// Whether it may stand in a shell as it is.
  private static func isWord(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isLetter || $0.isDigit || ".%/-".utf8.contains($0) }
  }
}
