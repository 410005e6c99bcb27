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
