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

  /// Writes both, even if one of them fails.
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
      let descriptor = try OutputDescriptor(opening: path, flags: O_CREAT | O_APPEND)
      try output.withUnsafeBytes { bytes throws(SystemError) in try descriptor.write(bytes) }
    } catch {
      throw ReportError(.write, path: path, code: error.code)
    }
  }
}

/// Returns the path of a file relative to the repository's folder `workspace`; nil if it lies elsewhere, or the folder is unknown.
///
/// Both paths are absolute.
func pathInWorkspace(_ file: String, _ workspace: String?) -> String? {
  guard var folder = workspace, !folder.isEmpty else { return nil }
  if folder.utf8.last != UInt8(ascii: "/") { folder += "/" }
  // By bytes: a name may begin with a combining character, which would join the slash before it.
  guard file.utf8.starts(with: folder.utf8), file.utf8.count > folder.utf8.count else { return nil }
  let path = file.utf8.dropFirst(folder.utf8.count)
  guard !path.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) }) else { return nil }
  return String(decoding: path, as: UTF8.self)
}
