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

/// The golden files read so far.
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
  }

  /// The lines that contain `words`, such as a URL or path; empty if none does.
  public func lines(with words: String) -> String {
    split(separator: "\n").filter { $0.contains(words) }.joined(separator: "\n")
  }
}
