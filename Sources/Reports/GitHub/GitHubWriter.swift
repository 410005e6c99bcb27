import Glibc

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

  /// Writes both; an error with the one does not keep the other from being written.
  func finish(_ report: FinishedReport) throws(ReportError) {
    let summaryError: ReportError?
    do throws(ReportError) {
      try summary?.add(report)
      summaryError = nil
    } catch {
      summaryError = error
    }
    try form.write(report, to: file)
    if let summaryError { throw summaryError }
  }
}

/// The file of a step's summary on GitHub Actions, which commands of the step add Markdown to one after another.
struct StepSummary {
  /// What GitHub takes of a step, in bytes (the runner's `CreateStepSummaryCommand`); of a longer file it shows nothing.
  static let maximumBytes = 1_048_576

  let path: String

  func add(_ report: FinishedReport) throws(ReportError) {
    var status = stat()
    let taken = stat(path, &status) == 0 ? Int(status.st_size) : 0
    var output = OutputBuffer(capacity: 16_384)
    // What is there may not have ended its last line, and a heading needs a line of its own.
    if taken > 0 { output.append("\n\n") }
    let start = output.count
    MarkdownReport(maximumBytes: Self.maximumBytes - 1 - taken - start).write(report, to: &output)
    guard output.count > start else { return }
    do throws(SystemError) {
      let descriptor = try OutputDescriptor(opening: path, flags: O_CREAT | O_APPEND)
      try output.withUnsafeBytes { bytes throws(SystemError) in try descriptor.write(bytes) }
    } catch {
      throw ReportError(.write, path: path, code: error.code)
    }
  }
}

/// The path of a file as the repository in the folder `workspace` names it; nil if it lies elsewhere, or no folder is known.
///
/// Both are absolute.
func pathInWorkspace(_ file: String, _ workspace: String?) -> String? {
  guard var folder = workspace, !folder.isEmpty else { return nil }
  if folder.utf8.last != UInt8(ascii: "/") { folder += "/" }
  // By bytes: a name may begin with a character that joins the slash before it.
  guard file.utf8.starts(with: folder.utf8), file.utf8.count > folder.utf8.count else { return nil }
  let path = file.utf8.dropFirst(folder.utf8.count)
  guard !path.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) }) else { return nil }
  return String(decoding: path, as: UTF8.self)
}
