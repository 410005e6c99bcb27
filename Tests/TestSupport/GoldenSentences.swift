import Synchronization
public import Testing

/// Expects that the golden file of the running test's module, `Tests/Goldens/<Module>/sentences.txt`, has `text`, a sentence that
/// users see, under the test's heading.
///
/// ``String/masked`` masks ports, temporary folders and process numbers; `⋯` in the file stands for any text. If
/// `PREWARM_UPDATE_GOLDENS` is set, new sentences are written under the heading of each test that runs, and missing ones are
/// removed; review the diff before committing it.
///
/// - Parameters:
///   - text: A sentence, or a text of several lines.
///   - label: Distinguishes the sentences of one test, for example its argument.
public func expectGolden(_ text: String?, for label: String? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
  guard let text, !text.isEmpty else {
    Issue.record("the text is empty\(label.map { " for '\($0)'" } ?? "")", sourceLocation: sourceLocation)
    return
  }
  guard let test = Test.current else {
    Issue.record("expectGolden was called with '\(text)' outside a test", sourceLocation: sourceLocation)
    return
  }
  let place = test.sourceLocation
  let heading = "\(place.fileName.dropLast(".swift".count)).\(test.displayName ?? "\(test.name.prefix { $0 != "(" })")"
  let problem = goldenSentences.withLock { modules in
    modules[place.moduleName, default: GoldenModule(name: place.moduleName)]
      .problem(with: Sentence(text: text.masked, label: label?.masked.shortened), under: heading)
  }
  if let problem { Issue.record("\(problem)", sourceLocation: sourceLocation) }
}

private let goldenSentences = Mutex<[String: GoldenModule]>([:])

private struct GoldenModule {
  let name: String
  var file: SentenceFile
  /// The previous lines of headings that an update has rewritten.
  var renewed: [String: Set<String>] = [:]

  init(name: String) {
    self.name = name
    file = SentenceFile(Golden.text(of: "\(name)/sentences.txt") ?? "")
  }

  mutating func problem(with sentence: Sentence, under heading: String) -> String? {
    guard Golden.isUpdating else {
      return file.problem(with: sentence, under: heading).map { "Tests/Goldens/\(name)/sentences.txt: \($0)" }
    }
    if renewed[heading] == nil { renewed[heading] = file.sections.updateValue([], forKey: heading) ?? [] }
    // Keep a golden line that matches the sentence, since it may contain `⋯`.
    let line = renewed[heading]!.first(where: sentence.isHeld) ?? sentence.line
    guard file.sections[heading, default: []].insert(line).inserted else { return nil }
    return Golden.write(file.text, to: "\(name)/sentences.txt")
  }
}

extension String {
  /// This text without parts that differ between runs: temporary folders, the project's folder, ports on loopback and process
  /// numbers.
  package var masked: String {
    replacing(#/(/[^/\s'"]+)*/prewarm-test-\w{6}/#, with: "TMP")
      .replacing(Golden.project, with: "PROJECT/")
      .replacing(#/(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}/#) { "\($0.output.1):PORT" }
      .replacing(#/\b127\.\d+\.\d+\.\d+:\d{4,5}/#, with: "127.0.0.1:PORT")
      .replacing(#/\bport \d{4,5}\b/#, with: "port PORT")
      .replacing(#/\bprocess \d+\b/#, with: "process PID")
  }

  /// This text, shortened to 120 characters.
  fileprivate var shortened: String { count > 120 ? "\(prefix(120))… (\(count) characters)" : self }

  /// This text without durations and speeds: `0.4 s`, `12 ms`, `24/s`.
  public var timeless: String {
    replacing(#/<?\d[\d,.]*( min)? ?(\w*B/s|/s|ms|s|µs|min|h)\b/#, with: "TIME").replacing(#/TIME TIME/#, with: "TIME")
      .replacing(#/bad since [\d-]{10}/#, with: "bad since DATE")
  }

  /// The lines that contain `words`, such as a URL or path; empty if none does.
  public func lines(with words: String) -> String {
    split(separator: "\n").filter { $0.contains(words) }.joined(separator: "\n")
  }
}

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
