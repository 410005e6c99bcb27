import Base
import Glibc

/// Annotations of a run on GitHub Actions, as workflow commands.
///
/// An `error` annotates a run with an exit status other than 0, and each failure that counts if it breaks the rule for all failures
/// or for its kind. A `warning` annotates each allowed or known failure, each placeholder, and each other warning of the run. At most ten
/// of each kind are listed, then the number of the others. GitHub shows only the first ten errors and warnings of a step, so the
/// first of each kind come before the second of any. A `notice` lists fixed URLs of the baseline.
///
/// An annotation names a file if it lies below ``workspace``, since GitHub shows only the repository's; the message always names it.
struct GitHubReport: ReportForm {
  /// The limit of commands per kind, without the one that counts the others.
  static let limit = 10

  /// The repository's folder; nil: no annotation names a file.
  var workspace: String?

  func write(_ report: FinishedReport, to output: inout OutputBuffer) {
    if report.exitStatus != .withinLimits {
      let about = report.job.description.isEmpty ? "" : " (\(report.job.description))"
      let message = report.headline.sentence + about
      WorkflowCommand(level: .error, title: "prewarm \(report.job.title)", lines: [message]).write(to: &output)
    }
    if let baseline = report.baseline, baseline.fixed > 0, let difference = report.differencePhrase {
      let (shown, more) = baseline.fixedEntries(atMost: Self.limit)
      let urls = shown.map(\.title) + (more > 0 && !shown.isEmpty ? ["… \(grouped(more)) more"] : [])
      let lines = [difference + (urls.isEmpty ? "" : "; fixed:")] + urls
      WorkflowCommand(level: .notice, title: "prewarm \(report.job.title)", lines: lines).write(to: &output)
    }
    if let known = report.knownPhrase {
      WorkflowCommand(level: .notice, title: "known failures", lines: [known]).write(to: &output)
    }
    let files = files(of: report)
    let failures = report.failureGroups.map { group in
      let level = report.breaksRule(group) ? WorkflowCommand.Level.error : .warning
      return (level: level, commands: commands(level, for: group, files: files))
    }
    let (errors, warnings) = (failures.filter { $0.level == .error }, failures.filter { $0.level == .warning })
    let placeholders = list(report.placeholders, title: "placeholder") { "\($0.host) \($0.findingPhrase), first \($0.firstURL)" }
    let others = [placeholders, list(report.warnings, title: "prewarm \(report.job.title)") { $0 }]
    for list in [errors.map(\.commands), warnings.map(\.commands) + others] {
      for place in 0...Self.limit {
        for commands in list where place < commands.count { commands[place].write(to: &output) }
      }
    }
  }

  private func files(of report: FinishedReport) -> [String: String] {
    let paths = report.manifests.compactMap { manifest in
      manifest.file.flatMap { pathInWorkspace($0, workspace) }.map { (manifest.path, $0) }
    }
    return Dictionary(paths) { first, _ in first }
  }

  private func commands(_ level: WorkflowCommand.Level, for group: FailureGroup, files: [String: String]) -> [WorkflowCommand] {
    let counting = group.examples.filter { $0.standing == .counts }
    var commands = counting.prefix(Self.limit).map { command(level, $0, title: group.title, files: files) }
    // A report from a file may count fewer failures than it shows.
    let more = group.counting - min(group.counting, UInt64(commands.count))
    if more > 0 { commands.append(rest(level, title: group.title, more: more, of: counted(group.counting, "URL"))) }
    let warned = group.examples.filter { $0.standing == .warned }
    commands += warned.prefix(Self.limit).map { command(.warning, $0, title: group.title, files: files) }
    return commands
  }

  private func command(
    _ level: WorkflowCommand.Level,
    _ failure: FailureRecord,
    title: String,
    files: [String: String]
  ) -> WorkflowCommand {
    let variant = failure.variant.title.map { " (\($0))" } ?? ""
    let others = failure.otherLocations.isEmpty ? "" : " (also in \(failure.otherLocations.joined(separator: ", ")))"
    let message = failure.failure?.message ?? "known bad"
    return WorkflowCommand(
      level: level,
      title: title,
      file: files[failure.manifest],
      line: failure.line,
      lines: ["\(failure.location): \(message): \(failure.url)\(variant)\(others)"]
    )
  }

  private func list<Element>(_ elements: [Element], title: String, _ message: (Element) -> String) -> [WorkflowCommand] {
    var commands = elements.prefix(Self.limit).map { WorkflowCommand(level: .warning, title: title, lines: [message($0)]) }
    let more = elements.count - commands.count
    let all = "\(grouped(UInt64(elements.count))) of these"
    if more > 0 { commands.append(rest(.warning, title: title, more: UInt64(more), of: all)) }
    return commands
  }

  private func rest(_ level: WorkflowCommand.Level, title: String, more: UInt64, of all: String) -> WorkflowCommand {
    WorkflowCommand(level: level, title: title, lines: ["\(grouped(more)) more; \(all) in total"])
  }
}

extension FinishedReport {
  fileprivate func breaksRule(_ group: FailureGroup) -> Bool {
    guard !verdict.reasons.isEmpty else { return false }
    return failOn.reason(.failures, in: self) != nil || group.kind.flatMap { failOn.reason(.kind($0), in: self) } != nil
  }

  /// `25 URLs also failed in the baseline known.jsonl: http-status 404 24, timeout 1`; nil if no failure is known.
  fileprivate var knownPhrase: String? {
    guard standings.known > 0 else { return nil }
    let groups = failureGroups.filter { $0.count > $0.counting }.map { "\($0.title) \(grouped($0.count - $0.counting))" }
    let kinds = groups.isEmpty ? "" : ": \(groups.joined(separator: ", "))"
    return "\(counted(standings.known, "URL")) also failed in the baseline\(baseline.map { " \($0.path)" } ?? "")\(kinds)"
  }
}

/// A workflow command of GitHub Actions (GitHub's documentation, "Workflow commands"; the runner's `ActionCommand.cs`). Escaped
/// text can't end its line or its property, so that text from outside can't start a command, and the commands of a report need no
/// `::stop-commands::` around them.
struct WorkflowCommand {
  enum Level: String {
    case error, warning, notice
  }

  var level: Level
  var title: String
  /// The path in the repository; nil if the message is about no file of it.
  var file: String?
  var line: UInt64 = 0
  var lines: [String]

  /// The limit of a line in bytes; GitHub accepts 64 KB per annotation.
  private static let lineLimit = 4000

  func write(to output: inout OutputBuffer) {
    output.append("::\(level.rawValue) ")
    if let file {
      output.appendLiteral("file=")
      output.appendVisible(file, replacing: escapedInProperty)
      if line > 0 { output.append(",line=\(line)") }
      output.appendLiteral(",")
    }
    output.appendLiteral("title=")
    output.appendVisible(title, limit: 200, replacing: escapedInProperty)
    output.appendLiteral("::")
    for (index, text) in lines.enumerated() {
      if index > 0 { output.appendLiteral("%0A") }
      // A line end in text from outside is shown as `\n`.
      output.appendVisible(text, limit: Self.lineLimit) { $0 == UInt8(ascii: "%") ? "%25" : nil }
    }
    output.appendLiteral("\n")
  }
}

@inline(__always)
private func escapedInProperty(_ byte: UInt8) -> StaticString? {
  switch byte {
  case UInt8(ascii: "%"): "%25"
  case UInt8(ascii: ":"): "%3A"
  case UInt8(ascii: ","): "%2C"
  default: nil
  }
}

/// A report for GitHub Actions: the commands in their file, and the Markdown form in the step's summary.
final class GitHubWriter: ReportWriter {
  private let form: GitHubReport
  private let file: ReportFile
  private let summary: StepSummary?

  init(file: ReportFile, options: ReportOptions) {
    self.file = file
    form = GitHubReport(workspace: options.workspace)
    summary = options.stepSummaryPath.map(StepSummary.init)
  }

  /// Writes both, even if one of them fails.
  func finish(_ report: FinishedReport) throws(ReportError) {
    let written = Result { () throws(ReportError) in try summary?.add(report) }
    try form.write(report, to: file)
    _ = try written.get()
  }
}

/// The file of a step's summary on GitHub Actions, to which the commands of the step append Markdown.
struct StepSummary {
  /// GitHub's limit per step in bytes (the runner's `CreateStepSummaryCommand`); GitHub shows nothing of a longer file.
  static let maximumBytes = 1_048_576

  let path: String

  func add(_ report: FinishedReport) throws(ReportError) {
    var status = stat()
    let taken = stat(path, &status) == 0 ? Int(status.st_size) : 0
    var output = OutputBuffer(capacity: 16_384)
    // The last line in the file may have no end, and a heading needs a line of its own.
    if taken > 0 { output.append("\n\n") }
    let start = output.count
    MarkdownReport(maximumBytes: Self.maximumBytes - 1 - taken - start).write(report, to: &output)
    guard output.count > start else { return }
    do throws(SystemError) {
      let descriptor = try FileDescriptor(writing: path, flags: O_CREAT | O_APPEND)
      try output.withUnsafeBytes { bytes throws(SystemError) in try descriptor.write(bytes) }
    } catch { throw ReportError(.write, path: path, code: error.code) }
  }
}

/// Returns the path of a file relative to the repository's folder `workspace`; nil if it lies elsewhere, or the folder is
/// unknown. Both paths are absolute.
func pathInWorkspace(_ file: String, _ workspace: String?) -> String? {
  guard var folder = workspace, !folder.isEmpty else { return nil }
  if folder.utf8.last != UInt8(ascii: "/") { folder += "/" }
  // By bytes: a name may begin with a combining character, which would join the slash before it.
  guard file.utf8.starts(with: folder.utf8), file.utf8.count > folder.utf8.count else { return nil }
  let path = file.utf8.dropFirst(folder.utf8.count)
  guard !path.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) }) else { return nil }
  return String(decoding: path, as: UTF8.self)
}
