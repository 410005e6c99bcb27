/// A report for GitHub Actions: the commands in their file, and the Markdown form in the step's summary.
final class GitHubWriter: ReportWriter {
  var journal: (any ReportJournal)? { nil }
  private let form: GitHubReport
  private let file: ReportFile
  private let summary: StepSummary?

  /// A report that goes to `file`; `options` tells of the repository and the summary.
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
