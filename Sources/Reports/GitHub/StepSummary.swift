import Glibc

/// The file of a step's summary on GitHub Actions, which commands of the step add Markdown to one after another.
struct StepSummary {
  /// What GitHub takes of a step, in bytes (the runner's `CreateStepSummaryCommand`); of a longer file it shows nothing.
  static let maximumBytes = 1_048_576

  /// The file, as GITHUB_STEP_SUMMARY names it.
  let path: String

  /// Adds the report, as much of it as there is room for.
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
