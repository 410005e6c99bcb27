/// A sentence in a golden file.
package struct Sentence {
  package let text: String
  package let label: String?

  package init(text: String, label: String? = nil) {
    self.text = text
    self.label = label
  }

  /// The sentence as a line, `- sentence` or `- [label] sentence`. Its further lines follow `  |`; control characters, and line
  /// feeds of the label, are escaped.
  package var line: String {
    "- " + escaped((label.map { "[\($0.replacing("\n", with: "\\n"))] " } ?? "") + text)
  }

  /// The line's part before the sentence.
  fileprivate var start: String { String(line.dropLast(escaped(text).count)) }

  /// Whether `golden`, a line of a golden file, matches this sentence; `⋯` in it stands for any text.
  package func isHeld(by golden: String) -> Bool {
    if golden == line { return true }
    guard golden.contains("⋯"), golden.hasPrefix(start) else { return false }
    let parts = golden.dropFirst(start.count).split(separator: "⋯", omittingEmptySubsequences: false)
    var rest = escaped(text)[...]
    guard rest.hasPrefix(parts[0]) else { return false }
    rest = rest.dropFirst(parts[0].count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let range = rest.firstRange(of: part) else { return false }
      rest = rest[range.upperBound...]
    }
    return rest.hasSuffix(parts[parts.count - 1])
  }

  private func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": escaped += "\n  |"
      case _ where scalar.value < 32 || scalar.value == 127: escaped += scalar.escaped(asASCII: true)
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

/// The sorted sentences of a module, under a heading for each of its tests.
package struct SentenceFile {
  /// The lines by heading.
  package var sections: [String: Set<String>] = [:]

  /// Reads a golden file.
  package init(_ text: String) {
    var heading = ""
    var sentence = ""
    func end() {
      if !sentence.isEmpty { sections[heading, default: []].insert(sentence) }
      sentence = ""
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("## ") {
        end()
        heading = String(line.dropFirst(3))
      } else if line.hasPrefix("- ") {
        end()
        sentence = String(line)
      } else if line.hasPrefix("  |") {
        sentence += "\n\(line)"
      }
    }
    end()
  }

  /// The file's text.
  package var text: String {
    sections.sorted { $0.key < $1.key }
      .map { "## \($0.key)\n\n" + $0.value.sorted().joined(separator: "\n") + "\n" }
      .joined(separator: "\n")
  }

  /// Returns the sentence and the expected ones, unless `sentence` is among those under `heading`.
  package func problem(with sentence: Sentence, under heading: String) -> String? {
    let renewal = "PREWARM_UPDATE_GOLDENS=1 swift test --filter \(heading.split(separator: ".").last ?? "") updates it"
    guard let section = sections[heading] else { return "heading '\(heading)' is missing for\n\(sentence.line)\n\(renewal)" }
    if section.contains(where: sentence.isHeld(by:)) { return nil }
    let labelled = section.filter { line in
      sentence.label == nil || line.prefix { $0 != "]" } == sentence.line.prefix { $0 != "]" }
    }
    let expected = (labelled.isEmpty ? section : labelled).sorted().joined(separator: "\n")
    return "not under '\(heading)'\nnow:\n\(sentence.line)\ngolden:\n\(expected)\n\(renewal)"
  }
}
